"""Recipes: what is read, what is refused in one line, and what is computed from outcomes, all without a trainer."""

from __future__ import annotations

import random
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import yaml

from simtrain.integrations.train.checkpoints import Curve, last_checkpoint, read_curve
from simtrain.integrations.train.comparison import CaseOutcome, gain, success
from simtrain.integrations.train.playing import check_play, scenarios_of
from simtrain.integrations.train.recipe import Demonstrations, in_recipe, load_recipe
from simtrain.integrations.train.rows import IGNORED, Row, chosen, rows_facts
from simtrain.integrations.train.training import Training
from simtrain.integrations.train.watching import TrainingWatch
from simtrain.values.errors import InputError

EXAMPLES = sorted((Path(__file__).parents[2] / "examples" / "training").glob("*.yaml"))


def written(tmp_path: Path, **changes: Any) -> Path:
    recipe: dict[str, Any] = {
        "name": "one",
        "model": "smollm2",
        "worlds": {"train": "1..3", "validation": 4, "test": "5,7..8"},
        "stages": [{"method": "sft", "data": {"scenarios": ["helpdesk/refund"]}}],
        "evaluate": {"scenarios": ["helpdesk/refund"]},
    }
    file = tmp_path / "recipe.yaml"
    file.write_text(yaml.safe_dump({name: value for name, value in (recipe | changes).items() if value is not None}))
    return file


def test_seeds_are_ranges(tmp_path: Path) -> None:
    worlds = load_recipe(written(tmp_path)).worlds
    assert [worlds.seeds(split) for split in ("train", "validation", "test")] == [[1, 2, 3], [4], [5, 7, 8]]


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda path: path.stem)
def test_shipped_recipes_are_valid_and_name_scenarios_that_exist(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(file.parents[2])
    recipe = load_recipe(file)
    for _, play in recipe.plays():
        check_play(play)
    assert scenarios_of(recipe.evaluate)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"worlds": {"train": "1..3", "validation": "3", "test": "4"}}, "seed 3 is in train and in validation"),
        ({"worlds": {"train": "3..1", "validation": "3", "test": "4"}}, "3..1 runs backwards"),
        ({"stages": None}, "either `stages` or `arms` is needed"),
        ({"stages": [{"method": "stf", "data": {"scenarios": ["a"]}}]}, "stages[0]"),
        ({"stages": [{"method": "sft", "data": {"scenarios": []}}]}, "at least 1"),
        ({"server": {"use": "command"}}, "`command` is given together with `use: command`"),
        ({"seeds": [1, 1]}, "`seeds` names a seed twice"),
        ({"stages": [{"method": "rejection", "data": {}}]}, "either `scenarios` or `curriculum` is needed"),
        (
            {"stages": [{"method": "rejection", "data": {"curriculum": "ladder", "cases": 2}}]},
            "`cases` is not for a curriculum",
        ),
        ({"learning_rate": 1}, "learning_rate"),
    ],
)
def test_a_bad_recipe_is_one_line_with_its_file(tmp_path: Path, changes: dict[str, Any], problem: str) -> None:
    file = written(tmp_path, **changes)
    with pytest.raises(InputError) as caught:
        load_recipe(file)
    assert problem in str(caught.value) and str(file) in str(caught.value) and "\n" not in str(caught.value)


REFUND: dict[str, Any] = {"scenarios": ["helpdesk/refund"]}


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"evaluate": {"scenarios": ["helpdesk/nope"]}}, "1: evaluate: unknown scenario 'helpdesk/nope'"),
        (
            {"stages": [{"method": "sft", "data": [REFUND, REFUND | {"agent": "nope"}]}]},
            "7: stages[0].data: unknown agent 'nope'",
        ),
        (
            {"stages": [{"method": "sft", "data": REFUND | {"knobs": {"x": 1}}}]},
            "7: stages[0].data: agent oracle: unknown key 'x'",
        ),
        (
            {
                "stages": None,
                "arms": {"one": {"stages": [{"method": "grpo", "data": REFUND | {"conditions": ["nope"]}}]}},
            },
            "4: arms.one.stages[0].data: unknown perturbation 'nope'",
        ),
        ({"chat": {"template": "nope.jinja"}}, "2: chat.template: there is no chat template 'nope.jinja'"),
    ],
)
def test_what_a_recipe_names_and_is_not_there_is_told_with_its_line_before_anything_is_trained(
    tmp_path: Path, changes: dict[str, Any], told: str
) -> None:
    file = written(tmp_path, **changes)
    with pytest.raises(InputError) as refused, in_recipe(file):
        Training(load_recipe(file), tmp_path / "out", TrainingWatch()).check()
    assert str(refused.value).startswith(f"{file}:{told}"), refused.value
    assert not (tmp_path / "out").exists()


