"""The run folder: trajectories appended as whole lines, run.json to repeat the run, and a lock against a second writer."""

import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep
from typing import Self

import orjson

from simtrain.contracts.trajectory import Trajectory
from simtrain.files.file_bytes import file_bytes
from simtrain.files.jsonl import cut_torn_line, unwritable, write_whole
from simtrain.runs.dataset_card import dataset_card
from simtrain.runs.trajectory_files import FAILURES_FILE, part_files, read_part
from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject, is_object
from simtrain.values.version import VERSION

RUN_FILE = "run.json"
SUMMARY_FILE = "summary.json"
CARD_FILE = "README.md"
LOCK_FILE = ".lock"

PATIENCE = 5.0
"""Seconds that reopening waits for the workers of a killed run to end."""

FORMAT = "simtrain-run/2"
"""The format named in run.json. Since 2, each perturbation of a drill lists the tools whose calls it may meet."""

READ = ("simtrain-run/1", FORMAT)
"""The formats that this version reads and resumes."""


class RunFolder:
    """A run folder open for writing. It is locked meanwhile, so that a second run into it is refused.

    `lock` is the descriptor of the lock. A process that inherits it holds the folder too; the last one to end releases it.
    """

    def __init__(self, path: Path, lock: int) -> None:
        self.path = path
        self.lock = lock

    @classmethod
    def create(cls, path: Path, facts: JsonObject) -> Self:
        """Create a run folder. Raises InputError if it contains a run or cannot be written, and then leaves it unchanged."""
        # Innermost first, as they are removed.
        made = [folder for folder in (path, *path.parents) if not folder.exists()]
        try:
            path.mkdir(parents=True, exist_ok=True)
            lock = _take_lock(path, patience=0.0)
        except OSError as error:
            _remove(made)
            raise unwritable(path, error) from None
        try:
            # Checked under the lock: two runs started at once would otherwise both find the folder empty.
            refuse_a_used_folder(path)
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
        """Open an existing run folder to resume it. A torn last line of a killed run is cut off. Raises InputError."""
        read_facts(path)
        try:
            lock = _take_lock(path, patience=PATIENCE)
        except OSError as error:
            raise unwritable(path, error) from None
        try:
            for part in (*part_files(path), path / FAILURES_FILE):
                cut_torn_line(part)
            # From a process that was killed while it replaced a file.
            for leftover in path.glob(".*.tmp"):
                leftover.unlink(missing_ok=True)
        except BaseException:
            os.close(lock)
            raise
        return cls(path, lock)

    def close(self) -> None:
        """Release the folder."""
        os.close(self.lock)


def _remove(folders: list[Path]) -> None:
    for folder in folders:
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()


def refuse_a_used_folder(path: Path) -> None:
    """Raise an InputError if a folder holds a run, or trajectories."""
    if (path / RUN_FILE).exists():
        raise InputError(
            "the folder already holds a run",
            remedy="add --resume to continue it, or choose another with --out",
            file=path,
        )
    if part_files(path):
        raise InputError("the folder holds trajectories but no run.json", remedy="choose another with --out", file=path)


def _take_lock(path: Path, *, patience: float) -> int:
    """Lock a folder, waiting at most `patience` seconds. Raises InputError if it stays locked, OSError if it cannot be written."""
    # flock belongs to the open file: it is released when the last process that holds the descriptor ends, even by kill -9.
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
            f"this is not a run folder: {error.strerror}",
            remedy="name a folder that `simtrain run` has written",
            file=file,
        ) from None
    except orjson.JSONDecodeError as error:
        raise InputError(f"not JSON: {error}", remedy="the run folder is damaged", file=file) from None
    if not is_object(facts) or "format" not in facts:
        raise InputError("not a run.json of simtrain", file=file)
    if facts["format"] not in READ:
        raise _unreadable(facts, file)
    return facts


def _unreadable(facts: JsonObject, file: Path) -> InputError:
    """Return the error for a folder in a format that this version does not read."""
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


def spent(path: Path) -> float:
    """Return the cost of the finished trajectories of a run folder, in US dollars. Raises InputError for a line that cannot be read."""
    return sum(trajectory.cost for trajectory in read_run(path))


def read_run(path: Path) -> Iterator[Trajectory]:
    """Yield the trajectories of a run folder, file by file, in the order written. Raises InputError for a line that cannot be read."""
    read_facts(path)
    for part in part_files(path):
        yield from read_part(part)


def scenario_digests(facts: JsonObject) -> dict[str, str]:
    """Return the digest of each scenario of a run, by its name and arm."""

    def called(entry: JsonObject) -> str:
        return f"{entry['name']} in arm {entry['arm']['name']}" if "arm" in entry else str(entry["name"])

    return {called(entry): str(entry["digest"]) for entry in facts["scenarios"]}
