"""A serving session: the scenarios that a process serves, its open episodes, and the run folder for their trajectories."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

from simtrain.contracts.scenario import Episode, Scenario
from simtrain.contracts.trajectory import Trajectory, to_line
from simtrain.files.jsonl import LineWriter, write_whole
from simtrain.mcp.serve.addresses import DEFAULT, Handlers
from simtrain.mcp.serve.episode_queue import Counter
from simtrain.mcp.serve.episodes import AGENT, Episodes, HeldEpisode
from simtrain.mcp.serve.wire_tools import servers_of
from simtrain.runs.run import make_scenarios_ready
from simtrain.runs.run_file import run_facts
from simtrain.runs.run_folder import RUN_FILE, SUMMARY_FILE, RunFolder
from simtrain.runs.runner import RunOptions
from simtrain.runs.summary import summarise
from simtrain.runs.trajectory_files import failures_writer, part_writer, read_rows
from simtrain.scenarios.load import paradigm_of
from simtrain.values.errors import InputError, nearest
from simtrain.values.types import JsonObject

SWEEP = 1.0
"""Seconds between two looks for idle episodes."""


@dataclass(frozen=True)
class SessionOptions:
    """How episodes are held. `idle` is in real seconds; None keeps them until they are closed.

    With `real_time` the delays of perturbations are waited for.
    """

    seed: int = 0
    case: int = 0
    idle: float | None = 1800.0
    most: int = 10_000
    page_size: int | None = None
    real_time: bool = False


class ServingSession:
    """Scenarios to be opened, and the episodes that are open."""

    def __init__(
        self,
        scenarios: Sequence[Scenario],
        options: SessionOptions,
        *,
        record: EpisodeRecorder | None,
        agent: JsonObject = AGENT,
    ) -> None:
        """`agent` is what trajectories say of whoever plays."""
        self.scenarios = {scenario.name: scenario for scenario in scenarios}
        self.options = options
        self.record = record
        self.agent = agent
        self.counter: Counter | None = None
        """The queue in which episodes of a run wait for external agents."""
        self.episodes = Episodes(on_closed=self._keep, idle=options.idle, most=options.most, agent=agent)
        self.handlers = Handlers(options.page_size)
        self._opening = asyncio.Lock()

    def _keep(self, trajectory: Trajectory) -> None:
        if self.record is not None:
            self.record.write(trajectory)

    async def open(
        self,
        scenario: str | None = None,
        *,
        case: int | None = None,
        seed: int | None = None,
        attempt: int = 0,
        name: str | None = None,
        token: str | None = None,
    ) -> HeldEpisode:
        """Open an episode: of the first scenario, its first case, unless said otherwise. Raises InputError."""
        chosen = self._scenario(scenario)
        number = self.options.case if case is None else case
        played = episode_of(chosen, case=number, seed=self.options.seed if seed is None else seed, attempt=attempt)
        played = replace(played, real_time=self.options.real_time)
        return await self.episodes.open(played, name=name, token=token)

    async def open_default(self) -> HeldEpisode:
        """Return the episode at `/mcp`, opened when it is not."""
        async with self._opening:
            return self.episodes.find(DEFAULT) or await self.open(name=DEFAULT)

    def _scenario(self, name: str | None) -> Scenario:
        if not self.scenarios:
            raise InputError("the episodes of a run are dealt", remedy="ask for the next one with POST /episodes/next")
        if name is None:
            return next(iter(self.scenarios.values()))
        if name not in self.scenarios:
            raise InputError(f"the scenario {name!r} is not served here", remedy=nearest(name, self.scenarios))
        return self.scenarios[name]

    async def sweep(self) -> None:
        """Close idle episodes, for ever."""
        while True:
            await asyncio.sleep(SWEEP)
            await self.episodes.close_idle()


def episode_of(scenario: Scenario, *, case: int, seed: int, attempt: int) -> Episode:
    """Return one episode of a scenario, by the number of its case. Raises InputError."""
    for number, found in enumerate(paradigm_of(scenario).episodes(scenario, seed=seed, attempts=1)):
        if number == case:
            return Episode(scenario, found.id, found.case, found.variant, seed, attempt)
    raise InputError(f"{scenario.name} has no case {case}")


class EpisodeRecorder:
    """A run folder into which served episodes are written as they end."""

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder
        self._kept: LineWriter = part_writer(folder.path, 0)
        self._failures: LineWriter = failures_writer(folder.path)
        self.written = 0

    def write(self, trajectory: Trajectory) -> None:
        """Write one trajectory; those that failed through the simulator's fault apart, as in every run."""
        lost = trajectory.stop.reason == "failed" and trajectory.stop.blame != "agent"
        (self._failures if lost else self._kept).write(to_line(trajectory))
        self.written += 1

    def close(self) -> None:
        """Write the figures and give the folder free."""
        self._kept.close()
        self._failures.close()
        write_whole(self._folder.path / SUMMARY_FILE, summarise(read_rows(self._folder.path)))
        self._folder.close()


def check_server(scenario: Scenario, server: str | None) -> None:
    """Raise InputError for a server that the first scenario does not have."""
    servers = servers_of(scenario.source.build().tools)
    if server is not None and server not in servers:
        raise InputError(f"there is no server {server!r} here", remedy=f"one of {', '.join(servers)}")


def free_folder(out: Path) -> Path:
    """Return `out`, or the first of `out-2`, `out-3`, ... that holds no run."""
    candidates = (out if number == 1 else out.with_name(f"{out.name}-{number}") for number in count(1))
    return next(path for path in candidates if not (path / RUN_FILE).exists())


@asynccontextmanager
async def open_session(
    scenarios: Sequence[Scenario], options: SessionOptions, *, out: Path | None = None
) -> AsyncGenerator[ServingSession]:
    """Open a serving session; at its end the episodes are closed, and their trajectories are in `out`. Raises InputError.

    World models, perturbations and graders are checked for reachability before anything is opened.
    """
    await make_scenarios_ready(scenarios)
    # Fails now, and not for the first client that connects without naming an episode.
    episode_of(scenarios[0], case=options.case, seed=options.seed, attempt=0)
    recorder = None
    if out is not None:
        facts = run_facts(scenarios, RunOptions("mcp", seed=options.seed), AGENT, episodes=0)
        recorder = EpisodeRecorder(RunFolder.create(out, facts))
    serving = ServingSession(scenarios, options, record=recorder)
    sweeping = asyncio.create_task(serving.sweep())
    try:
        yield serving
    finally:
        sweeping.cancel()
        await serving.episodes.close_all()
        if recorder is not None:
            recorder.close()
