"""Host episodes that are played from outside: open them by scenario, make batches of calls, end them."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from secrets import token_hex
from time import monotonic

from simtrain.contracts.scenario import Episode, Scenario
from simtrain.contracts.trajectory import Stop, Trajectory
from simtrain.runs.episode_recorder import EpisodeRecorder
from simtrain.runs.held_episode import HeldEpisode
from simtrain.runs.run import make_scenarios_ready
from simtrain.scenarios.by_name import episode as numbered
from simtrain.scenarios.by_name import load_scenario
from simtrain.scenarios.load import paradigm_of
from simtrain.values.errors import InputError, SimtrainError, nearest
from simtrain.values.types import JsonObject, Message, Observation

SWEEP = 1.0
"""Seconds between checks for idle episodes."""


@dataclass(frozen=True)
class HostOptions:
    """How episodes are held. `idle` is the limit in real seconds without a call; None keeps them until they are closed.

    At most `most` are open at once. With `real_time` the delays of perturbations really pass. With `any_scenario` scenarios that were
    not given at the start are looked up too.
    """

    seed: int = 0
    case: int = 0
    idle: float | None = 1800.0
    most: int = 10_000
    real_time: bool = False
    any_scenario: bool = False


@dataclass(frozen=True, slots=True)
class EpisodeCall:
    """One call of a batch."""

    held: HeldEpisode
    tool: str
    arguments: JsonObject
    by: str


class EpisodeHost:
    """Scenarios to open, and open episodes by name. To be used from one event loop only."""

    def __init__(
        self,
        scenarios: Iterable[Scenario] = (),
        options: HostOptions = HostOptions(),
        *,
        agent: JsonObject,
        record: EpisodeRecorder | None = None,
    ) -> None:
        """`agent` describes the player in trajectories."""
        self.scenarios = {scenario.name: scenario for scenario in scenarios}
        self.options = options
        self.agent = agent
        self.record = record
        self.leaving: list[Callable[[HeldEpisode], Awaitable[None]]] = []
        """Awaited with every episode that was closed."""
        self._held: dict[str, HeldEpisode] = {}
        self._ready: set[str] = set()
        self._finding = asyncio.Lock()

    def __len__(self) -> int:
        return len(self._held)

    def __iter__(self) -> Iterator[HeldEpisode]:
        # A copy: closing an episode during the iteration removes it.
        return iter(list(self._held.values()))

    def find(self, name: str) -> HeldEpisode | None:
        """Return the open episode of that name."""
        return self._held.get(name)

    def by_token(self, token: str) -> HeldEpisode | None:
        """Return the open episode that a bearer token belongs to."""
        return next((held for held in self._held.values() if held.token == token), None)

    async def open(
        self,
        scenario: str | Path | Scenario | Episode | None = None,
        *,
        case: int | None = None,
        seed: int | None = None,
        attempt: int = 0,
        name: str | None = None,
        token: str | None = None,
    ) -> HeldEpisode:
        """Open an episode: by default, of the first scenario its first case. Raises InputError, SimulatorFault and ModelFault."""
        if isinstance(scenario, Episode):
            return await self._open(scenario, name, token)
        chosen = await self._scenario(scenario)
        number = self.options.case if case is None else case
        played = numbered(chosen, case=number, seed=self.options.seed if seed is None else seed, attempt=attempt)
        return await self._open(played, name, token)

    async def _open(self, episode: Episode, name: str | None, token: str | None) -> HeldEpisode:
        await self.make_ready(episode.scenario)
        return await self.hold(replace(episode, real_time=self.options.real_time), name, token)

    async def hold(self, episode: Episode, name: str | None = None, token: str | None = None) -> HeldEpisode:
        """Open an episode as it is, under a name, by default one that cannot be guessed.

        Raises InputError, SimulatorFault and ModelFault.
        """
        chosen = self._free_name(name)
        async with AsyncExitStack() as stack:
            environment = await stack.enter_async_context(paradigm_of(episode.scenario).open(episode))
            held = self._held[chosen] = HeldEpisode(chosen, episode, environment, self.agent, token)
            # From here on the held episode closes its environment.
            stack.pop_all()
        return held

    async def make_ready(self, scenario: Scenario) -> None:
        """Check that world models, perturbations and graders of a scenario are available, once per scenario. Raises InputError."""
        if scenario.digest in self._ready:
            return
        await make_scenarios_ready([scenario])
        # After the check: an attempt that failed is checked again the next time.
        self._ready.add(scenario.digest)
        if self.record is not None:
            self.record.open(scenario)

    async def _scenario(self, wanted: str | Path | Scenario | None) -> Scenario:
        if isinstance(wanted, Scenario):
            return wanted
        if wanted is None and self.scenarios and not self.options.any_scenario:
            return next(iter(self.scenarios.values()))
        if wanted is None:
            raise InputError("no scenario is named", remedy="name one, such as 'helpdesk/refund'")
        name = str(wanted)
        if name not in self.scenarios and not self.options.any_scenario:
            raise InputError(f"the scenario {name!r} is not served here", remedy=nearest(name, self.scenarios))
        # One at a time: several clients that begin with the same scenario load it once.
        async with self._finding:
            if name not in self.scenarios:
                # In a thread, so that open episodes go on while files are read.
                self.scenarios[name] = await asyncio.to_thread(load_scenario, name)
        return self.scenarios[name]

    async def carry_out(self, calls: Sequence[EpisodeCall]) -> list[Observation | SimtrainError]:
        """Return the observation of each call of a batch, or the error raised by its `HeldEpisode.step`, in the order of the calls.

        Calls of one episode are made in order, those of different episodes concurrently.
        """
        results: dict[int, Observation | SimtrainError] = {}
        queues: dict[HeldEpisode, list[int]] = {}
        for number, call in enumerate(calls):
            queues.setdefault(call.held, []).append(number)

        async def work(numbers: Sequence[int]) -> None:
            for number in numbers:
                call = calls[number]
                try:
                    results[number] = await call.held.step(call.tool, call.arguments, by=call.by)
                except SimtrainError as error:
                    results[number] = error

        await asyncio.gather(*(work(numbers) for numbers in queues.values()))
        return [results[number] for number in range(len(calls))]

    async def finish(
        self, held: HeldEpisode, message: Message | None = None, *, failed: str | None = None, by: str | None = None
    ) -> Trajectory:
        """End an episode with the last message of `by`, or as failed; grade it, write it, and free its world."""
        if failed is not None:
            await held.end(Stop("failed", "agent", failed))
        elif message is not None:
            await held.say(message, by=by)
        return await self.close(held)

    async def sweep(self) -> None:
        """Close idle episodes, until cancelled."""
        while True:
            await asyncio.sleep(SWEEP)
            await self.close_idle()

    async def fork(self, held: HeldEpisode, *, name: str | None = None, token: str | None = None) -> HeldEpisode:
        """Return an independent copy of an episode in its present state, transcript included. Raises InputError if a
        world model cannot be copied.
        """
        chosen = self._free_name(name)
        copy = self._held[chosen] = await held.fork(chosen, token=token)
        return copy

    def _free_name(self, name: str | None) -> str:
        if len(self._held) >= self.options.most:
            raise InputError(f"{self.options.most} episodes are open", remedy="close some first")
        if name is not None and name in self._held:
            raise InputError(f"an episode {name!r} is open already", remedy="close it first, or choose another name")
        # Letters and digits alone: a name is an argument of commands, and none may look like an option.
        return name or token_hex(12)

    async def close(self, held: HeldEpisode) -> Trajectory:
        """End an episode, grade it, report its trajectory and free its resources."""
        # Unlisted first: grading awaits, and no new request may find an episode that is ending.
        self._unlist(held)
        try:
            trajectory = await held.graded()
        finally:
            await self._free(held)
        if self.record is not None:
            self.record.write(trajectory)
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
        if self.options.idle is None:
            return 0
        late = [held for held in self if monotonic() - held.used > self.options.idle]
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
