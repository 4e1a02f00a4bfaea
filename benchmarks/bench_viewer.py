"""Cost of looking at a run of 100,000 trajectories: indexing it once, opening it, a page of its list, its figures, an episode."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from time import process_time

import httpx
import orjson
from depot import Instant, scenario
from report import Figure, arguments, cpu, show

from simtrain.public import run
from simtrain.runs.run_index import INDEX_FILE, RunIndex
from simtrain.runs.trajectory_files import part_files
from simtrain.view.app import Viewer
from simtrain.view.shelf import RunShelf

TRAJECTORIES = 100_000
PLAYED = 100
INDEXED = 10_000
"""Trajectories of the run that is indexed anew in each round."""

CALLS = 4
LISTS = {
    "as it is": "",
    "sorted by tokens": "?sort=-tokens",
    "filtered by reward and arm": "?q=reward%3D1+arm%3Dnone",
    "its last page": f"?offset={TRAJECTORIES - 100}",
}


def main() -> None:
    """Measure and print."""
    options = arguments(__doc__ or "")
    with tempfile.TemporaryDirectory() as name:
        small, large = Path(name, "small"), Path(name, "large")
        run([scenario("read")], Instant(calls=CALLS), out=small, episodes=PLAYED)
        run([scenario("read")], Instant(calls=CALLS), out=large, episodes=PLAYED)
        _multiply(small, INDEXED)
        size = _multiply(large, TRAJECTORIES)
        indexing = INDEXED / min(_indexing(small) for _ in range(options.rounds))
        RunIndex(large).refresh()
        figures = [
            Figure("size of a line", size / 1000, "KB"),
            Figure("indexing, trajectories a CPU second", indexing, "/s", 10_000, more=True),
            Figure("opening: shelf, index and first list", cpu(partial(_open, large), rounds=options.rounds), "s", 0.5),
            Figure("  in a fresh process, Python and imports with it", _fresh(large, options.rounds), "s"),
            *asyncio.run(_pages(large, options.rounds)),
        ]
    show("viewer", figures, as_json=options.json)


def _multiply(folder: Path, count: int) -> int:
    """Repeat the trajectories of a run as further cases until there are so many; return the mean bytes of a line."""
    (part,) = part_files(folder)
    lines = [orjson.loads(line) for line in part.read_bytes().splitlines()]
    with part.open("wb") as file:
        for number in range(count):
            line = lines[number % len(lines)]
            file.write(orjson.dumps({**line, "episode": f"c{number:06}"}) + b"\n")
    (folder / INDEX_FILE).unlink(missing_ok=True)
    return part.stat().st_size // count


def _indexing(folder: Path) -> float:
    (folder / INDEX_FILE).unlink(missing_ok=True)
    with RunIndex(folder) as index:
        begun = process_time()
        assert index.refresh() == INDEXED
        return process_time() - begun


def _open(folder: Path) -> None:
    asyncio.run(_get(Viewer(RunShelf([folder])), "/run/large"))


async def _get(viewer: Viewer, path: str) -> str:
    transport = httpx.ASGITransport(viewer.app)  # type: ignore[arg-type]
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        reply = await client.get(path)
    assert reply.status_code == 200, reply.text
    return reply.text


def _fresh(folder: Path, rounds: int) -> float:
    """CPU seconds of a process that does nothing else."""
    return min(_child([sys.executable, __file__, "--open", str(folder)]) for _ in range(rounds))


def _child(command: list[str]) -> float:
    before = os.times()
    subprocess.run(command, check=True)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


async def _pages(folder: Path, rounds: int) -> list[Figure]:
    viewer, name = Viewer(RunShelf([folder])), scenario("read").name
    found = list[Figure]()
    for words, query in LISTS.items():
        found.append(Figure(f"list page, {words}", 1000 * await _page(viewer, f"/run/large{query}", rounds), "ms", 20))
    episode = await _page(viewer, f"/episode/large?scenario={name}&episode=c050000&arm=&attempt=0", rounds)
    figures = await _page(viewer, "/figures/large", rounds)
    return [
        *found,
        Figure("an episode, its neighbours with it", 1000 * episode, "ms"),
        Figure("the figures of all", 1000 * figures, "ms"),
    ]


async def _page(viewer: Viewer, path: str, rounds: int) -> float:
    await _get(viewer, path)
    spent = list[float]()
    for _ in range(rounds):
        begun = process_time()
        await _get(viewer, path)
        spent.append(process_time() - begun)
    return min(spent)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--open"]:
        _open(Path(sys.argv[2]))
    else:
        main()
