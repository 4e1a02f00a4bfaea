"""Grading a run again: the same rewards while nothing has changed, others with another rubric, and never half a file."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import bakery
import pytest
import yaml
from real_runs import COMMAND, Bench, ended, kill, until

from simtrain import grade, load_scenario, run
from simtrain.contracts.trajectory import Trajectory, to_line
from simtrain.runs.regrade import finished_world
from simtrain.runs.run_folder import read_run
from simtrain.values.errors import InputError

pytestmark = pytest.mark.slow

SLOW = """\
perturbations:
  - {use: latency, with: {severity: 1}, when: {tools: "*", probability: 1}}
"""


@pytest.fixture
def played(tmp_path: Path) -> Path:
    """A run of the bakery by an agent that is right and another that is wrong, with replies that come late."""
    file = bakery.write_files(tmp_path, more=SLOW)
    for agent in ("oracle", "wrong"):
        run([load_scenario(file)], agent, out=tmp_path / agent)
    return tmp_path


@pytest.mark.parametrize("agent", ["oracle", "wrong"])
def test_nothing_changes_while_nothing_has_changed(agent: str, played: Path) -> None:
    folder = played / agent
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    seen: list[None] = []
    grade(folder, on_graded=lambda: seen.append(None))
    assert len(seen) == 12
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def ungraded(trajectory: Trajectory) -> Trajectory:
    stop = replace(trajectory.stop, blame=None)
    return replace(trajectory, reward=None, rewards=(), stop=stop, solvability="unproved")


def test_another_rubric_gives_other_rewards(played: Path) -> None:
    file = played / "birthday.yaml"
    before = list(read_run(played / "oracle"))
    assert {trajectory.reward for trajectory in before} == {1.0}
    text = file.read_text()
    impossible = {"use": "final_state", "with": {"expect": ["select count(*) = 0 from cakes"]}}
    file.write_text(yaml.safe_dump({**yaml.safe_load(text), "rubric": [impossible]}))
    summary = grade(played / "oracle")
    after = list(read_run(played / "oracle"))
    assert all(trajectory.reward is not None and trajectory.reward < 1 for trajectory in after)
    assert summary["total"]["success"] == 0.0
    # Something is armed, and no way is found to what this rubric asks.
    assert {(item.solvability, item.stop.blame) for item in after} == {("unproved", None)}
    assert [to_line(ungraded(item)) for item in before] == [to_line(ungraded(item)) for item in after]
    file.write_text(text)
    assert grade(played / "oracle")["total"]["success"] == 1.0


def test_a_run_in_another_world_is_refused_and_left_alone(played: Path) -> None:
    part = played / "oracle" / "trajectories-000.jsonl"
    before = part.read_bytes()
    world = played / "bakery.yaml"
    world.write_text(world.read_text().replace("count: 30", "count: 31"))
    with pytest.raises(InputError, match="the world 'bakery' has changed since this run was played; play it again"):
        grade(played / "oracle")
    assert part.read_bytes() == before
    assert [path.name for path in (played / "oracle").iterdir() if path.name.endswith(".tmp")] == []


def test_a_scenario_that_is_gone_is_said(played: Path) -> None:
    (played / "birthday.yaml").unlink()
    with pytest.raises(InputError, match="the scenario 'birthday' of this run is gone; put its file back"):
        grade(played / "oracle")


def test_the_final_world_stands_as_the_episode_left_it(played: Path) -> None:
    scenario = load_scenario(played / "birthday.yaml")
    trajectory = next(read_run(played / "oracle"))
    finished = finished_world(trajectory, scenario)
    (order,) = finished.final.query("select * from orders where placed_at > '2031-03-03T09'")
    assert order["amount"] == 2
    assert finished.changes == trajectory.changes
    assert finished.final.clock.now == trajectory.world.ended
    # Replies came late: the episode ended after its last call began.
    assert trajectory.world.ended > trajectory.steps[-1].clock


@pytest.mark.full
def test_grading_that_is_killed_leaves_every_file_whole(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    options = ("--episodes", "1500", "--workers", "2", "--concurrency", "8")
    assert bench.play("run", *options, agent="oracle")[0] == 0
    before = bench.trajectories("run")
    for _ in range(3):
        grading = start_grading(bench)
        assert until(lambda: any(path.stat().st_size for path in present(tmp_path / "run")), running=grading)
        kill(grading)
        assert bench.trajectories("run") == before
    code, _ = ended(start_grading(bench))
    assert code == 0
    assert bench.trajectories("run") == before
    assert present(tmp_path / "run") == []
    assert bench.play("run", *options, "--resume", agent="oracle")[0] == 0


def start_grading(bench: Bench) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*COMMAND, "grade", str(bench.folder / "run")],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=bench.folder, start_new_session=True,
        env=bench.environment,
    )  # fmt: skip


def present(folder: Path) -> list[Path]:
    """The new versions of files that are being written."""
    return list(folder.glob(".trajectories-*.tmp"))