def test_conditions_share_cases() -> None:
    play = Demonstrations(scenarios=["helpdesk/refund"], conditions=["clean", "flaky_network"])
    assert [scenario.arm.name for scenario in scenarios_of(play) if scenario.arm] == ["clean", "flaky_network"]
    only = Demonstrations(scenarios=["helpdesk/refund"], conditions=["flaky_network"])
    assert [scenario.arm.name for scenario in scenarios_of(only) if scenario.arm] == ["flaky_network"]


def test_a_condition_may_be_a_pack_file_and_is_called_as_the_pack_is(tmp_path: Path) -> None:
    file = tmp_path / "own.yaml"
    file.write_text("name: weather\ndescription: Down.\nperturbations:\n  - {use: outage, when: {nth: 1}}\n")
    play = Demonstrations(scenarios=["helpdesk/refund"], conditions=["clean", str(file)])
    assert [scenario.arm.name for scenario in scenarios_of(play) if scenario.arm] == ["clean", "weather"]


def _rows() -> list[Row]:
    return [Row(f"family {size % 2}", [1] * size, [IGNORED] * (size - 2) + [1, 1]) for size in range(5, 25)]


def test_rows_fill_a_budget_by_a_random_choice_that_the_seed_decides() -> None:
    one, other = (chosen(_rows(), tokens=100, seed=seed) for seed in (1, 2))
    assert one == chosen(_rows(), tokens=100, seed=1) != other
    for found in (one, other):
        total = sum(len(row.ids) for row in found)
        left = [len(row.ids) for row in _rows() if row not in found]
        assert 100 - min(left) < total <= 100
    assert rows_facts(one)["trained_tokens"] == 2 * len(one)
    with pytest.raises(InputError, match="no episode fits into 4 tokens"):
        chosen(_rows(), tokens=4, seed=1)


def test_gain_pairs_the_same_case_condition_and_seed() -> None:
    draw = random.Random(0)
    keys = list(product("ab", map(str, range(10)), ["clean"], [1, 2, 3]))
    before = [CaseOutcome(*key, solved=draw.random() < 0.3) for key in keys]
    after = [CaseOutcome(*key, solved=draw.random() < 0.7) for key in keys[6:]]
    estimate = gain(before, after)
    assert estimate is not None and estimate.n == len(keys) - 6
    old = {one.pair: one.solved for one in before}
    assert estimate.mean == pytest.approx(sum(one.solved - old[one.pair] for one in after) / len(after))
    assert estimate.low is not None and estimate.high is not None and estimate.low < estimate.mean < estimate.high
    share = success(after)
    assert share is not None and share.solved == sum(one.solved for one in after) and share.episodes == len(after)
    assert gain(before, []) is None and success([]) is None


def test_torn_checkpoints_are_removed_and_the_last_whole_one_is_found(tmp_path: Path) -> None:
    for step in (5, 10, 9):
        (tmp_path / f"checkpoint-{step}").mkdir()
        (tmp_path / f"checkpoint-{step}" / "whole").touch()
    (tmp_path / "checkpoint-15").mkdir()
    assert last_checkpoint(tmp_path) == tmp_path / "checkpoint-10"
    assert not (tmp_path / "checkpoint-15").exists() and last_checkpoint(tmp_path / "none") is None


def test_a_curve_goes_on_behind_the_checkpoint_without_a_step_twice(tmp_path: Path) -> None:
    file = tmp_path / "curve.jsonl"
    curve = Curve(file, None)
    for step in (1, 2, 3):
        curve.add(step, {"loss": 1 / step})
    with file.open("ab") as torn:
        torn.write(b'{"step": 4, "lo')
    resumed = Curve(file, tmp_path / "checkpoint-2")
    resumed.add(3, {"loss": 0.5})
    assert [(line["step"], line["loss"]) for line in read_curve(file)] == [(1, 1), (2, 0.5), (3, 0.5)]
    spent = [line["cpu_seconds"] for line in read_curve(file)]
    assert spent == sorted(spent)
