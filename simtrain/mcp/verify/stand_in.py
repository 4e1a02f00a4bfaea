"""The stand-in of a verification: a fresh episode for every sequence, called as by an MCP client, at the real server's times."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from simtrain.contracts.scenario import Scenario
from simtrain.contracts.world import World
from simtrain.mcp.serve.addresses import Handlers
from simtrain.mcp.serve.session import AGENT
from simtrain.mcp.serve.targets import load_target
from simtrain.mcp_wire.client import listable
from simtrain.mcp_wire.eras import ERAS, HANDSHAKE, MODERN
from simtrain.mcp_wire.handler import ClientLine, WireError, WireRequest
from simtrain.mcp_wire.manifest import Surface
from simtrain.runs.held_episode import HeldEpisode
from simtrain.scenarios.by_name import episode as episode_of
from simtrain.scenarios.load import paradigm_of
from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject, JsonValue


@dataclass(frozen=True, eq=False)
class StandIn:
    """The subject of the verification: a scenario whose world models answer the calls, or one of its servers.

    `name` is the world's name, under which subjects are registered.
    """

    name: str
    scenario: Scenario
    server: str | None = None
    captured: bool = False
    """True if it is a manifest or a recording rather than a world."""

    @property
    def world(self) -> World:
        """Return the built world."""
        return self.scenario.source.build()

    async def surfaces(self) -> list[Surface]:
        """Return its surface in each era."""
        async with self.episode(seed=0) as opened:
            return [await opened.surface(era) for era in ERAS]

    @asynccontextmanager
    async def episode(self, *, seed: int) -> AsyncGenerator[OpenStandIn]:
        """Open a fresh episode."""
        episode = episode_of(self.scenario, seed=seed)
        environment = await paradigm_of(self.scenario).open(episode).__aenter__()
        opened = OpenStandIn(HeldEpisode("verify", episode, environment, AGENT), self.server)
        try:
            yield opened
        finally:
            await opened.close()


class OpenStandIn:
    """A stand-in in one episode; the caller sets its clock."""

    def __init__(self, held: HeldEpisode, server: str | None) -> None:
        self._held = held
        self._server = server
        self._handler = Handlers().of(held, server)
        self._clock = held.environment.finished().final.clock

    async def surface(self, era: str) -> Surface:
        """Return its surface for a client of this era without capabilities."""
        greeting = await self._handler.answer(
            _wire_request("server/discover" if era == MODERN else "initialize", {}, era), ClientLine()
        )
        lists: dict[str, tuple[JsonObject, ...]] = {}
        for method in listable(greeting):
            # A list that is declared but refused is not part of the surface.
            with suppress(WireError):
                lists[method] = tuple([page async for page in self._pages(method, era)])
        return Surface(era, {}, greeting, lists)

    async def _pages(self, method: str, era: str) -> AsyncGenerator[JsonObject]:
        cursor: JsonValue = None
        while True:
            params: JsonObject = {} if cursor is None else {"cursor": cursor}
            page = await self._handler.answer(_wire_request(method, params, era), ClientLine())
            yield page
            cursor = page.get("nextCursor")
            if cursor is None:
                return

    async def call(self, tool: str, arguments: JsonObject, *, moment: float) -> JsonObject:
        """Return the response to one call made at `moment` (Unix time in seconds)."""
        # The proxy advances the clock by one step before it answers.
        self._clock.moment = moment - self._clock.per_step
        try:
            request = _wire_request("tools/call", {"name": tool, "arguments": arguments})
            return {"result": await self._handler.answer(request, ClientLine())}
        except WireError as error:
            return {"error": {"code": error.code, "message": error.message}}

    @property
    def breakdown(self) -> str | None:
        """Return why the stand-in itself failed and can answer no more calls; None if it can."""
        stop = self._held.journal.stop
        return (stop.detail or stop.reason) if stop is not None and stop.blame == "simulator" else None

    async def fork(self) -> OpenStandIn:
        """Return an independent copy in its current state. Raises InputError if a world model cannot be copied."""
        return OpenStandIn(await self._held.fork("verify"), self._server)

    async def close(self) -> None:
        """Free the episode."""
        await self._held.close()


def stand_in(name: str, *, server: str | None = None) -> StandIn:
    """Return the stand-in for the name of a world, a scenario or a manifest. Raises InputError."""
    scenarios = load_target(name)
    if len(scenarios) > 1:
        raise InputError(f"{name!r} names {len(scenarios)} scenarios", remedy="name one")
    captured = name.endswith((".json", ".jsonl"))
    return StandIn(scenarios[0].source.name, scenarios[0], server, captured)


def _wire_request(method: str, params: JsonObject, era: str = HANDSHAKE) -> WireRequest:
    return WireRequest(method, params, era, modern=era == MODERN, capabilities={})
