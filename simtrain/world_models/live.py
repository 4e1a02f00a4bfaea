"""A real server answers. Its replies can be recorded and later replayed without it."""

from __future__ import annotations

import os
import shlex
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from typing import ClassVar, Literal, cast

from pydantic import Field, model_validator

from simtrain.contracts.domain import Domain
from simtrain.contracts.plugin import BesidePath
from simtrain.contracts.request import Answer, Request
from simtrain.contracts.world import WorldState
from simtrain.contracts.world_model import WorldModel
from simtrain.mcp_wire.client import Client, connect
from simtrain.mcp_wire.eras import ALL_CAPABILITIES, HANDSHAKE, MODERN
from simtrain.mcp_wire.manifest import Exchange
from simtrain.mcp_wire.raw_replies import observation_of
from simtrain.mcp_wire.targets import StdioTarget, Target, http_target
from simtrain.values.errors import InputError, SimulatorFault
from simtrain.values.types import JsonObject, Observation, Provenance, ToolSpec
from simtrain.world_models.live_shell import LiveShell, listing
from simtrain.worlds.recorded.recorded_sessions import frames_of
from simtrain.worlds.recorded.recording import Transport, append_run
from simtrain.worlds.recorded.replay_index import CALL

ALLOW = "SIMTRAIN_ALLOW_LIVE"
"""The environment variable that must be 1 before a scenario may start a program or connect to an address."""

_LIVE = Provenance("live")


class Live(WorldModel):
    """A real MCP server, or a real bash in a container or sandbox, started (or connected to) once per episode, answers the calls.

    A scenario may come from anyone, and this world model names a program to run. It is refused unless the user allows
    it with `--allow-live` or SIMTRAIN_ALLOW_LIVE=1. What the server changes is real, and is not undone.
    """

    example: ClassVar[JsonObject] = {"with": {"command": ["my-server", "--stdio"]}}

    command: list[str] | str | None = Field(None, description="The command of a server on stdio.")
    url: str | None = Field(None, description="The URL of a server on streamable HTTP.")
    shell: list[str] | str | None = Field(
        None, description="For terminals: a command that starts bash in a container or sandbox."
    )
    env: list[str] = Field(
        default_factory=list[str],
        description="Names of environment variables that the command may see besides the usual.",
    )
    headers: dict[str, str] = Field(
        default_factory=dict[str, str],
        description="HTTP headers, each with the name of the variable that holds its value.",
    )
    cwd: BesidePath | None = Field(None, description="Working folder of the command, beside this file.")
    era: Literal["2025-11-25", "2026-07-28"] = Field("2025-11-25", description="The protocol revision to speak.")
    timeout: float = Field(60.0, gt=0, description="Real seconds that a call may take.")
    recording: BesidePath | None = Field(
        None, description="Recording to append to, an episode at a time, beside this file."
    )

    @model_validator(mode="after")
    def _names_one_server(self) -> Live:
        if [self.command, self.url, self.shell].count(None) != 2:
            raise ValueError("a live server needs one of `command`, `url` and `shell`")
        return self

    @property
    def target(self) -> Target:
        """Return the server's target, with the named variables filled in. Raises InputError for an unset variable."""
        if self.url is not None:
            return http_target(self.url, {name: _variable(variable) for name, variable in self.headers.items()})
        started = self.shell if self.command is None else self.command
        command = shlex.split(started) if isinstance(started, str) else started or []
        return StdioTarget(tuple(command), {name: _variable(name) for name in self.env}, self.cwd)

    async def ready(self) -> None:
        """Start the server once and check that it answers. Raises InputError, also if live servers are not allowed."""
        if self.shell is None:
            async with self._connected():
                return
        try:
            await self._shell().check()
        except SimulatorFault as error:
            raise InputError(str(error), remedy="see whether the command of `shell` starts a bash") from None

    @asynccontextmanager
    async def session(
        self, *, domain: Domain, world: WorldState, tools: tuple[ToolSpec, ...]
    ) -> AsyncGenerator[Answer, None]:
        """Open one episode with its own server or shell."""
        exchanges: list[Exchange] = []
        if self.shell is not None:
            shell = self._shell()
            try:
                yield partial(shell.answer, exchanges=exchanges)
            finally:
                await shell.close()
                self._record([listing(tools), *exchanges])
            return
        async with self._connected() as client:
            listed = await client.request("tools/list", timeout=self.timeout)
            known = {tool.get("name") for tool in cast("list[JsonObject]", (listed.result or {}).get("tools") or [])}
            # The list of tools is recorded too, since a replay needs to know which tools only read.
            exchanges += [_greeting(client), listed]

            async def answer(request: Request) -> Observation:
                name = request.tool.name
                params = {
                    # A world names a tool `server.tool`, and the server itself has the plain name.
                    "name": name if name in known else name.partition(".")[2] or name,
                    "arguments": request.arguments,
                }
                exchange = await client.request(CALL, params, timeout=self.timeout)
                exchanges.append(exchange)
                reply: JsonObject = dict(exchange.response)
                if exchange.notifications:
                    reply["notifications"] = list(exchange.notifications)
                return observation_of(reply, _LIVE)

            try:
                yield answer
            finally:
                # Also for an episode that failed: what the server answered until then can be replayed.
                self._record(exchanges)

    def _shell(self) -> LiveShell:
        self._check_allowed()
        target = self.target
        assert isinstance(target, StdioTarget)
        return LiveShell(target, timeout=self.timeout)

    def _check_allowed(self) -> None:
        if os.environ.get(ALLOW) != "1":
            raise InputError(
                f"the world model `live` would use the real server {self.command or self.url or self.shell!r}",
                remedy=f"if you trust the scenario, add --allow-live or set {ALLOW}=1",
            )

    @asynccontextmanager
    async def _connected(self) -> AsyncGenerator[Client]:
        # Before the target is built, which reads secrets from the environment.
        self._check_allowed()
        async with connect(self.target, era=self.era, capabilities=ALL_CAPABILITIES, timeout=self.timeout) as client:
            yield client

    def _record(self, exchanges: list[Exchange]) -> None:
        if self.recording is None:
            return
        transport: Transport = "http" if self.url is not None else "stdio"
        append_run(self.recording, frames_of(exchanges), server=str(self.target), transport=transport)


def _greeting(client: Client) -> Exchange:
    # A recording begins with the greeting, whose request depends on the era.
    if client.era == MODERN:
        return Exchange("server/discover", {}, {"result": client.greeting}, MODERN, client.capabilities)
    introduction: JsonObject = {"protocolVersion": client.version, "capabilities": client.capabilities}
    return Exchange("initialize", introduction, {"result": client.greeting}, HANDSHAKE, client.capabilities)


def _variable(name: str) -> str:
    value = os.environ.get(name)
    if value is None:
        raise InputError(f"the environment variable {name} is not set", remedy="set it, or remove it from the scenario")
    return value
