"""The run folder: trajectories appended as whole lines, the facts to run it again, and a lock against a second writer."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Self, TypeAlias, cast

import orjson

from simtrain.errors import InputError
from simtrain.trajectory import Trajectory, from_line, to_line
from simtrain.types import JsonObject

Key: TypeAlias = tuple[str, str, int, int]

RUN_FILE = "run.json"
SUMMARY_FILE = "summary.json"
FAILURES_FILE = "failures.jsonl"
LOCK_FILE = ".lock"
PARTS = "trajectories-*.jsonl"


class LineWriter:
    """Appends whole lines to one file: each line in one write with O_APPEND, so that a killed process tears the last one at most.

    `sync_every` lines are synced to disk in a group; 0 leaves syncing to the system.
    """

    def __init__(self, path: Path, *, sync_every: int = 0) -> None:
        """Open the file, cutting off a torn last line. Raises InputError when it cannot be written."""
        self.path = path
        self._sync_every = sync_every
        self._unsynced = 0
        try:
            cut_torn_line(path)
            self._descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        except OSError as error:
            raise _unwritable(path, error) from None

    def write(self, line: bytes) -> None:
        """Append one line, newline included. Raises InputError when the disk is full or the folder is gone."""
        try:
            written = os.write(self._descriptor, line)
            while written < len(line):
                written += os.write(self._descriptor, line[written:])
        except OSError as error:
            raise _unwritable(self.path, error) from None
        self._unsynced += 1
        if self._sync_every and self._unsynced >= self._sync_every:
            self.sync()

    def sync(self) -> None:
        """Wait until all that was written is on the disk."""
        os.fsync(self._descriptor)
        self._unsynced = 0

    def close(self) -> None:
        """Sync what a group is still waiting for, and close."""
        if self._sync_every and self._unsynced:
            self.sync()
        os.close(self._descriptor)


def cut_torn_line(path: Path) -> None:
    """Cut a file back to its last newline, where a killed process left half a line."""
    if not path.exists() or path.stat().st_size == 0:
        return
    with path.open("rb+") as file:
        size = file.seek(0, os.SEEK_END)
        end = size
        while end > 0:
            start = max(0, end - 65536)
            file.seek(start)
            newline = file.read(end - start).rfind(b"\n")
            if newline >= 0:
                end = start + newline + 1
                break
            end = start
        if end < size:
            file.truncate(end)


def _unwritable(path: Path, error: OSError) -> InputError:
    return InputError(
        f"cannot be written: {error.strerror}", remedy="free some space or choose another folder with --out", file=path
    )


class RunFolder:
    """A run folder held for writing: locked while open, so that a second run into it is refused."""

    def __init__(self, path: Path, lock: int) -> None:
        self.path = path
        self._lock = lock

    @classmethod
    def create(cls, path: Path, facts: JsonObject) -> Self:
        """Make a new run folder. Raises InputError when it exists with a run in it, or cannot be written."""
        if (path / RUN_FILE).exists():
            raise InputError(
                "the folder already holds a run",
                remedy="add --resume to go on with it, or choose another with --out",
                file=path,
            )
        try:
            path.mkdir(parents=True, exist_ok=True)
            folder = cls(path, _take_lock(path))
            write_whole(path / RUN_FILE, facts)
        except OSError as error:
            raise _unwritable(path, error) from None
        return folder

    @classmethod
    def reopen(cls, path: Path) -> Self:
        """Open an existing run folder to go on with it; torn last lines are cut off. Raises InputError."""
        read_facts(path)
        folder = cls(path, _take_lock(path))
        for part in (*part_files(path), path / FAILURES_FILE):
            cut_torn_line(part)
        return folder

    def writer(self, worker: int, *, sync_every: int = 0) -> LineWriter:
        """The file of one writer."""
        return part_writer(self.path, worker, sync_every=sync_every)

    def close(self) -> None:
        """Give the folder free."""
        os.close(self._lock)


def part_writer(path: Path, worker: int, *, sync_every: int = 0) -> LineWriter:
    """The file of one worker of a run whose folder another process holds."""
    return LineWriter(path / f"trajectories-{worker:03d}.jsonl", sync_every=sync_every)


def failures_writer(path: Path) -> LineWriter:
    """The file of rollouts that failed through no fault of the agent; they are played again on resume."""
    return LineWriter(path / FAILURES_FILE)


def _take_lock(path: Path) -> int:
    descriptor = os.open(path / LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise InputError(
            "another run is writing into this folder", remedy="wait for it, or choose another with --out", file=path
        ) from None
    return descriptor


def write_whole(path: Path, content: JsonObject) -> None:
    """Write a JSON file so that it is there whole or not at all. Raises OSError."""
    temporary = path.with_name(f".{path.name}.tmp")
    with temporary.open("wb") as file:
        file.write(orjson.dumps(content, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def read_facts(path: Path) -> JsonObject:
    """The run.json of a run folder. Raises InputError when the folder holds no run."""
    file = path / RUN_FILE
    try:
        facts = orjson.loads(file.read_bytes())
    except OSError as error:
        raise InputError(
            f"no run folder: {error.strerror}", remedy="name a folder that `simtrain run` has written", file=file
        ) from None
    except orjson.JSONDecodeError as error:
        raise InputError(f"not JSON: {error}", remedy="the run folder is damaged", file=file) from None
    if not isinstance(facts, dict) or "format" not in facts:
        raise InputError("not a run.json of simtrain", file=file)
    return cast(JsonObject, facts)


def finished_keys(path: Path) -> set[Key]:
    """The keys of all finished trajectories of a run folder. Raises InputError for a line that cannot be read."""
    return {(row["scenario_digest"], row["episode"], row["seed"], row["attempt"]) for row in read_rows(path)}


def read_rows(path: Path) -> Iterator[JsonObject]:
    """The trajectories as plain JSON objects, for who needs a few fields only. Raises InputError for a line that cannot be read."""
    for part in part_files(path):
        for number, line in _lines(part):
            try:
                row = orjson.loads(line)
                if not {"scenario_digest", "episode", "seed", "attempt", "stop"} <= row.keys():
                    raise _damaged(part, number)
            except (orjson.JSONDecodeError, AttributeError):
                raise _damaged(part, number) from None
            yield row


def read_run(path: Path) -> Iterator[Trajectory]:
    """The trajectories of a run folder, file by file, in the order written. Raises InputError for a line that cannot be read."""
    read_facts(path)
    for part in part_files(path):
        yield from read_part(part)


def part_files(path: Path) -> list[Path]:
    """The files of trajectories in a run folder."""
    return sorted(path.glob(PARTS))


def read_part(part: Path) -> Iterator[Trajectory]:
    """The trajectories in one file. Raises InputError for a line that cannot be read."""
    for number, line in _lines(part):
        try:
            yield from_line(line)
        except InputError as error:
            raise error.at(file=part, line=number) from None


def _lines(part: Path) -> Iterator[tuple[int, bytes]]:
    """Whole lines with their numbers; what a killed process tore at the end of a file is no line."""
    with part.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if line.endswith(b"\n"):
                yield number, line


def _damaged(part: Path, number: int) -> InputError:
    return InputError(
        "the line is no trajectory", remedy="remove the line; --resume plays its episode again", file=part, line=number
    )


def replace_part(part: Path, trajectories: Iterable[Trajectory]) -> None:
    """Replace one file of trajectories, whole or not at all. Raises InputError when it cannot be written."""
    new = part.with_name(f".{part.name}.tmp")
    new.unlink(missing_ok=True)
    writer = LineWriter(new)
    try:
        for trajectory in trajectories:
            writer.write(to_line(trajectory))
        writer.sync()
    finally:
        writer.close()
    new.replace(part)
