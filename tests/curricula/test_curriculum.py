"""Curricula: how hard each stage is, what the ledger says, and that a run can be stopped, resumed and replayed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import bakery
import pytest

from simtrain.contracts.perturbation import Ramp
from simtrain.contracts.scenario import Scenario
from simtrain.contracts.trajectory import Trajectory, to_line
from simtrain.curricula.stages import LEDGER_FILE, ProgressBand, load_curriculum, read_ledger
from simtrain.public import grade, run
from simtrain.runs.run_folder import read_facts, read_run
from simtrain.runs.runner import FinishedRollout
from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject

pytestmark = pytest.mark.slow

FAULTS = """\
perturbations:
  - {use: timeout_before, when: {tools: orders.place, max_times: 1}}
  - {use: latency, when: {probability: 0.5}}
"""
RISING = """\
name: rising
stages: 4
severity: {start: 0, end: 1, curve: exponential}
probability: {start: 0, end: 1}
"""
ADAPTIVE = """\
name: earned
stages: 4
probability: {start: 0, end: 1}
adaptive: {levels: 2, low: 0.5, high: 0.9}
"""


@pytest.fixture
def faulty(tmp_path: Path) -> Scenario:
    return bakery.scenario(tmp_path, more=FAULTS)


def write(folder: Path, text: str) -> Path:
    file = folder / "rising.yaml"
    file.write_text(text)
    return file


def stages(folder: Path) -> list[JsonObject]:
    lines = (folder / LEDGER_FILE).read_text().splitlines()
    return [json.loads(line) for line in lines[1:]]


def learnt(folder: Path, key: str) -> list[float]:
    return [stage["families"]["birthday"][key] for stage in stages(folder)]


def lines(folder: Path) -> set[bytes]:
    return {to_line(trajectory).split(b',"timing"')[0] for trajectory in read_run(folder)}


def by_stage(folder: Path) -> dict[str, list[Trajectory]]:
    found: dict[str, list[Trajectory]] = {}
    for trajectory in read_run(folder):
        found.setdefault(trajectory.arm, []).append(trajectory)
    return found


def test_severity_and_probability_follow_progress_by_their_curves(faulty: Scenario, tmp_path: Path) -> None:
    run([faulty], "naive", out=tmp_path / "out", episodes=12, curriculum=write(tmp_path, RISING))
    assert learnt(tmp_path / "out", "progress") == pytest.approx([0, 1 / 3, 2 / 3, 1])
    assert learnt(tmp_path / "out", "probability") == pytest.approx([0, 1 / 3, 2 / 3, 1])
    assert learnt(tmp_path / "out", "severity") == pytest.approx([0, (4 ** (1 / 3) - 1) / 3, (4 ** (2 / 3) - 1) / 3, 1])
    assert [(stage["begin"], stage["end"]) for stage in stages(tmp_path / "out")] == [(0, 3), (3, 6), (6, 9), (9, 12)]


def test_the_share_of_faults_rises_from_none_to_all(faulty: Scenario, tmp_path: Path) -> None:
    run([faulty], "naive", out=tmp_path / "out", episodes=48, curriculum=write(tmp_path, RISING))
    struck = [
        sum(any(event.use == "timeout_before" for step in one.steps for event in step.events) for one in arm)
        for _, arm in sorted(by_stage(tmp_path / "out").items())
    ]
    assert struck[0] == 0 and struck[-1] == 12
    assert struck == sorted(struck) and struck[1] < 12
    played = learnt(tmp_path / "out", "played")
    assert played == [12] * 4
    assert learnt(tmp_path / "out", "succeeded")[0] == 12 and learnt(tmp_path / "out", "succeeded")[-1] == 0


def test_ramps_inside_triggers_follow_progress_too(tmp_path: Path) -> None:
    more = "perturbations: [{use: latency, when: {tools: cakes.get, probability: {start: 0, end: 1}}}]\n"
    scenario = bakery.scenario(tmp_path, more=more)
    run([scenario], "oracle", out=tmp_path / "out", episodes=12, curriculum=write(tmp_path, "name: plain\nstages: 2\n"))
    struck = [[bool(one.steps[0].events) for one in arm] for _, arm in sorted(by_stage(tmp_path / "out").items())]
    assert struck == [[False] * 6, [True] * 6]


def test_what_is_mastered_gets_harder_and_what_is_failed_gets_easier(faulty: Scenario, tmp_path: Path) -> None:
    adaptive = write(tmp_path, ADAPTIVE)
    run([faulty], "resilient", out=tmp_path / "good", episodes=16, curriculum=adaptive)
    assert learnt(tmp_path / "good", "progress") == [0, 0.5, 1, 1]
    run([faulty], "nop", out=tmp_path / "bad", episodes=16, curriculum=adaptive)
    assert learnt(tmp_path / "bad", "progress") == [0, 0, 0, 0]
    run(
        [faulty],
        "naive",
        out=tmp_path / "half",
        episodes=48,
        curriculum=write(tmp_path, ADAPTIVE.replace("levels: 2", "levels: 1")),
    )
    assert learnt(tmp_path / "half", "progress") == [0, 1, 0, 1]


@pytest.mark.parametrize(
    ("level", "succeeded", "played", "following"),
    [(3, 9, 10, 4), (3, 8, 10, 3), (3, 5, 10, 3), (3, 4, 10, 2), (10, 10, 10, 10), (0, 0, 10, 0), (3, 0, 0, 3)],
)
def test_the_band_decides(level: int, succeeded: int, played: int, following: int) -> None:
    assert ProgressBand().next(level, succeeded=succeeded, played=played) == following


@pytest.mark.full
@pytest.mark.parametrize("text", [RISING, ADAPTIVE])
def test_a_run_that_was_stopped_goes_on_to_the_same_end(text: str, faulty: Scenario, tmp_path: Path) -> None:
    file = write(tmp_path, text)
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    run([faulty], "naive", out=whole, episodes=16, curriculum=file, concurrency=1)
    with pytest.raises(_Killed):
        run([faulty], "naive", out=parts, episodes=16, curriculum=file, concurrency=1, on_played=_killer(6))
    assert len(stages(parts)) == 1
    result = run([faulty], "naive", out=parts, episodes=16, curriculum=file, resume=True)
    assert (result.played, result.skipped, result.interrupted) == (10, 6, False)
    assert lines(parts) == lines(whole)
    assert (parts / LEDGER_FILE).read_bytes() == (whole / LEDGER_FILE).read_bytes()
    again = run([faulty], "naive", out=parts, episodes=16, curriculum=file, resume=True)
    assert (again.played, again.skipped) == (0, 16)


@pytest.mark.full
def test_several_workers_play_the_same_curriculum(faulty: Scenario, tmp_path: Path) -> None:
    file = write(tmp_path, ADAPTIVE.replace("stages: 4", "stages: 2"))
    run([faulty], "naive", out=tmp_path / "one", episodes=8, curriculum=file)
    run([faulty], "naive", out=tmp_path / "two", episodes=8, curriculum=file, workers=2)
    assert lines(tmp_path / "one") == lines(tmp_path / "two")
    assert (tmp_path / "one" / LEDGER_FILE).read_bytes() == (tmp_path / "two" / LEDGER_FILE).read_bytes()


@pytest.mark.full
def test_a_ledger_replays_its_stages_whatever_the_agent_does(faulty: Scenario, tmp_path: Path) -> None:
    run([faulty], "resilient", out=tmp_path / "first", episodes=16, curriculum=write(tmp_path, ADAPTIVE))
    ledger = tmp_path / "first" / LEDGER_FILE
    run([faulty], "nop", out=tmp_path / "other", episodes=16, curriculum=ledger)
    assert learnt(tmp_path / "other", "progress") == learnt(tmp_path / "first", "progress")
    assert learnt(tmp_path / "other", "succeeded") == [0, 0, 0, 0]
    run([faulty], "resilient", out=tmp_path / "again", episodes=16, curriculum=ledger)
    assert lines(tmp_path / "again") == lines(tmp_path / "first")
    assert (tmp_path / "again" / LEDGER_FILE).read_bytes() == ledger.read_bytes()
    with pytest.raises(InputError, match="16 episodes, and 12 are asked for"):
        run([faulty], "nop", out=tmp_path / "fewer", episodes=12, curriculum=ledger)


def test_run_json_names_the_curriculum_and_another_is_refused(faulty: Scenario, tmp_path: Path) -> None:
    file, out = write(tmp_path, RISING), tmp_path / "out"
    run([faulty], "naive", out=out, episodes=8, curriculum=file)
    assert read_facts(out)["curriculum"]["name"] == "rising"
    with pytest.raises(InputError, match="played with a curriculum"):
        run([faulty], "naive", out=out, episodes=8, resume=True)
    for changed, episodes in ((RISING.replace("stages: 4", "stages: 2"), 8), (RISING, 12)):
        with pytest.raises(InputError, match="the curriculum, or the number of episodes"):
            run([faulty], "naive", out=out, episodes=episodes, curriculum=write(tmp_path, changed), resume=True)


def test_a_run_with_a_curriculum_can_be_graded_again(faulty: Scenario, tmp_path: Path) -> None:
    run([faulty], "naive", out=tmp_path / "out", episodes=8, curriculum=write(tmp_path, RISING))
    before = lines(tmp_path / "out")
    summary = grade(tmp_path / "out")
    assert lines(tmp_path / "out") == before
    assert len(summary["arms"]) == 4


def test_packs_of_a_curriculum_take_the_place_of_the_scenarios_own(tmp_path: Path) -> None:
    scenario = bakery.scenario(tmp_path)
    file = write(tmp_path, RISING + "packs: [flaky_network]\n")
    run([scenario], "naive", out=tmp_path / "out", episodes=4, curriculum=file)
    arms = by_stage(tmp_path / "out")
    assert [bool(arms[name][0].perturbations) for name in sorted(arms)] == [False, True, True, True]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (RISING + "stage: 3\n", "unknown key 'stage'; did you mean 'stages'?"),
        (RISING.replace("stages: 4", "stages: 0"), "rising.yaml:2: stages:"),
        (RISING.replace("stages: 4", "stages: 40"), "12 episodes are too few for 40 stages"),
        (RISING + "packs: [flaky]\n", "flaky_network"),
        (ADAPTIVE.replace("low: 0.5", "low: 0.95"), "`low` is above `high`"),
        (ADAPTIVE.replace("levels: 2", "levels: 2, start: 3"), "`start` is above `levels`"),
    ],
)
def test_a_bad_curriculum_is_refused_and_leaves_no_folder(
    text: str, said: str, faulty: Scenario, tmp_path: Path
) -> None:
    with pytest.raises(InputError) as refused:
        run([faulty], "naive", out=tmp_path / "out", curriculum=write(tmp_path, text))
    assert said in str(refused.value)
    assert not (tmp_path / "out").exists()


def test_a_scenario_with_nothing_to_make_harder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="birthday has no perturbations to make harder; name `packs`"):
        run([bakery.scenario(tmp_path)], "naive", out=tmp_path / "out", curriculum=write(tmp_path, RISING))


def test_a_damaged_ledger_is_named_by_line_and_a_torn_last_line_is_not_missed(faulty: Scenario, tmp_path: Path) -> None:
    run([faulty], "naive", out=tmp_path / "out", episodes=8, curriculum=write(tmp_path, RISING))
    ledger = tmp_path / "out" / LEDGER_FILE
    whole = ledger.read_bytes()
    ledger.write_bytes(whole[:-20])
    assert len(read_ledger(ledger)[1]) == 3
    ledger.write_bytes(whole.replace(b'"begin":2', b'"begun":2'))
    with pytest.raises(InputError, match=r"curriculum\.jsonl:3: not a line of a ledger"):
        load_curriculum(ledger)
    with pytest.raises(InputError, match="no such ledger"):
        load_curriculum(tmp_path / "none.jsonl")


def test_a_ramp_keeps_its_curve_when_it_is_scaled() -> None:
    ramp = Ramp(start=0.2, end=0.8, curve="exponential")
    assert ramp.times(0.5).at(0.7) == pytest.approx(ramp.at(0.7) / 2)


class _Killed(Exception):
    pass


def _killer(after: int) -> Callable[[FinishedRollout], None]:
    count = 0

    def on_played(_: FinishedRollout) -> None:
        nonlocal count
        count += 1
        if count == after:
            raise _Killed

    return on_played
