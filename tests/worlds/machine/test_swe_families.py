"""The families of the domain swe: proved, in the sandbox; and what is hidden from the agent is nowhere on its machine."""

import asyncio
import os

import pytest

from simtrain import load_scenario, open_episode
from simtrain.contracts.scenario import Scenario
from simtrain.scenarios.find import shipped_scenarios
from simtrain.scenarios.load import load_scenario_file
from simtrain.validation.prove import prove
from simtrain.values.types import Action
from tests.support.sandboxes import opened

pytestmark = [pytest.mark.slow, pytest.mark.full]

FULL = bool(os.environ.get("SIMTRAIN_FULL"))
# The five families of bug tasks differ in their repositories alone, which tests/scenarios/test_repository_tasks.py goes over.
ALIKE = {f"swe/{name}_bugs" for name in ("confit", "inkwell", "sieve", "trellis")}
FAMILIES = sorted(name for name in shipped_scenarios() if name.startswith("swe/") and (FULL or name not in ALIKE))
CASES = None if FULL else 1


def _family(name: str) -> Scenario:
    return load_scenario_file(shipped_scenarios()[name], name)


@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_of_repositories_is_proved(name: str) -> None:
    with opened("wasm"):
        proof = asyncio.run(prove(_family(name), cases=CASES))
    assert proof.problems == [] and proof.cases == (CASES or proof.cases)


def test_hidden_tests_are_on_no_machine() -> None:
    with opened("wasm"):
        scenario = load_scenario(shipped_scenarios()["swe/ledger_bugs"])
        world = scenario.source.build()
        names = [row["path"] for row in world.query("select path from hidden_tests")]
        assert len(names) >= 12 and all(str(name).rpartition("/")[2].startswith("test_hidden_") for name in names)
        assert world.query("select path from files where path like '%hidden%' or content like '%test_hidden%'") == []
        assert (
            asyncio.run(
                _found(scenario, "grep -rl who_has_no_share / 2>/dev/null; find / -name '*hidden*' 2>/dev/null; true")
            )
            == ""
        )


async def _found(scenario: Scenario, command: str) -> str:
    async with open_episode(scenario) as environment:
        return (await environment.step(Action("1", "bash", {"command": command}))).text
