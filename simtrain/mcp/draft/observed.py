"""The input of a draft: a server's tools, and its recorded calls in order."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeAlias, cast

from simtrain.mcp.capture.probes import NO_TOOL
from simtrain.mcp_wire.manifest import ServerManifest, read_manifest
from simtrain.values.errors import InputError, nearest
from simtrain.values.types import JsonObject, JsonValue, as_object
from simtrain.worlds.recorded.recorded_sessions import RecordedSession, read_sessions
from simtrain.worlds.recorded.replay_index import CALL

Channel: TypeAlias = str | int
"""The channel of a reply: `result`, `error` (an error result), or the code of a JSON-RPC error."""


@dataclass(frozen=True, eq=False)
class RecordedCall:
    """One recorded call. `number` counts across all recordings, `recorded_session` is the recording that it belongs to."""

    number: int
    recorded_session: int
    tool: str
    arguments: JsonObject
    response: JsonObject

    @cached_property
    def channel(self) -> Channel:
        """Return the channel of the reply."""
        if "error" in self.response:
            return self.response["error"].get("code", 0)
        return "error" if self._result.get("isError") is True else "result"

    @property
    def _result(self) -> JsonObject:
        result: JsonValue = self.response.get("result")
        return as_object(result)


@dataclass(frozen=True, eq=False)
class Observed:
    """A server: its captured manifest, its raw tool descriptors by name, and the calls to its tools."""

    manifest: ServerManifest
    tools: dict[str, JsonObject]
    calls: tuple[RecordedCall, ...]


def read_observed(manifest: Path, *, server: str | None = None, recordings: Sequence[Path] = ()) -> Observed:
    """Read a manifest and recordings of one server; `server` names it if the manifest has several. Raises InputError."""
    servers = read_manifest(manifest).servers
    if server is None and len(servers) > 1:
        raise InputError(
            f"the manifest contains {len(servers)} servers",
            remedy=f"name one with --server: {', '.join(servers)}",
            file=manifest,
        )
    name = next(iter(servers), "") if server is None else server
    if name not in servers:
        raise InputError(f"the manifest has no server {name!r}", remedy=nearest(name, servers), file=manifest)
    found = servers[name]
    tools = {tool["name"]: tool for tool in found.tools if isinstance(tool.get("name"), str)}
    if not tools:
        raise InputError(f"the server {name!r} has no tools", file=manifest)
    recorded_sessions = [RecordedSession(name, found.exchanges, {})]
    for path in recordings:
        # A manifest used as a recording may hold other servers too; a relay's recording is of a single server under any name.
        recorded_sessions += [
            recorded_session
            for recorded_session in read_sessions(path)
            if path.suffix != ".json" or recorded_session.server == name
        ]
    return Observed(found, tools, tuple(_calls(recorded_sessions, tools)))


def _calls(recorded_sessions: Sequence[RecordedSession], tools: dict[str, JsonObject]) -> list[RecordedCall]:
    found: list[RecordedCall] = []
    for index, recorded_session in enumerate(recorded_sessions):
        for exchange in recorded_session.exchanges:
            tool: JsonValue = exchange.params.get("name")
            arguments: JsonValue = exchange.params.get("arguments")
            known = exchange.method == CALL and isinstance(tool, str) and tool in tools and tool != NO_TOOL
            if known and isinstance(arguments, dict | None):
                given = cast(JsonObject, arguments or {})
                found.append(RecordedCall(len(found) + 1, index, cast(str, tool), given, exchange.response))
    return found
