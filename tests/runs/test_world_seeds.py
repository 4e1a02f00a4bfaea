"""Runs over worlds of many seeds, and splits of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bakery import scenario, write_files

from simtrain import export, load_scenario, run
from simtrain.cli import main
from simtrain.cli.shared_options import seeds_of
from simtrain.contracts.trajectory import Trajectory
from simtrain.curricula.hash_splits import split_of, split_of_trajectory
from simtrain.runs.export import Selection
from simtrain.runs.run_folder import read_run
from simtrain.values.errors import InputError
from simtrain.values.seed_ranges import seeds_from

pytestmark = pytest.mark.slow


def played(folder: Path) -> dict[str, Trajectory]:
    """The trajectories of a run by episode."""
    return {one.episode: one for one in read_run(folder)}


def command(arguments: list[str]) -> int | str | None:
    """The exit code of a command."""
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    return ended.value.code


def test_a_run_plays_a_case_of_each_world_in_turn_and_can_grow(tmp_path: Path) -> None:
    made = load_scenario(write_files(tmp_path))
    run([made], "resilient", out=tmp_path / "run", seeds=range(1, 5), episodes=6)
    first = played(tmp_path / "run")
    assert sorted(first) == ["c0000s1", "c0000s2", "c0000s3", "c0000s4", "c0001s1", "c0001s2"]
    assert all(one.world.seed == int(one.episode.partition("s")[2]) for one in first.values())
    assert all(one.reward == 1 for one in first.values())
    result = run([made], "resilient", out=tmp_path / "run", seeds=range(1, 9), episodes=12, resume=True)
    assert (result.played, result.skipped) == (12 - 6, 6) or result.played + result.skipped == 12
    grown = played(tmp_path / "run")
    assert {name: one.prompt for name, one in first.items()}.items() <= {n: o.prompt for n, o in grown.items()}.items()
    with pytest.raises(InputError, match="worlds of other seeds"):
        run([made], "resilient", out=tmp_path / "run", seeds=[99], episodes=12, resume=True)


def test_the_worlds_are_those_that_a_scenario_names_under_vary(tmp_path: Path) -> None:
    named = scenario(tmp_path, more="vary: {seeds: [5, 6]}\n")
    run([named], "resilient", out=tmp_path / "vary")
    run([load_scenario(write_files(tmp_path))], "resilient", out=tmp_path / "seeds", seeds=[5, 6])
    told = [
        {(one.world.seed, one.prompt, one.reward) for one in read_run(tmp_path / name)} for name in ("vary", "seeds")
    ]
    assert told[0] == told[1] and len(told[0]) > 10


def lines(folder: Path) -> set[str]:
    """The lines of a run folder without their timing."""
    rows = [json.loads(line) for part in folder.glob("traj*") for line in part.read_text().splitlines()]
    return {json.dumps({**row, "timing": 0}) for row in rows}


@pytest.mark.full
def test_workers_play_the_same_worlds(tmp_path: Path) -> None:
    file = str(write_files(tmp_path))
    for name, more in (("one", []), ("two", ["--workers", "2"])):
        asked = ["run", file, "--seeds", "7..9,3", "-n", "8", "--out", str(tmp_path / name), *more]
        assert command(asked) is None
    assert lines(tmp_path / "one") == lines(tmp_path / "two") and len(lines(tmp_path / "two")) == 8


def test_replay_and_grading_find_the_same_worlds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(tmp_path / "run")
    assert command(["run", str(write_files(tmp_path)), "--seeds", "7..9,3", "-n", "8", "--out", out]) is None
    before = lines(tmp_path / "run")
    assert command(["grade", out]) is None
    assert lines(tmp_path / "run") == before
    capsys.readouterr()
    assert command(["replay", out, "c0001s9"]) is None
    assert "As in the run, to the byte." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "found"), [("1..4", [1, 2, 3, 4]), ("3", [3]), ("5, 1..2", [5, 1, 2]), (None, []), ("-2..-1", [-2, -1])]
)
def test_seeds_are_ranges_and_lists(text: str | None, found: list[int]) -> None:
    assert seeds_from(text) == found


@pytest.mark.parametrize("text", ["", "a..3", "4..1", "1..3,2", "1..", "1..1000000"])
def test_what_is_no_seed_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"^--seeds: "):
        seeds_of(text)


SEEDS = [
    "validation",
    "train",
    "train",
    "train",
    "test",
    "train",
    "validation",
    "train",
    "train",
    "train",
    "test",
    "train",
]
FAMILIES = ["train", "train", "train"]


def test_a_split_is_the_same_for_ever() -> None:
    # Written down once: were they to change, held-out worlds would become training data.
    assert [split_of("seed", str(seed)) for seed in range(12)] == SEEDS
    assert [split_of("family", name) for name in ("helpdesk/refund", "notes/move_page", "tracker/rollover")] == FAMILIES
    shares = [split_of("seed", str(seed)) for seed in range(4000)]
    assert [round(shares.count(split) / 4000, 1) for split in ("train", "validation", "test")] == [0.8, 0.1, 0.1]


def test_splits_of_runs_and_exports_share_no_world(tmp_path: Path) -> None:
    file = str(write_files(tmp_path))
    for split in ("train", "test"):
        out = str(tmp_path / split)
        assert command(["run", file, "--seeds", "1..40", "--split", split, "-n", "40", "--out", out]) is None
    seeds = {split: {one.world.seed for one in read_run(tmp_path / split)} for split in ("train", "test")}
    assert seeds["train"] and seeds["test"] and not seeds["train"] & seeds["test"]
    assert command(["leaks", str(tmp_path / "train"), str(tmp_path / "test")]) is None
    out = tmp_path / "steps.jsonl"
    both = [one for split in ("train", "test") for one in read_run(tmp_path / split)]
    tally = export(both, "steps", out=out, selection=Selection(split="test"))
    assert tally.exported == sum(one.world.seed in seeds["test"] for one in both)


def test_what_is_held_out_is_in_no_training_episode(tmp_path: Path) -> None:
    held = "false_success"
    assert split_of("perturbation", held) == "test" and split_of("perturbation", "plain") == "train"
    more = f'perturbations: [{{use: latency, as: {held}, when: {{tools: "*"}}}}, {{use: latency, as: plain, when: {{tools: "*"}}}}]\n'
    run([scenario(tmp_path, more=more)], "resilient", out=tmp_path / "run", episodes=1)
    one = next(read_run(tmp_path / "run"))
    assert split_of_trajectory("perturbation", one) != "train"
    with pytest.raises(InputError, match="belongs to the split train"):
        run([scenario(tmp_path, more=more)], out=tmp_path / "no", split="train", split_by="perturbation")
