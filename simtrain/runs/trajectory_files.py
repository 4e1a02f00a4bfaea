"""Write trajectories to the files of a run folder, one per line, and read them back."""

from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import orjson

from simtrain.contracts.trajectory import Trajectory, from_line
from simtrain.files.jsonl import LineWriter, whole_lines
from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject, is_object

PARTS = "trajectories-*.jsonl"
FAILURES_FILE = "failures.jsonl"

TOP_LEVEL = frozenset({"scenario", "scenario_digest", "episode", "case", "seed", "attempt", "stop", "turns", "reward"})
"""Keys that the line of a trajectory must have."""


def part_writer(path: Path, worker: int, *, sync_every: int = 0) -> LineWriter:
    """Return the writer of one worker's file. The run folder must be locked. Raises InputError."""
    return LineWriter(path / f"trajectories-{worker:03d}.jsonl", sync_every=sync_every)


def failures_writer(path: Path) -> LineWriter:
    """Return the writer of rollouts that failed through no fault of the agent and are played again on resume. Raises InputError."""
    # All workers append to the same file: failures are few.
    return LineWriter(path / FAILURES_FILE, shared=True)


@contextmanager
def run_writers(path: Path, worker: int, *, sync_every: int) -> Generator[tuple[LineWriter, LineWriter]]:
    """Open the writers of one worker for the block: its trajectories, and failures. Raises InputError."""
    with closing(part_writer(path, worker, sync_every=sync_every)) as kept, closing(failures_writer(path)) as failures:
        yield kept, failures


def failures(path: Path) -> Iterator[Trajectory]:
    """Yield the rollouts that failed through no fault of the agent. Raises InputError."""
    file = path / FAILURES_FILE
    yield from read_part(file) if file.is_file() else ()


def last_failure(path: Path) -> Trajectory | None:
    """Return the last rollout that failed through no fault of the agent; None if none did. Raises InputError."""
    file = path / FAILURES_FILE
    lines = [line for _, line in whole_lines(file)] if file.is_file() else []
    return from_line(lines[-1]) if lines else None


def part_files(path: Path) -> list[Path]:
    """Return the trajectory files of a run folder, sorted."""
    return sorted(path.glob(PARTS))


def read_part(part: Path) -> Iterator[Trajectory]:
    """Yield the trajectories in one file. Raises InputError for a line that cannot be read."""
    for number, line in whole_lines(part):
        try:
            yield from_line(line)
        except InputError as error:
            raise error.at(file=part, line=number) from None


def read_rows(path: Path) -> Iterator[JsonObject]:
    """Yield the trajectories as plain JSON objects, for callers that need only a few fields. Raises InputError for an unreadable line."""
    for part in part_files(path):
        for number, line in whole_lines(part):
            yield trajectory_row(line, part, number)


def trajectory_row(line: bytes, part: Path, number: int) -> JsonObject:
    """Return a trajectory as a plain JSON object. Raises InputError for a line that is not one."""
    try:
        row = orjson.loads(line)
    except orjson.JSONDecodeError:
        raise damaged(part, number) from None
    if not is_object(row) or not TOP_LEVEL.issubset(row):
        raise damaged(part, number)
    return row


def damaged(part: Path, number: int) -> InputError:
    """Return the error that a line is not a trajectory."""
    return InputError(
        "the line is not a trajectory",
        remedy="remove the line; --resume plays its episode again",
        file=part,
        line=number,
    )
