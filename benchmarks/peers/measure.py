"""What all peers share: the episode that they play, and the CPU time of this process for a tool call of it.

It is imported in environments without simtrain, so that it needs the standard library alone.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any, TypeAlias

CONCURRENCY = 64


@dataclass(frozen=True)
class Episode:
    """`calls` calls of one tool, one a turn, each answered with `reply`; then the model says `answer`."""

    url: str
    model: str
    prompt: str
    tool: str
    description: str
    arguments: dict[str, str]
    reply: str
    calls: int
    answer: str


# One episode played: the number of tool calls that were carried out, and what was said last.
Played: TypeAlias = tuple[int, str]
# All episodes of a round, with at most CONCURRENCY at once. How they went is read after the clock has stopped.
Way: TypeAlias = Callable[[Episode, int], Coroutine[Any, Any, Iterable[Played]]]


def main(packages: Sequence[str], *, http: Way, in_process: Way) -> None:
    """Measure both ways and print one JSON object: versions, and the median CPU milliseconds of a tool call."""
    parser = argparse.ArgumentParser()
    parser.add_argument("episode", type=Path, help="the episode, as JSON")
    parser.add_argument("--episodes", type=int, required=True, help="episodes in a round")
    parser.add_argument("--rounds", type=int, required=True, help="rounds, of which the median counts")
    given = parser.parse_args()
    episode = Episode(**json.loads(given.episode.read_text()))
    found: dict[str, Any] = {"versions": {name: version(name) for name in packages}}
    # One event loop for all rounds: some peers keep their HTTP client beyond one.
    with asyncio.Runner() as runner:
        for name, way in (("http", http), ("in_process", in_process)):
            # The first round pays for imports and for what is made once.
            _round(runner, episode, way, CONCURRENCY)
            found[name] = median(_round(runner, episode, way, given.episodes) for _ in range(given.rounds))
    print(json.dumps(found))


def _round(runner: asyncio.Runner, episode: Episode, way: Way, episodes: int) -> float:
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    begun = process_time()
    outcome = runner.run(way(episode, episodes))
    spent = process_time() - begun
    played = list(outcome)
    assert len(played) == episodes, f"{len(played)} of {episodes} episodes were played"
    wrong = [one for one in played if one != (episode.calls, episode.answer)]
    assert not wrong, f"{len(wrong)} episodes went another way, such as {wrong[0]}"
    return spent * 1000 / (episodes * episode.calls)


async def each(one: Callable[[], Awaitable[Played]], episodes: int) -> list[Played]:
    """Play so many episodes, for a peer that runs one at a time."""
    left = iter(range(episodes))
    played: list[Played] = []

    async def worker() -> None:
        for _ in left:
            played.append(await one())

    await asyncio.gather(*(worker() for _ in range(CONCURRENCY)))
    return played
