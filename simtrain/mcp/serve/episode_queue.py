"""Episodes that wait for an agent outside: handed out to whoever asks, first come, first served."""

from __future__ import annotations

import asyncio
from collections import deque
from time import monotonic

from simtrain.mcp.serve.episodes import HeldEpisode
from simtrain.values.errors import InputError


class Counter:
    """Where agents outside ask for their next episode."""

    def __init__(self, *, patience: float) -> None:
        """`patience` is how many real seconds may go by without anybody asking while nobody is at work."""
        self._patience = patience
        self._waiting: deque[HeldEpisode] = deque()
        self._taken: dict[str, asyncio.Event] = {}
        self._at_work: set[str] = set()
        self._offered = asyncio.Condition()
        self._heard = monotonic()

    async def offer(self, held: HeldEpisode) -> None:
        """Put an episode up and wait until somebody has taken it. Raises InputError when nobody comes."""
        taken = self._taken[held.name] = asyncio.Event()
        async with self._offered:
            self._waiting.append(held)
            self._offered.notify()
        try:
            while not taken.is_set():
                await self._wait(taken)
        finally:
            del self._taken[held.name]
            if held in self._waiting:
                self._waiting.remove(held)

    async def _wait(self, taken: asyncio.Event) -> None:
        silent = monotonic() - self._heard
        if silent >= self._patience and not self._at_work:
            raise InputError(
                f"no agent has asked for an episode for {self._patience:g} seconds",
                remedy="start one, or give it longer with --with patience=SECONDS; --resume goes on",
            )
        try:
            async with asyncio.timeout(max(self._patience - silent, 1.0)):
                await taken.wait()
        except TimeoutError:
            return

    async def take(self, *, within: float) -> HeldEpisode | None:
        """Return the episode that has waited longest; None when there was none for so many seconds."""
        self._heard = monotonic()
        try:
            async with asyncio.timeout(within), self._offered:
                await self._offered.wait_for(lambda: bool(self._waiting))
                held = self._waiting.popleft()
        except TimeoutError:
            return None
        self._at_work.add(held.name)
        return held

    def taken(self, held: HeldEpisode) -> None:
        """The episode has reached whoever asked for it. Raises LookupError where its run has given up waiting."""
        taken = self._taken.get(held.name)
        if taken is None:
            raise LookupError(f"the run no longer waits with episode {held.name!r}")
        taken.set()

    def give_back(self, held: HeldEpisode) -> None:
        """Whoever asked for the episode is gone: the next one gets it."""
        self._at_work.discard(held.name)
        self._waiting.appendleft(held)

    def done(self, held: HeldEpisode) -> None:
        """Nobody is at work on the episode any more."""
        self._heard = monotonic()
        self._at_work.discard(held.name)
