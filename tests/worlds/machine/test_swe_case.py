"""One case of two families of repositories; all are proved by `test_swe_families.py`, which takes longer."""

import pytest

from simtrain import rollout
from simtrain.scenarios.find import shipped_scenarios
from simtrain.scenarios.load import load_scenario_file
from tests.support.sandboxes import built


@pytest.mark.parametrize("name, reason", [("swe/merges", "answered"), ("swe/features_forbidden", "abstained")])
async def test_a_case_is_solved_by_its_oracle(name: str, reason: str) -> None:
    built()
    played = await rollout(load_scenario_file(shipped_scenarios()[name], name), "oracle")
    assert played.stop.reason == reason and played.reward == 1.0
