"""The webs that ship for small models: every task can be solved, and an episode fits a small context."""

from __future__ import annotations

from pathlib import Path

import pytest

from simtrain import load_scenarios, run
from simtrain.curricula.levels import load_ladder
from simtrain.runs.run_folder import read_run

pytestmark = pytest.mark.full

WEBS = Path(__file__).parents[2] / "examples" / "training" / "webs"
SCENARIOS = sorted((WEBS / "scenarios").glob("*.yaml"))


def test_the_reference_answers_every_task_within_some_thousand_characters(tmp_path: Path) -> None:
    run(load_scenarios(*map(str, SCENARIOS)), "oracle", out=tmp_path / "run", seeds=[5])
    played = list(read_run(tmp_path / "run"))
    assert {one.scenario.rpartition("/")[2] for one in played} == {file.stem for file in SCENARIOS}
    assert len(played) >= 3 * len(SCENARIOS)
    assert [one.episode for one in played if one.reward != 1] == []
    read = [sum(len(step.observation.text) for turn in one.turns for step in turn.steps) for one in played]
    assert max(read) < 5_000


def test_every_level_has_tasks_in_every_web() -> None:
    ladder = load_ladder(WEBS / "pockets.yaml")
    for split in ("train", "validation", "test"):
        for level in ladder.families(split):
            assert all(len(family.episodes) >= 3 for family in level if family.scenario.name.endswith("_s1"))
