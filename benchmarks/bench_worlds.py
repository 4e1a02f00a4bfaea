"""Cost of the worlds of many episodes: the fork that a first write pays, and the memory of all that is open at once."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import AsyncExitStack
from functools import partial
from typing import cast

from depot import Instant, episodes, freeze, hold, scenario
from report import Figure, apart, arguments, cpu_of_making, resident, show

from simtrain.contracts.world import WorldState
from simtrain.worlds.service.world import ServiceWorld

FORKS = 200
KEPT = 1000
OPEN = 10_000
WROTE = 1000
MIB = 1024 * 1024
UPDATE = "update orders set notes = 'Asked again.' where id = 'O0007'"
TABLES = ("customers", "items", "orders", "lines")


def main() -> None:
    """Measure and print."""
    options = arguments(__doc__ or "")
    figures = [*_forking(options.rounds), *_kept(), *_many()]
    show("worlds: forks and memory", figures, as_json=options.json)


def _world() -> ServiceWorld:
    return cast(ServiceWorld, scenario("read").source.build())


def _forking(rounds: int) -> list[Figure]:
    """CPU of a fork with its first write; closing is not in it."""
    freeze()
    world = _world()
    bare = cpu_of_making(partial(_bare, world.content), count=FORKS, rounds=rounds) * 1000
    forked = cpu_of_making(partial(_fork, world), count=FORKS, rounds=rounds) * 1000
    return [
        Figure("size of the world", len(world.content) / 1024, "KB"),
        Figure("bare SQLite: deserialize and first write", bare, "ms"),
        Figure("fork and first write", forked, "ms", 0.25, floor=bare),
        Figure("  as a multiple of bare SQLite", forked / bare, "x"),
    ]


def _bare(content: bytes) -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.deserialize(content)
    connection.execute(UPDATE)
    return connection


def _fork(world: ServiceWorld) -> WorldState:
    state = world.open()
    state.execute(UPDATE)
    return state


def _kept() -> list[Figure]:
    """Memory of a fork, after its first write and after every row of it was read."""
    size = len(_world().content) / 1024
    most = 1.4 * size + 32
    return [
        Figure("memory of a fork that has written", apart(partial(_memory_of_fork, scanned=False)), "KB", most),
        Figure("memory of a fork after a full scan", apart(partial(_memory_of_fork, scanned=True)), "KB", most),
    ]


def _memory_of_fork(*, scanned: bool) -> float:
    world = _world()
    kept: list[WorldState] = []
    before = 0
    for half in range(2):
        before = resident()
        for _ in range(KEPT // (10 if half == 0 else 1)):
            state = _fork(world)
            if scanned:
                for table in TABLES:
                    state.query(f"select * from {table}")
            kept.append(state)
    return (resident() - before) / KEPT / 1024


def _many() -> list[Figure]:
    """Memory of a process with 10,000 open episodes in their tenth turn, of which a tenth have written."""
    return [
        Figure(
            f"{OPEN:,} open episodes, {WROTE:,} of which have written, all of the process",
            apart(_open_many) / MIB,
            "MiB",
            1.4 * 1024,
        )
    ]


def _open_many() -> int:
    return asyncio.run(_hold_many())


async def _hold_many() -> int:
    freeze()
    gate = asyncio.Event()
    async with AsyncExitStack() as stack:
        reading = await hold(episodes("read", OPEN - WROTE), Instant(), stack=stack, gate=gate)
        writing = await hold(episodes("write", WROTE), Instant(writes=True), stack=stack, gate=gate)
        held = resident()
        gate.set()
        stops = await asyncio.gather(*reading, *writing)
    assert all(stop.reason == "answered" for stop in stops)
    return held


if __name__ == "__main__":
    main()
