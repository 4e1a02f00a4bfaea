"""Shipped families, clean and under packs: who goes on as before from a step gets the trajectory that was recorded, by digest."""

from __future__ import annotations

import json
import os
from hashlib import blake2b
from pathlib import Path

import pytest
import yaml

from simtrain.agents.select import build_agent
from simtrain.contracts.trajectory import Trajectory, to_line
from simtrain.runs.forks import ForkOptions, forked
from simtrain.runs.rollout import rollout
from simtrain.scenarios.find import names, shipped_scenarios
from simtrain.scenarios.load import load_scenario_file, paradigm_of

pytestmark = [pytest.mark.slow, pytest.mark.full]

FULL = bool(os.environ.get("SIMTRAIN_FULL"))
# A sixth of the families; all in `make proof`. Test runs of repositories take seconds: one family has them.
SHIPPED = [
    one for one in shipped_scenarios().items() if FULL or not one[0].startswith("swe/") or one[0] == "swe/ledger_bugs"
][:: 1 if FULL else 6]
PACKS = [name for name in names("perturbations") if name != "catalogue"]
OTHER = {"timing", "forks", "attempt"}
"""What a fork says of itself."""


def digest(trajectory: Trajectory) -> str:
    """The digest of all that was said, called, replied, fired and changed."""
    line = json.loads(to_line(trajectory))
    said = {key: value for key, value in line.items() if key not in OTHER}
    return blake2b(json.dumps(said, sort_keys=True).encode(), digest_size=16).hexdigest()


@pytest.mark.parametrize("part", range(2))
async def test_every_step_that_is_tried_leads_to_the_recorded_end(part: int) -> None:
    tried = 0
    for number, (name, path) in list(enumerate(SHIPPED))[part::2]:
        web = yaml.safe_load(path.read_text()).get("paradigm") == "fiction"
        for packs in ([], [PACKS[(number + step) % len(PACKS)] for step in (0, 5)]):
            scenario = load_scenario_file(Path(path), name, packs=packs)
            episode = next(iter(paradigm_of(scenario).episodes(scenario, seed=number, attempts=1)))
            for agent in ["search_systematic"] if web else ["resilient", "naive"][: 1 + number % 2]:
                one = await rollout(episode, build_agent(agent), name=agent)
                steps = len(one.steps)
                for step in sorted({0, 1, steps // 2, steps} & {*range(steps + 1)}):
                    fork = forked(episode, one, ForkOptions((step,)))[0]
                    again = await rollout(fork, build_agent(agent), name=agent)
                    assert digest(again) == digest(one), (name, packs, agent, step)
                    tried += 1
    assert tried > 60
