"""All episodes that a process holds open for whoever plays them from outside, by name."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from secrets import token_hex
from time import monotonic

from simtrain.contracts.scenario import Episode
from simtrain.contracts.trajectory import Trajectory
from simtrain.runs.held_episode import HeldEpisode
from simtrain.scenarios.load import paradigm_of
from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject


@dataclass(eq=False, kw_only=True)
class Episodes:
    """All open episodes of one serving process, by name."""

    on_closed: Callable[[Trajectory], None]
    """Receives the trajectory of every closed episode."""
    agent: JsonObject
    """Describes who plays."""
    idle: float | None = None
    """Seconds without calls after which an episode is closed."""
    most: int = 10_000
    leaving: list[Callable[[HeldEpisode], Awaitable[None]]] = field(
        default_factory=list[Callable[["HeldEpisode"], Awaitable[None]]]
    )
    """Awaited with every episode that was closed."""
    _held: dict[str, HeldEpisode] = field(default_factory=dict[str, HeldEpisode], init=False)

    def __len__(self) -> int:
        return len(self._held)

    def __iter__(self) -> Iterator[HeldEpisode]:
        return iter(list(self._held.values()))

    def find(self, name: str) -> HeldEpisode | None:
        """Return the open episode of that name."""
        return self._held.get(name)

    def by_token(self, token: str) -> HeldEpisode | None:
        """Return the open episode that a bearer token belongs to."""
        return next((held for held in self._held.values() if held.token == token), None)

    async def open(self, episode: Episode, *, name: str | None = None, token: str | None = None) -> HeldEpisode:
        """Open an episode under a name, by default one that cannot be guessed.

        Raises InputError, and whatever keeps it from being opened: SimulatorFault, ModelFault.
        """
        chosen = self._free_name(name)
        async with AsyncExitStack() as stack:
            environment = await stack.enter_async_context(paradigm_of(episode.scenario).open(episode))
            held = HeldEpisode(chosen, episode, environment, self.agent, token)
            stack.pop_all()
        return self._hold(held)

    async def fork(self, held: HeldEpisode, *, name: str | None = None, token: str | None = None) -> HeldEpisode:
        """Return an independent copy of an episode in its present state, transcript included. Raises InputError if a
        world model cannot be copied.
        """
        chosen = self._free_name(name)
        return self._hold(await held.fork(chosen, token=token))

    def _free_name(self, name: str | None) -> str:
        if len(self._held) >= self.most:
            raise InputError(f"{self.most} episodes are open", remedy="close some first")
        if name is not None and name in self._held:
            raise InputError(f"an episode {name!r} is open already", remedy="close it first, or choose another name")
        # Letters and digits alone: a name is an argument of commands, and none may look like an option.
        return name or token_hex(12)

    def _hold(self, held: HeldEpisode) -> HeldEpisode:
        self._held[held.name] = held
        return held

    async def close(self, held: HeldEpisode) -> Trajectory:
        """End an episode, grade it, report its trajectory and free its resources."""
        # Unlisted first: grading awaits, and no new request may find an episode that is ending.
        self._unlist(held)
        try:
            trajectory = await held.graded()
        finally:
            await self._free(held)
        self.on_closed(trajectory)
        if not held.closed.done():
            held.closed.set_result(trajectory)
        return trajectory

    async def drop(self, held: HeldEpisode) -> None:
        """Free an episode that leaves no trajectory."""
        self._unlist(held)
        await self._free(held)

    def _unlist(self, held: HeldEpisode) -> None:
        held.gone = True
        self._held.pop(held.name, None)

    async def _free(self, held: HeldEpisode) -> None:
        await held.close()
        for tell in self.leaving:
            await tell(held)

    async def close_idle(self) -> int:
        """Close all idle episodes and return how many there were."""
        if self.idle is None:
            return 0
        late = [held for held in self if monotonic() - held.used > self.idle]
        for held in late:
            await self.close(held)
        return len(late)

    async def close_all(self) -> None:
        """Close all episodes in their present state."""
        for held in self:
            await self.close(held)

    async def drop_all(self) -> None:
        """Free all episodes; none leaves a trajectory."""
        for held in self:
            await self.drop(held)
