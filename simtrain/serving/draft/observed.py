"""What is known of a server before it is drafted: its tools, and the calls that were recorded, in order."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeAlias, cast

from simtrain.courses import Course, read_courses
from simtrain.errors import InputError, nearest
from simtrain.manifest import ServerManifest, read_manifest
from simtrain.serving.draft.forms import object_of
from simtrain.serving.probes import NO_TOOL
from simtrain.tape import CALL
from simtrain.types import JsonObject, JsonValue

Channel: TypeAlias = str | int
"""How a reply came: `result`, `error` (an error result), or the code of a JSON-RPC error."""


@dataclass(frozen=True, eq=False)
class Call:
    """One recorded call. `number` counts through all recordings, `course` says which of them it belongs to."""

    number: int
    course: int
    tool: str
    arguments: JsonObject
    response: JsonObject

    @cached_property
    def channel(self) -> Channel:
        """How the reply came."""
        if "error" in self.response:
            return cast(int, cast(JsonObject, self.response["error"]).get("code", 0))
        return "error" if self._result.get("isError") is True else "result"

    @property
    def _result(self) -> JsonObject:
        result: JsonValue = self.response.get("result")
        return cast(JsonObject, result) if isinstance(result, dict) else {}

    @cached_property
    def text(self) -> str | None:
        """The text of the reply; None where it is anything but one text block."""
        if "error" in self.response:
            return str(cast(JsonObject, self.response["error"]).get("message", ""))
        blocks: JsonValue = self._result.get("content")
        if not isinstance(blocks, list) or len(cast("list[JsonValue]", blocks)) != 1:
            return None
        block = cast("list[JsonObject]", blocks)[0]
        text: JsonValue = block.get("text")
        return text if block.get("type") == "text" and isinstance(text, str) else None

    @cached_property
    def texts(self) -> list[str] | None:
        """The texts of all blocks; None where one is no text."""
        blocks: JsonValue = self._result.get("content")
        held = (
            [object_of(block).get("text") for block in cast("list[JsonValue]", blocks)]
            if isinstance(blocks, list)
            else []
        )
        return cast("list[str]", held) if all(isinstance(text, str) for text in held) else None

    @cached_property
    def structured(self) -> JsonObject | None:
        """The structured content."""
        found: JsonValue = self._result.get("structuredContent")
        return cast(JsonObject, found) if isinstance(found, dict) else None

    @cached_property
    def parsed(self) -> JsonValue:
        """The JSON object or list that the text is; None where it is neither."""
        if self.text is None or self.text[:1] not in ("{", "["):
            return None
        try:
            return json.loads(self.text)
        except (ValueError, RecursionError):
            return None

    @property
    def body(self) -> JsonValue:
        """What the reply says as JSON: its structured content, else the JSON in its text; None for words."""
        return self.parsed if self.structured is None else self.structured


@dataclass(frozen=True, eq=False)
class Observed:
    """A server: its captured manifest, its raw tool descriptors by name, and the calls of its tools."""

    manifest: ServerManifest
    tools: dict[str, JsonObject]
    calls: tuple[Call, ...]

    def calls_of(self, tool: str) -> list[Call]:
        """The calls of one tool, in order."""
        return [call for call in self.calls if call.tool == tool]

    def properties(self, tool: str) -> JsonObject:
        """The arguments of a tool, by name, with their schemas."""
        schema: JsonValue = self.tools[tool].get("inputSchema")
        found: JsonValue = cast(JsonObject, schema).get("properties") if isinstance(schema, dict) else None
        return cast(JsonObject, found) if isinstance(found, dict) else {}

    def required(self, tool: str) -> list[str]:
        """The names of the arguments that a tool cannot do without."""
        schema: JsonValue = self.tools[tool].get("inputSchema")
        found: JsonValue = cast(JsonObject, schema).get("required") if isinstance(schema, dict) else None
        return (
            [name for name in cast("list[JsonValue]", found) if isinstance(name, str)]
            if isinstance(found, list)
            else []
        )


def read_observed(manifest: Path, *, server: str | None = None, recordings: Sequence[Path] = ()) -> Observed:
    """What a manifest and recordings tell of one server; `server` names it where the manifest has several. Raises InputError."""
    servers = read_manifest(manifest).servers
    if server is None and len(servers) > 1:
        raise InputError(
            f"the manifest holds {len(servers)} servers",
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
    courses = [Course(name, found.exchanges, {})]
    for path in recordings:
        # A manifest given as a recording holds other servers as well; a relay's recording is of one, whatever it is called.
        courses += [course for course in read_courses(path) if path.suffix != ".json" or course.server == name]
    return Observed(found, tools, tuple(_calls(courses, tools)))


def _calls(courses: Sequence[Course], tools: dict[str, JsonObject]) -> list[Call]:
    found: list[Call] = []
    for index, course in enumerate(courses):
        for exchange in course.exchanges:
            tool: JsonValue = exchange.params.get("name")
            arguments: JsonValue = exchange.params.get("arguments")
            known = exchange.method == CALL and isinstance(tool, str) and tool in tools and tool != NO_TOOL
            if known and isinstance(arguments, dict | None):
                given = cast(JsonObject, arguments or {})
                found.append(Call(len(found) + 1, index, cast(str, tool), given, exchange.response))
    return found
