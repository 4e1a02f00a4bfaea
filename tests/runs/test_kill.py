"""Runs that are killed, stopped or starved, as real processes: nothing finished is lost, nothing is there twice, no line is broken."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from random import Random

import pytest
from real_runs import Bench, alive, ended, kill, stop, until

from simtrain.runs.run_folder import read_run

pytestmark = pytest.mark.slow

EPISODES = 240
MANY = 500
OFTEN = 25 if os.environ.get("SIMTRAIN_FULL") else 3


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    bench = Bench(tmp_path_factory.mktemp("undisturbed"))
    assert bench.play("run", "--episodes", str(EPISODES), AGENT_PAUSE="0")[0] == 0
    return bench


@pytest.mark.parametrize("workers", [1, 2])
def test_a_run_killed_again_and_again_ends_like_an_undisturbed_one(
    workers: int, tmp_path: Path, undisturbed: Bench
) -> None:
    bench, random = Bench(tmp_path), Random(workers)
    options = ("--episodes", str(EPISODES), "--workers", str(workers), "--concurrency", "6", "--resume")
    for round_number in range(OFTEN):
        process = bench.start("run", *options, AGENT_PAUSE="0.005")
        # The first is killed as it begins, wherever that is; the others somewhere among the lines that they write.
        there = len(bench.lines("run"))
        share = 0 if round_number == 0 else random.randrange(1, EPISODES // OFTEN)
        if share:
            until(lambda there=there, share=share: len(bench.lines("run")) >= there + share, running=process)
        else:
            until(lambda: (tmp_path / "run").exists(), running=process)
        kill(process, group=random.random() < 0.5)
    assert 0 < len(bench.lines("run")) < EPISODES
    code, said = bench.play("run", *options, AGENT_PAUSE="0")
    assert (code, said) == (0, "")
    assert bench.trajectories("run") == undisturbed.trajectories("run")
    assert len(list(read_run(tmp_path / "run"))) == EPISODES


def test_workers_end_when_their_run_is_killed(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    process = bench.start("run", "--workers", "2", agent="blocking")
    until(lambda: len(bench.begun()) == 2, running=process)
    workers = [int(mark.rpartition("-")[2]) for mark in bench.begun()]
    assert all(alive(worker) for worker in workers)
    kill(process, group=False)
    until(lambda: not any(alive(worker) for worker in workers))


def test_a_resumed_run_waits_for_the_workers_of_the_killed_one(tmp_path: Path) -> None:
    """A stopped worker cannot end by itself: it keeps the folder, and is refused as any other run is."""
    bench = Bench(tmp_path)
    process = bench.start("run", "--workers", "2", agent="gated")
    until(lambda: len({mark.split("-")[1] for mark in bench.begun()}) == 2, running=process)
    workers = [int(pid) for pid in {mark.split("-")[1] for mark in bench.begun()}]
    for worker in workers:
        stop(worker)
    kill(process, group=False)
    (tmp_path / "open").touch()
    code, said = bench.play("run", "--resume", agent="gated")
    assert code == 2
    assert "another run is writing into this folder" in said
    assert bench.lines("run") == []
    for worker in workers:
        os.kill(worker, signal.SIGCONT)
    assert bench.play("run", "--resume", agent="gated")[0] == 0
    assert len(bench.trajectories("run")) == 12


def test_a_killed_worker_is_one_clear_error_and_the_rest_is_kept(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    code, said = bench.play("run", "--workers", "2", "--episodes", "40", "--concurrency", "2", agent="dying")
    assert code == 1
    (line,) = said.splitlines()
    assert "died (exit code -9)" in line and "--resume" in line and str(tmp_path / "run") in line
    assert len(bench.trajectories("run")) < 40
    assert bench.play("run", "--workers", "2", "--episodes", "40", "--resume", agent="dying") == (0, "")
    assert len(bench.trajectories("run")) == 40


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_asked_to_stop_once_a_run_finishes_what_is_in_flight(workers: int, number: int, tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    options = ("--workers", str(workers), "--concurrency", "3", "--episodes", str(MANY))
    process = bench.start("run", *options, agent="gated")
    until(lambda: len(bench.begun()) == 3 * workers, running=process)
    os.killpg(process.pid, number)
    # Workers hear of it from their run, so that an episode or two more may begin; whatever has begun is finished.
    (tmp_path / "open").touch()
    code, said = ended(process)
    assert (code, said) == (1, "")
    assert 3 * workers <= len(bench.trajectories("run")) == len(bench.begun()) < MANY
    assert (tmp_path / "run" / "summary.json").exists()
    assert bench.play("run", *options, "--resume", agent="gated") == (0, "")
    assert len(bench.trajectories("run")) == MANY


@pytest.mark.parametrize("agent", ["gated", "clinging", "blocking"])
@pytest.mark.parametrize("workers", [1, 2])
def test_asked_twice_a_run_stops_at_once(workers: int, agent: str, tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    process = bench.start("run", "--workers", str(workers), "--concurrency", "1", agent=agent)
    until(lambda: len(bench.begun()) == workers, running=process)
    pids = [int(mark.split("-")[1]) for mark in bench.begun()]
    os.killpg(process.pid, signal.SIGINT)
    # Two signals that are pending at the same time are one; the second must come after the first was taken.
    until(lambda: not pending(process.pid, signal.SIGINT))
    os.killpg(process.pid, signal.SIGINT)
    code, _ = ended(process)
    assert code == 1
    assert bench.trajectories("run") == {}
    until(lambda: not any(alive(pid) for pid in pids))


def pending(pid: int, number: int) -> bool:
    """Whether a signal was sent to a process and not yet taken."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    masks = [int(line.split()[1], 16) for line in status.splitlines() if line.startswith(("SigPnd", "ShdPnd"))]
    return any(mask >> (number - 1) & 1 for mask in masks)
