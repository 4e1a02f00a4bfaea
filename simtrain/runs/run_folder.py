"""The run folder: trajectories appended as whole lines, the facts to run it again, and a lock against a second writer."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from sys import intern
from time import monotonic, sleep
from typing import Self, TypeAlias

import orjson

from simtrain.contracts.trajectory import Trajectory, from_line
from simtrain.files.file_bytes import file_bytes
from simtrain.files.jsonl import LineWriter, cut_torn_line, unwritable, whole_lines, write_whole
from simtrain.runs.dataset_card import dataset_card
from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject, is_object
from simtrain.values.version import VERSION

Key: TypeAlias = tuple[str, str, int, int]

RUN_FILE = "run.json"
SUMMARY_FILE = "summary.json"
FAILURES_FILE = "failures.jsonl"
CARD_FILE = "README.md"
LOCK_FILE = ".lock"
PARTS = "trajectories-*.jsonl"

PATIENCE = 5.0
"""Seconds that reopening waits for the workers of a killed run to end."""

FORMAT = "simtrain-run/2"
"""What run.json says of its folder. 2 says in a drill which calls each perturbation may meet."""

READ = ("simtrain-run/1", FORMAT)
"""Formats of folders that are read, graded, exported and gone on with."""

TOP_LEVEL = frozenset({"scenario", "scenario_digest", "episode", "case", "seed", "attempt", "stop", "turns", "reward"})
"""Keys that a line must have to count as a trajectory."""


class RunFolder:
    """A run folder held for writing: locked while open, so that a second run into it is refused.

    `lock` is the descriptor of the lock. Whoever inherits it holds the folder too, until the last of them ends.
    """

    def __init__(self, path: Path, lock: int) -> None:
        self.path = path
        self.lock = lock

    @classmethod
    def create(cls, path: Path, facts: JsonObject) -> Self:
        """Make a new run folder. Raises InputError when a run is in it, or it cannot be written; it is then left as it was."""
        made = _missing_folders(path)
        try:
            path.mkdir(parents=True, exist_ok=True)
            lock = _take_lock(path, patience=0.0)
        except OSError as error:
            _remove(made)
            raise unwritable(path, error) from None
        try:
            _refuse_a_used_folder(path)
            write_whole(path / CARD_FILE, dataset_card())
            write_whole(path / RUN_FILE, facts)
        except BaseException:
            os.close(lock)
            if made:
                for name in (CARD_FILE, LOCK_FILE):
                    (path / name).unlink(missing_ok=True)
                _remove(made)
            raise
        return cls(path, lock)

    @classmethod
    def reopen(cls, path: Path) -> Self:
        """Open an existing run folder to go on with it; what a killed run left half done is cut off. Raises InputError."""
        read_facts(path)
        try:
            lock = _take_lock(path, patience=PATIENCE)
        except OSError as error:
            raise unwritable(path, error) from None
        try:
            for part in (*part_files(path), path / FAILURES_FILE):
                cut_torn_line(part)
            for leftover in path.glob(".*.tmp"):
                leftover.unlink(missing_ok=True)
        except BaseException:
            os.close(lock)
            raise
        return cls(path, lock)

    def close(self) -> None:
        """Give the folder free."""
        os.close(self.lock)


def part_writer(path: Path, worker: int, *, sync_every: int = 0) -> LineWriter:
    """Return the file of one worker of a run whose folder is held. Raises InputError."""
    return LineWriter(path / f"trajectories-{worker:03d}.jsonl", sync_every=sync_every)


def failures_writer(path: Path) -> LineWriter:
    """Return the file of rollouts that failed through no fault of the agent; they are played again on resume. Raises InputError."""
    return LineWriter(path / FAILURES_FILE, shared=True)


@contextmanager
def run_writers(path: Path, worker: int, *, sync_every: int) -> Generator[tuple[LineWriter, LineWriter]]:
    """The files of one worker while the block runs: of its trajectories, and of failures. Raises InputError."""
    with closing(part_writer(path, worker, sync_every=sync_every)) as kept, closing(failures_writer(path)) as failures:
        yield kept, failures


def last_failure(path: Path) -> Trajectory | None:
    """Return the last rollout of a run folder that failed through no fault of the agent; None where none did. Raises InputError."""
    file = path / FAILURES_FILE
    lines = [line for _, line in whole_lines(file)] if file.is_file() else []
    return from_line(lines[-1]) if lines else None


def _missing_folders(path: Path) -> list[Path]:
    """Return the folders that making a path will make, innermost first."""
    return [folder for folder in (path, *path.parents) if not folder.exists()]


def _remove(folders: list[Path]) -> None:
    for folder in folders:
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()


def _refuse_a_used_folder(path: Path) -> None:
    if (path / RUN_FILE).exists():
        raise InputError(
            "the folder already holds a run",
            remedy="add --resume to go on with it, or choose another with --out",
            file=path,
        )
    if part_files(path):
        raise InputError("the folder holds trajectories but no run.json", remedy="choose another with --out", file=path)


def _take_lock(path: Path, *, patience: float) -> int:
    """Lock a folder, waiting at most `patience` seconds. Raises InputError when it stays locked, OSError when it cannot be written."""
    descriptor = os.open(path / LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o644)
    until = monotonic() + patience
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if monotonic() < until:
                sleep(0.02)
                continue
            os.close(descriptor)
            raise InputError(
                "another run is writing into this folder", remedy="wait for it, or choose another with --out", file=path
            ) from None
        return descriptor


def read_facts(path: Path) -> JsonObject:
    """Return the run.json of a run folder. Raises InputError when the folder holds no run."""
    file = path / RUN_FILE
    try:
        facts = orjson.loads(file_bytes(file))
    except OSError as error:
        raise InputError(
            f"no run folder: {error.strerror}", remedy="name a folder that `simtrain run` has written", file=file
        ) from None
    except orjson.JSONDecodeError as error:
        raise InputError(f"not JSON: {error}", remedy="the run folder is damaged", file=file) from None
    if not is_object(facts) or "format" not in facts:
        raise InputError("not a run.json of simtrain", file=file)
    found = facts
    if found["format"] not in READ:
        raise _unreadable(found, file)
    return found


def _unreadable(facts: JsonObject, file: Path) -> InputError:
    """Return what to do about a folder of a format that is not read here."""
    form, wrote = str(facts["format"]), str(facts.get("version") or "of an unknown version")
    number = form.removeprefix("simtrain-run/")
    newer = form.startswith("simtrain-run/") and number.isdecimal() and int(number) > int(FORMAT.rpartition("/")[2])
    remedy = (
        f"update simtrain to {wrote} or later"
        if newer
        else f"read it with simtrain {wrote}, or play it again with --out"
    )
    return InputError(
        f"the folder has the format {form}, written by simtrain {wrote}; simtrain {VERSION} reads {' and '.join(READ)}",
        remedy=remedy,
        file=file,
    )


def finished_keys(path: Path) -> set[Key]:
    """Return the keys of all finished trajectories of a run folder. Raises InputError for a line that cannot be read."""
    return {
        (intern(str(row["scenario_digest"])), intern(str(row["episode"])), row["seed"], row["attempt"])
        for row in read_rows(path)
    }


def spent(path: Path) -> float:
    """Return what the finished trajectories of a run folder cost, in US dollars. Raises InputError for a line that cannot be read."""
    return sum(trajectory.cost for trajectory in read_run(path))


def read_rows(path: Path) -> Iterator[JsonObject]:
    """Yield the trajectories as plain JSON objects, for who needs a few fields only. Raises InputError for a line that cannot be read."""
    for part in part_files(path):
        for number, line in whole_lines(part):
            try:
                row = orjson.loads(line)
            except orjson.JSONDecodeError:
                raise _damaged(part, number) from None
            if not is_object(row) or not TOP_LEVEL.issubset(row):
                raise _damaged(part, number)
            yield row


def read_run(path: Path) -> Iterator[Trajectory]:
    """Yield the trajectories of a run folder, file by file, in the order written. Raises InputError for a line that cannot be read."""
    read_facts(path)
    for part in part_files(path):
        yield from read_part(part)


def part_files(path: Path) -> list[Path]:
    """Return the files of trajectories in a run folder."""
    return sorted(path.glob(PARTS))


def read_part(part: Path) -> Iterator[Trajectory]:
    """Yield the trajectories in one file. Raises InputError for a line that cannot be read."""
    for number, line in whole_lines(part):
        try:
            yield from_line(line)
        except InputError as error:
            raise error.at(file=part, line=number) from None


def _damaged(part: Path, number: int) -> InputError:
    return InputError(
        "the line is no trajectory", remedy="remove the line; --resume plays its episode again", file=part, line=number
    )
