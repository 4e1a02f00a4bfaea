"""The queue of episodes that wait for external agents, first in, first out."""

import asyncio
from collections import deque
from time import monotonic

from simtrain.runs.held_episode import HeldEpisode
from simtrain.values.errors import InputError


class Counter:
    """The queue from which external agents take their next episode."""

    def __init__(self, *, patience: float) -> None:
        """`patience`: real seconds that may pass without a request while no episode is being played."""
        self._patience = patience
        self._waiting: deque[HeldEpisode] = deque()
        self._taken: dict[str, asyncio.Event] = {}
        self._at_work: set[str] = set()
        self._offered = asyncio.Condition()
        self._last_request = monotonic()

    async def offer(self, held: HeldEpisode) -> None:
        """Enqueue an episode and wait until an agent has taken it. Raises InputError if none does within the limit."""
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
        silent = monotonic() - self._last_request
        # An agent at work asks again when it is done, however long its episode takes.
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
        """Return the episode that has waited longest; None if there is none within some seconds."""
        self._last_request = monotonic()
        try:
            async with asyncio.timeout(within), self._offered:
                await self._offered.wait_for(lambda: bool(self._waiting))
                held = self._waiting.popleft()
        except TimeoutError:
            return None
        self._at_work.add(held.name)
        return held

    def taken(self, held: HeldEpisode) -> None:
        """Confirm that an agent received the episode. Raises LookupError if its run no longer waits."""
        taken = self._taken.get(held.name)
        if taken is None:
            raise LookupError(f"the run no longer waits with episode {held.name!r}")
        taken.set()

    def give_back(self, held: HeldEpisode) -> None:
        """Put an episode back first in line: the agent that took it has disconnected."""
        self._at_work.discard(held.name)
        # First in line again, so that an agent's disconnect does not change the order of episodes.
        self._waiting.appendleft(held)

    def done(self, held: HeldEpisode) -> None:
        """Mark an episode as no longer being played."""
        self._last_request = monotonic()
        self._at_work.discard(held.name)
