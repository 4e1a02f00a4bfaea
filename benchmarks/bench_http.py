"""Cost of the agent loop with the chat policy, against the fake server in another process, 64 episodes at a time."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import process_time

from depot import CALLS, crowded, episodes, freeze
from floors import bare_posts, graph_floor
from report import Figure, arguments, cpu_of_tasks, show

from simtrain.agents.chat import ChatPolicy
from simtrain.agents.loop import play as play_loop
from simtrain.contracts.agent import Player, Policy
from simtrain.contracts.journal import Journal
from simtrain.contracts.scenario import Episode
from simtrain.contracts.trajectory import Stop
from simtrain.runs.schedule import Deal
from simtrain.scenarios.briefing import brief
from simtrain.scenarios.load import paradigm_of
from simtrain.values.types import Message

EPISODES = 192
CONCURRENCY = 64
LATE = 60
WINDOW = 10
TOOLS = 40


def main() -> None:
    """Measure and print."""
    options = arguments(__doc__ or "")
    freeze()
    figures = [*_short(options.rounds), *_late(options.rounds)]
    show("agent loop, chat policy over HTTP", figures, as_json=options.json)


@contextmanager
def serving(*, calls: int) -> Generator[str]:
    """The base URL of a fake server that makes so many calls an episode."""
    given = ["--tool", "items_search", "--arguments", '{"text": "an"}', "--calls", str(calls)]
    process = subprocess.Popen([sys.executable, "-m", "simtrain.testing", *given], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait()


def _short(rounds: int) -> list[Figure]:
    """CPU of one tool step in episodes of ten calls; what opens and ends an episode is shared among its steps."""
    floor = graph_floor(episodes=EPISODES, calls=CALLS, concurrency=CONCURRENCY, rounds=rounds)
    found, steps = episodes("read", EPISODES), EPISODES * CALLS / 1000
    with serving(calls=CALLS) as url:
        posts = partial(bare_posts, url, count=EPISODES * CALLS, concurrency=CONCURRENCY)
        post = cpu_of_tasks(posts, rounds=rounds) / steps
        policy = ChatPolicy(model="fake", base_url=url)
        whole = cpu_of_tasks(lambda: _play(found, policy), rounds=rounds) / steps
    return [
        floor,
        Figure("bare POST with aiohttp, per call", post, "ms"),
        Figure("loop with the chat policy, per tool step", whole, "ms", 1.1, floor=floor.value + post),
        Figure("  as a multiple of bare graph and bare POST", whole / (floor.value + post), "x"),
    ]


async def _play(found: Sequence[Episode], policy: ChatPolicy) -> None:
    queue = iter(found)

    async def worker() -> None:
        for episode in queue:
            stop = await _one(episode, policy)
            assert stop.reason == "answered"

    try:
        await asyncio.gather(*(worker() for _ in range(CONCURRENCY)))
    finally:
        await policy.close()


async def _one(episode: Episode, policy: Policy, *, wrap: Callable[[Player], Player] = lambda player: player) -> Stop:
    async with paradigm_of(episode.scenario).open(episode) as environment:
        journal = Journal(environment, episode.scenario.spec.limits)
        return await play_loop(wrap(policy.player(brief(episode, environment))), journal)


def _late(rounds: int) -> list[Figure]:
    """CPU of one step in turns 51 to 60 of episodes that are offered 40 tools."""
    with tempfile.TemporaryDirectory() as folder, serving(calls=LATE) as url:
        scenario = crowded(Path(folder), tools=TOOLS)
        found = Deal([scenario], seed=0, total=CONCURRENCY, attempts=1)
        policy = ChatPolicy(model="fake", base_url=url)
        spent = min(asyncio.run(_window(found, policy)) for _ in range(rounds))
    per_step = spent * 1000 / (CONCURRENCY * WINDOW)
    return [Figure(f"at turn {LATE} with {TOOLS} tools, per tool step", per_step, "ms", 1.8)]


async def _window(found: Sequence[Episode], policy: ChatPolicy) -> float:
    """CPU seconds of all episodes together from turn 51 to turn 60: they wait for one another before and after."""
    marks: list[float] = []
    meeting = asyncio.Barrier(len(found))
    try:
        await asyncio.gather(
            *(_one(episode, policy, wrap=lambda player: _Meeting(player, meeting, marks)) for episode in found)
        )
    finally:
        await policy.close()
    return marks[-1] - marks[0]


@dataclass
class _Meeting:
    """A player that waits for the others at the two ends of the window, and notes the CPU time there."""

    inner: Player
    meeting: asyncio.Barrier
    marks: list[float]

    async def think(self, journal: Journal) -> Message:
        if len(journal.turns) in (LATE - WINDOW, LATE) and await self.meeting.wait() == 0:
            self.marks.append(process_time())
        return await self.inner.think(journal)


if __name__ == "__main__":
    main()
