"""The host of episodes that are played from outside: opens them by scenario, carries out batches of calls, ends them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from simtrain.contracts.scenario import Episode, Scenario
from simtrain.contracts.trajectory import Stop, Trajectory
from simtrain.runs.episode_recorder import EpisodeRecorder
from simtrain.runs.held_episode import HeldEpisode
from simtrain.runs.held_episodes import Episodes
from simtrain.runs.run import make_scenarios_ready
from simtrain.scenarios.by_name import episode as numbered
from simtrain.scenarios.by_name import load_scenario
from simtrain.values.errors import InputError, SimtrainError, nearest
from simtrain.values.types import JsonObject, Message, Observation

SWEEP = 1.0
"""Seconds between two looks for idle episodes."""


@dataclass(frozen=True)
class HostOptions:
    """How episodes are held. `idle` is in real seconds; None keeps them until they are closed.

    `most` is how many may be open at once. With `real_time` the delays of perturbations are waited for. With `any_scenario` those that
    were not named before are looked up too.
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
    """Scenarios to be opened, and the episodes that are open. All of it belongs to one event loop."""

    def __init__(
        self,
        scenarios: Iterable[Scenario] = (),
        options: HostOptions = HostOptions(),
        *,
        agent: JsonObject,
        record: EpisodeRecorder | None = None,
    ) -> None:
        """`agent` is what trajectories say of whoever plays."""
        self.scenarios = {scenario.name: scenario for scenario in scenarios}
        self.options = options
        self.agent = agent
        self.record = record
        self.episodes = Episodes(on_closed=self._keep, idle=options.idle, most=options.most, agent=agent)
        self._ready: set[str] = set()
        self._finding = asyncio.Lock()

    def _keep(self, trajectory: Trajectory) -> None:
        if self.record is not None:
            self.record.write(trajectory)

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
        """Open an episode: of the first scenario, its first case, unless said otherwise. Raises InputError, and what keeps it from
        being opened: SimulatorFault, ModelFault.
        """
        if isinstance(scenario, Episode):
            return await self._open(scenario, name, token)
        chosen = await self._scenario(scenario)
        number = self.options.case if case is None else case
        played = numbered(chosen, case=number, seed=self.options.seed if seed is None else seed, attempt=attempt)
        return await self._open(played, name, token)

    async def _open(self, episode: Episode, name: str | None, token: str | None) -> HeldEpisode:
        await self.make_ready(episode.scenario)
        return await self.episodes.open(replace(episode, real_time=self.options.real_time), name=name, token=token)

    async def make_ready(self, scenario: Scenario) -> None:
        """Check, once, that world models, perturbations and graders of a scenario can be reached. Raises InputError."""
        if scenario.digest in self._ready:
            return
        await make_scenarios_ready([scenario])
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
                self.scenarios[name] = await asyncio.to_thread(load_scenario, name)
        return self.scenarios[name]

    async def carry_out(self, calls: Sequence[EpisodeCall]) -> list[Observation | SimtrainError]:
        """Return what each call of a batch gives, or the error that its `HeldEpisode.step` raises, in the order of the calls.

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
        """End an episode with the last message of whoever is named, or with how it broke down; grade it, write it, free it."""
        if failed is not None:
            await held.end(Stop("failed", "agent", failed))
        elif message is not None:
            await held.say(message, by=by)
        return await self.episodes.close(held)

    async def sweep(self) -> None:
        """Close idle episodes, for ever."""
        while True:
            await asyncio.sleep(SWEEP)
            await self.episodes.close_idle()
