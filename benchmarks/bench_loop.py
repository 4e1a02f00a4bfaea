"""Cost of the agent loop in an embedded world: 10-call episodes, an agent that does not think, 64 episodes at a time."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import process_time

from depot import CALLS, Instant, actions, episodes, freeze, hold
from floors import graph_floor
from report import Figure, arguments, cpu_of_tasks, resident, show

from simtrain.agents.loop import play as play_loop
from simtrain.contracts.agent import Player
from simtrain.contracts.journal import Journal
from simtrain.contracts.scenario import Episode
from simtrain.contracts.trajectory import Stop
from simtrain.files.jsonl import LineWriter
from simtrain.runs.runner import RunOptions, Stopper, play
from simtrain.runs.trajectory_files import read_part
from simtrain.scenarios.briefing import brief
from simtrain.scenarios.load import paradigm_of
from simtrain.values.types import Message

EPISODES = 300
CONCURRENCY = 64
OPEN = 1000
LONG = 200


def main() -> None:
    """Measure and print."""
    options = arguments(__doc__ or "")
    freeze()
    figures = [*_loop(options.rounds), *_runs(options.rounds), *_memory(), *_long(options.rounds)]
    show("agent loop, embedded world", figures, as_json=options.json)


def _loop(rounds: int) -> list[Figure]:
    """CPU of one tool step: of the bare graph, of the whole loop, and of the environment alone."""
    floor = graph_floor(episodes=EPISODES, calls=CALLS, concurrency=CONCURRENCY, rounds=rounds)
    found = episodes("read", EPISODES)
    whole = cpu_of_tasks(lambda: _each(found, _play_one), rounds=rounds) * 1000 / (EPISODES * CALLS)
    alone = {kind: _environment(kind, rounds=rounds) for kind in ("read", "write")}
    return [
        floor,
        Figure("loop: open, play, close, per tool step", whole, "ms", 0.5, floor=floor.value),
        Figure("  as a multiple of the bare graph", whole / floor.value, "x"),
        Figure("  of which environment.step, reading", alone["read"], "ms", 0.05, floor=floor.value),
        Figure("  of which environment.step, every other call a write", alone["write"], "ms", 0.05, floor=floor.value),
    ]


async def _each(found: Sequence[Episode], one: Callable[[Episode], Awaitable[None]]) -> None:
    queue = iter(found)

    async def worker() -> None:
        for episode in queue:
            await one(episode)

    await asyncio.gather(*(worker() for _ in range(CONCURRENCY)))


async def _play_one(episode: Episode) -> None:
    async with paradigm_of(episode.scenario).open(episode) as environment:
        journal = Journal(environment, episode.scenario.spec.limits)
        stop = await play_loop(Instant().player(brief(episode, environment)), journal)
        assert stop.reason == "answered" and len(environment.steps) == CALLS


def _environment(kind: str, *, rounds: int) -> float:
    """CPU ms of one environment.step; a write's fork is paid before, as it is paid once an episode."""
    return min(asyncio.run(_steps(kind)) for _ in range(rounds))


async def _steps(kind: str) -> float:
    spent = 0.0
    for episode in episodes(kind, 50):
        async with paradigm_of(episode.scenario).open(episode) as environment:
            made = actions(brief(episode, environment), calls=CALLS + 2, writes=kind == "write")
            for action in made[:2]:
                await environment.step(action)
            begun = process_time()
            for action in made[2:]:
                await environment.step(action)
            spent += process_time() - begun
            assert not any(step.observation.is_error for step in environment.steps)
    return spent * 1000 / (50 * CALLS)


def _runs(rounds: int) -> list[Figure]:
    """Episodes a second and core, with graders and run folder."""
    rates = {kind: EPISODES / min(_run(kind) for _ in range(rounds)) for kind in ("read", "write")}
    return [
        Figure("episodes a CPU second, reading, graded and written", rates["read"], "/s", 150, more=True),
        Figure("episodes a CPU second, every other call a write", rates["write"], "/s", 120, more=True),
    ]


def _run(kind: str) -> float:
    found = episodes(kind, EPISODES)
    agent, options = Instant(calls=CALLS, writes=kind == "write"), RunOptions("instant", concurrency=CONCURRENCY)
    with tempfile.TemporaryDirectory() as folder:
        kept, failures = LineWriter(Path(folder) / "kept.jsonl"), LineWriter(Path(folder) / "failures.jsonl")
        playing = partial(play, kept=kept, failures=failures, on_played=lambda _: None, stopper=Stopper())
        spent = cpu_of_tasks(lambda: playing(found, agent, options), rounds=1)
        kept.close()
        failures.close()
        rewards = [trajectory.reward for trajectory in read_part(kept.path)]
    assert rewards == [1.0] * EPISODES, "every episode is played right"
    return spent


def _memory() -> list[Figure]:
    """Memory of an episode that stands in its tenth turn, the world aside."""
    return [
        Figure("an open episode in its tenth turn, beyond the world", asyncio.run(_held()) / 1024, "KB", 80),
    ]


async def _held() -> float:
    gate, grown = asyncio.Event(), 0
    async with AsyncExitStack() as stack:
        tasks: list[asyncio.Task[Stop]] = []
        # The first half warms caches and the allocator, the second is measured; all stay open.
        for _ in range(2):
            before = resident()
            tasks += await hold(episodes("read", OPEN), Instant(), stack=stack, gate=gate)
            grown = resident() - before
        gate.set()
        await asyncio.gather(*tasks)
    return grown / OPEN


def _long(rounds: int) -> list[Figure]:
    """CPU of a step at the start and at the end of an episode of 200 turns."""
    early, late = zip(*(asyncio.run(_turns()) for _ in range(rounds)), strict=True)
    return [
        Figure("per step, turns 11 to 30", min(early), "ms"),
        Figure("per step, turns 181 to 200", min(late), "ms"),
        Figure("  late as a multiple of early", min(late) / min(early), "x", 1.1),
    ]


@dataclass
class _Marking:
    """A player that notes the CPU time at each turn."""

    inner: Player
    marks: list[float]

    async def think(self, journal: Journal) -> Message:
        self.marks.append(process_time())
        return await self.inner.think(journal)


async def _turns() -> tuple[float, float]:
    marks: list[float] = []
    for episode in episodes("read", 10):
        async with paradigm_of(episode.scenario).open(episode) as environment:
            journal = Journal(environment, episode.scenario.spec.limits)
            await play_loop(_Marking(Instant(calls=LONG).player(brief(episode, environment)), marks), journal)
    runs = [marks[start : start + LONG + 1] for start in range(0, len(marks), LONG + 1)]
    early = min(run[30] - run[10] for run in runs) / 20
    late = min(run[200] - run[180] for run in runs) / 20
    return early * 1000, late * 1000


if __name__ == "__main__":
    main()
