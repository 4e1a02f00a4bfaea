"""A serving session: the scenarios that a process serves, its open episodes, and the run folder for their trajectories."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path

from simtrain.contracts.scenario import Scenario
from simtrain.mcp.serve.addresses import DEFAULT, Handlers
from simtrain.mcp.serve.episode_queue import Counter
from simtrain.mcp.serve.wire_tools import servers_of
from simtrain.runs.episode_host import EpisodeHost, HostOptions
from simtrain.runs.episode_recorder import EpisodeRecorder
from simtrain.runs.held_episode import HeldEpisode
from simtrain.runs.run_folder import RUN_FILE
from simtrain.scenarios.by_name import episode
from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject

AGENT: JsonObject = {"name": "mcp"}
"""How a trajectory names an external agent."""


class ServingSession:
    """A host of episodes as MCP clients reach it. Lists come in pages of `page_size` where it is given."""

    def __init__(self, host: EpisodeHost, *, page_size: int | None = None) -> None:
        self.host = host
        self.counter: Counter | None = None
        """The queue in which episodes of a run wait for external agents."""
        self.handlers = Handlers(page_size)
        self._opening = asyncio.Lock()

    async def open_default(self) -> HeldEpisode:
        """Return the episode at `/mcp`, opening it if need be."""
        # Two clients may connect at once; without the lock each would open a default episode.
        async with self._opening:
            return self.host.find(DEFAULT) or await self.host.open(name=DEFAULT)


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
    scenarios: Sequence[Scenario],
    options: HostOptions,
    *,
    out: Path | None = None,
    page_size: int | None = None,
    agent: JsonObject = AGENT,
) -> AsyncGenerator[ServingSession]:
    """Open a serving session. At its end all episodes are closed, with their trajectories in `out`. Raises InputError.

    World models, perturbations and graders are checked for reachability before anything is opened.
    """
    host = EpisodeHost(scenarios, options, agent=agent)
    for scenario in scenarios:
        await host.make_ready(scenario)
    if scenarios:
        # Fails now, and not for the first client that connects without naming an episode.
        episode(scenarios[0], case=options.case, seed=options.seed)
    if out is not None:
        host.record = EpisodeRecorder(out, agent=agent, seed=options.seed, scenarios=scenarios)
    sweeping = asyncio.create_task(host.sweep())
    try:
        yield ServingSession(host, page_size=page_size)
    finally:
        # First, so that the sweep cannot close an episode at the same time as `close_all`.
        sweeping.cancel()
        await host.close_all()
        if host.record is not None:
            host.record.close()
