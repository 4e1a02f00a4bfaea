"""Cost of the run folder: trajectories of 20 KB encoded and appended, one write each."""

from __future__ import annotations

import asyncio
import os
import tempfile
from functools import partial
from pathlib import Path
from time import perf_counter

from depot import Instant, episodes
from report import Figure, arguments, cpu, show

from simtrain.contracts.scenario import Episode
from simtrain.contracts.trajectory import Trajectory, from_line, to_line
from simtrain.files.jsonl import LineWriter
from simtrain.runs.resume import finished_keys
from simtrain.runs.rollout import rollout

LINES = 200
CALLS = 21


def main() -> None:
    """Measure and print."""
    options = arguments(__doc__ or "")
    show("run folder", _figures(options.rounds), as_json=options.json)


def _figures(rounds: int) -> list[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trajectories-000.jsonl"
        # A trajectory costs more to encode the first time, and a run encodes each once: every round has its own.
        fresh = [_trajectories(LINES) for _ in range(rounds)]
        line = to_line(fresh[0][0])
        both = LINES / min(cpu(partial(_append, path, trajectories), rounds=1) for trajectories in fresh)
        keys = LINES / cpu(lambda: finished_keys(path.parent), rounds=rounds)
        bare = LINES / cpu(lambda: _bare(path, line), rounds=rounds)
        writing = LINES / cpu(lambda: _write(path, line), rounds=rounds)
        trajectories = _trajectories(LINES)
        begun = perf_counter()
        _append(path, trajectories, sync_every=64)
        synced = LINES / (perf_counter() - begun)
        reading = LINES / cpu(lambda: [from_line(line) for _ in range(LINES)], rounds=rounds)
    return [
        Figure("size of a line", len(line) / 1000, "KB"),
        Figure("bare os.write, lines a CPU second", bare, "/s"),
        Figure("to_line and LineWriter, lines a CPU second", both, "/s", 10_000, more=True, floor=bare),
        Figure("  as a share of bare os.write", both / bare, "x"),
        Figure("  LineWriter alone", writing, "/s", floor=bare),
        Figure("synced to disk in groups of 64, lines a second of real time", synced, "/s"),
        Figure("resume: keys read, lines a CPU second", keys, "/s"),
        Figure("from_line: whole trajectories checked, lines a CPU second", reading, "/s"),
    ]


def _trajectories(count: int) -> list[Trajectory]:
    """Episodes with so many calls that a line has 20 KB."""
    return asyncio.run(_rollouts(episodes("read", count)))


async def _rollouts(found: list[Episode]) -> list[Trajectory]:
    return [await rollout(episode, Instant(calls=CALLS), name="instant") for episode in found]


def _bare(path: Path, line: bytes) -> None:
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    for _ in range(LINES):
        os.write(descriptor, line)
    os.close(descriptor)


def _write(path: Path, line: bytes) -> None:
    path.unlink(missing_ok=True)
    writer = LineWriter(path)
    for _ in range(LINES):
        writer.write(line)
    writer.close()


def _append(path: Path, trajectories: list[Trajectory], *, sync_every: int = 0) -> None:
    path.unlink(missing_ok=True)
    writer = LineWriter(path, sync_every=sync_every)
    for trajectory in trajectories:
        writer.write(to_line(trajectory))
    writer.close()


if __name__ == "__main__":
    main()
