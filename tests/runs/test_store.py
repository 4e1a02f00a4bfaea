"""The run folder by itself: who may hold it, what it keeps, what counts as a line of it."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from bakery import write_files

from simtrain import load_scenario, run
from simtrain.contracts.trajectory import to_line
from simtrain.runs import run_folder as store
from simtrain.runs.resume import finished_keys
from simtrain.runs.run_folder import RunFolder, read_facts, read_run, spent
from simtrain.runs.trajectory_files import failures_writer, last_failure, part_writer, read_rows
from simtrain.values.errors import InputError

pytestmark = pytest.mark.slow

FACTS = {"format": "simtrain-run/1"}


@pytest.fixture
def played(tmp_path: Path) -> Path:
    """A run folder with three trajectories."""
    run([load_scenario(write_files(tmp_path))], "oracle", out=tmp_path / "run", episodes=3)
    return tmp_path / "run"


@contextmanager
def held(path: Path) -> Iterator[None]:
    """The folder as another process would hold it."""
    descriptor = os.open(path / store.LOCK_FILE, os.O_RDWR)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    yield
    os.close(descriptor)


class Clock:
    """Time that passes while somebody sleeps."""

    def __init__(self) -> None:
        self.now = 100.0

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(store, "monotonic", lambda: found.now)
    monkeypatch.setattr(store, "sleep", found.sleep)
    return found


def test_reopening_waits_five_seconds_for_whoever_holds_the_folder(played: Path, clock: Clock) -> None:
    with held(played), pytest.raises(InputError, match="another run is writing into this folder"):
        RunFolder.reopen(played)
    assert 105.0 <= clock.now < 105.1
    RunFolder.reopen(played).close()


def test_a_folder_that_is_given_free_in_time_is_taken(
    played: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    with held(played):

        def sleep(seconds: float) -> None:
            clock.sleep(seconds)
            if clock.now > 103:
                raise StopAsyncIteration

        monkeypatch.setattr(store, "sleep", sleep)
        with pytest.raises(StopAsyncIteration):
            RunFolder.reopen(played)
    assert 103 < clock.now < 103.1
    RunFolder.reopen(played).close()


def test_making_a_folder_waits_for_nobody(tmp_path: Path, clock: Clock) -> None:
    folder = tmp_path / "new"
    folder.mkdir()
    (folder / store.LOCK_FILE).touch()
    with held(folder), pytest.raises(InputError, match="another run is writing into this folder"):
        RunFolder.create(folder, FACTS)
    assert clock.now == 100.0


def test_a_new_folder_holds_facts_and_card_and_is_locked_until_it_is_closed(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "a" / "b", FACTS)
    assert folder.path == tmp_path / "a" / "b" and read_facts(folder.path) == FACTS
    assert (folder.path / "README.md").read_text().startswith("---")
    with pytest.raises(InputError, match="another run is writing"):
        RunFolder.create(tmp_path / "a" / "b", FACTS)
    folder.close()
    with pytest.raises(InputError, match="already holds a run; add --resume"):
        RunFolder.create(tmp_path / "a" / "b", FACTS)
    again = RunFolder.reopen(tmp_path / "a" / "b")
    assert again.path == folder.path
    again.close()


def test_a_folder_with_trajectories_and_no_facts_is_left_alone(played: Path) -> None:
    (played / "run.json").unlink()
    with pytest.raises(InputError, match="holds trajectories but no"):
        RunFolder.create(played, FACTS)
    assert not (played / "run.json").exists() and (played / "README.md").exists()


def test_what_cannot_be_written_leaves_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, value: object) -> None:
        path.touch()
        raise InputError("no space left", file=path)

    monkeypatch.setattr(store, "write_whole", full)
    with pytest.raises(InputError, match="no space left"):
        RunFolder.create(tmp_path / "a" / "b", FACTS)
    assert not (tmp_path / "a").exists()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "kept").touch()
    with pytest.raises(InputError, match="no space left"):
        RunFolder.create(tmp_path / "mine", FACTS)
    assert (tmp_path / "mine" / "kept").exists(), "a folder that was there is not the run's to remove"
    with pytest.raises(InputError, match=r"a_file"):
        (tmp_path / "a_file").touch()
        RunFolder.create(tmp_path / "a_file" / "run", FACTS)


def test_reopening_cuts_torn_lines_and_removes_what_was_half_written(played: Path) -> None:
    (part,) = played.glob("trajectories-*.jsonl")
    whole = part.read_bytes()
    part.write_bytes(whole + whole[:50])
    (played / "failures.jsonl").write_bytes(b'{"half": ')
    (played / ".summary.json.tmp").touch()
    RunFolder.reopen(played).close()
    assert part.read_bytes() == whole and (played / "failures.jsonl").read_bytes() == b""
    assert not list(played.glob(".*.tmp"))
    with pytest.raises(InputError, match="not a run folder"):
        RunFolder.reopen(played.parent / "nowhere")


def test_workers_write_files_of_their_own_and_failures_are_shared(played: Path) -> None:
    line = to_line(next(read_run(played)))
    for worker in (7, 12):
        writer = part_writer(played, worker, sync_every=1)
        writer.write(line)
        writer.close()
    assert [part.name for part in store.part_files(played)] == [f"trajectories-{n:03d}.jsonl" for n in (0, 7, 12)]
    assert len(list(read_run(played))) == 5
    assert last_failure(played) is None
    for seed in (4, 9):
        shared = failures_writer(played)
        shared.write(json.dumps({**json.loads(line), "seed": seed}).encode() + b"\n")
        shared.close()
    found = last_failure(played)
    assert found is not None and found.seed == 9


def test_finished_keys_are_those_of_all_lines(played: Path) -> None:
    expected = {trajectory.key for trajectory in read_run(played)}
    assert finished_keys(played) == expected and len(expected) == 3
    assert spent(played) == 0.0


KEYS = ["scenario", "scenario_digest", "episode", "case", "seed", "attempt", "stop", "turns", "reward"]


@pytest.mark.parametrize("key", KEYS)
def test_a_line_without_what_every_line_has_is_no_trajectory(key: str, played: Path) -> None:
    (part,) = played.glob("trajectories-*.jsonl")
    rows: list[dict[str, Any]] = [json.loads(line) for line in part.read_text().splitlines()]
    assert list(read_rows(played)) == rows
    del rows[1][key]
    part.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(InputError, match=r"trajectories-000.jsonl:2: the line is not a trajectory; remove the line"):
        list(read_rows(played))


@pytest.mark.parametrize("line", ["[]", "3", "{", '{"scenario": "x"}'])
def test_other_json_is_no_trajectory(line: str, played: Path) -> None:
    (part,) = played.glob("trajectories-*.jsonl")
    part.write_text(line + "\n" + part.read_text())
    with pytest.raises(InputError, match=r"trajectories-000.jsonl:1"):
        list(read_rows(played))
    with pytest.raises(InputError, match=r"trajectories-000.jsonl:1"):
        list(read_run(played))


@pytest.mark.parametrize(
    ("text", "problem"),
    [("{", "not JSON"), ("[]", "not a run.json"), ("{}", "not a run.json"), (None, "not a run folder")],
)
def test_facts_that_are_none_are_refused(text: str | None, problem: str, played: Path) -> None:
    (played / "run.json").unlink()
    if text is not None:
        (played / "run.json").write_text(text)
    with pytest.raises(InputError, match=problem):
        read_facts(played)
    with pytest.raises(InputError, match=problem):
        list(read_run(played))
