"""A recording answers, with the reply that a real server gave to the same call."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field, model_validator

from simtrain.contracts.domain import Domain
from simtrain.contracts.plugin import BesidePath
from simtrain.contracts.request import Answer, NotAnswered, Request, caller
from simtrain.contracts.tool_globs import matches
from simtrain.contracts.world import WorldState
from simtrain.contracts.world_model import WorldModel
from simtrain.files.file_bytes import file_bytes
from simtrain.mcp_wire.manifest import Exchange
from simtrain.mcp_wire.raw_replies import observation_of
from simtrain.values.errors import InputError, SimulatorFault
from simtrain.values.types import JsonObject, JsonValue, Observation, Provenance, ToolSpec
from simtrain.worlds.recorded.recorded_sessions import RecordedSession, read_sessions
from simtrain.worlds.recorded.replay_index import CALL, Match, NotRecorded, Playback, ReplayIndex

_REPLAY = Provenance("replay")


class Replay(WorldModel):
    """A recording (of `simtrain relay` or `live`), or the exchanges of a manifest, answers the calls that it holds.

    The world behind it is never queried and never changes.
    """

    repeatable = True

    example: ClassVar[JsonObject] = {"with": {"recording": "session.jsonl"}}

    recording: BesidePath = Field(description="The recording (.jsonl) or manifest (.json), beside this file.")
    match: Match = Field(
        "sequence",
        description="`exact`: the same JSON; `normalised`: white space, defaults, ids, times aside; `sequence`: and after the same writes.",
    )
    miss: Literal["loud", "next"] = Field(
        "loud", description="A call that was not recorded: a fault of the simulator, or the next world model is asked."
    )
    reads: list[str] | None = Field(
        None, description="Globs over the tools that only read; without it the tools' own word counts."
    )
    folders: dict[str, str] = Field(
        default_factory=dict[str, str], description="Folders as they were recorded, and what they are called now."
    )

    @model_validator(mode="after")
    def _can_be_read(self) -> Replay:
        # Read when the scenario is loaded, so that a damaged recording is reported before the run.
        self.shelf()
        return self

    def shelf(self, tools: tuple[ToolSpec, ...] = ()) -> Shelf:
        """Return the recorded sessions, indexed for a world with these tools. Raises InputError."""
        try:
            # Part of the cache key, so that a recording that was appended to is read again.
            stamp = self.recording.stat().st_mtime_ns
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror}", file=self.recording) from None
        globs = None if self.reads is None else tuple(self.reads)
        reading = frozenset(tool.name for tool in tools if not tool.writes)
        return _shelf(self.recording, stamp, self.match, tuple(sorted(self.folders.items())), globs, reading)

    def sources(self) -> JsonValue:
        """Return the digest of the recording."""
        return blake2b(file_bytes(self.recording), digest_size=16).hexdigest()

    @asynccontextmanager
    async def session(
        self, *, domain: Domain, world: WorldState, tools: tuple[ToolSpec, ...]
    ) -> AsyncGenerator[Answer, None]:
        """Open one episode, in which every recorded session starts from its beginning."""
        shelf = self.shelf(tools)
        playing = {server: index.play() for server, index in shelf.indexes.items()}

        async def answer(request: Request) -> Observation:
            server, name = shelf.place(request.tool)
            return self._find(playing[server], name, request.arguments)

        yield answer

    def _find(self, playing: Playback, name: str, arguments: JsonObject) -> Observation:
        try:
            return self._observation(playing.find(CALL, {"name": name, "arguments": arguments}, caller=caller.get()))
        except NotRecorded as missed:
            # Only this exception makes the proxy ask the next world model.
            fault = NotAnswered if self.miss == "next" else SimulatorFault
            raise fault(f"{self.recording.name}: {missed}") from None

    def _observation(self, exchange: Exchange) -> Observation:
        reply: JsonObject = dict(exchange.response)
        extras = {"notifications": exchange.notifications, "asks": exchange.asks, "rounds": exchange.rounds}
        if exchange.resumed:
            reply["resumed"] = True
        reply |= {key: list(items) for key, items in extras.items() if items}
        return observation_of(reply, _REPLAY)


@dataclass(frozen=True)
class Shelf:
    """The replay indexes of a recording, and the tools called in it, by server."""

    indexes: Mapping[str, ReplayIndex]
    called: Mapping[str, frozenset[str]]

    def place(self, tool: ToolSpec) -> tuple[str, str]:
        """Return the recorded server of a tool, and the tool's name there."""
        plain = tool.name.partition(".")[2] if tool.server else tool.name
        if tool.server in self.indexes:
            return tool.server, plain
        for server, called in self.called.items():
            for name in (tool.name, plain):
                if name in called:
                    return server, name
        # Never called while it was recorded: any index reports it as not recorded.
        return next(iter(self.indexes)), tool.name


@lru_cache(maxsize=16)
def _shelf(
    path: Path,
    _: int,
    match: Match,
    folders: tuple[tuple[str, str], ...],
    globs: tuple[str, ...] | None,
    reading: frozenset[str],
) -> Shelf:
    by_server: dict[str, list[RecordedSession]] = {}
    for session in read_sessions(path):
        by_server.setdefault(session.server, []).append(session)
    indexes: dict[str, ReplayIndex] = {}
    for server, sessions in by_server.items():
        # Bound as a default, or every function would use the last server of the loop.
        def reads(tool: str, server: str = server) -> bool:
            return matches(tool, globs) if globs is not None else not reading.isdisjoint((tool, f"{server}.{tool}"))

        indexes[server] = ReplayIndex(sessions, match=match, folders=dict(folders), reads=reads)
    called = {
        server: frozenset(
            str(exchange.params.get("name"))
            for session in sessions
            for exchange in session.exchanges
            if exchange.method == CALL
        )
        for server, sessions in by_server.items()
    }
    return Shelf(indexes, called)
