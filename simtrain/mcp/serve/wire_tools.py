"""The tools of one served address: names on the wire, and descriptors, with captured fields verbatim."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from simtrain.values.types import JsonObject, ToolSpec

JOIN = "__"
"""Joins server and tool at an address with the tools of several servers."""


@dataclass(frozen=True)
class WireTools:
    """The tools of one address: `native` maps a name on the wire to the world's tool, `own` to the descriptor made here."""

    native: Mapping[str, ToolSpec]
    own: Mapping[str, JsonObject]

    @property
    def names(self) -> dict[str, str]:
        """Name in the world -> name on the wire."""
        return {tool.name: name for name, tool in self.native.items()}


def servers_of(tools: Sequence[ToolSpec]) -> list[str]:
    """Return the servers of some tools, in order; an empty name stands for tools without a server."""
    return list(dict.fromkeys(tool.server for tool in tools))


def wire_tools(
    tools: Sequence[ToolSpec], descriptors: Mapping[str, JsonObject], *, server: str | None = None
) -> WireTools:
    """Return the tools of `server` under their plain names, or of all servers, as `server__tool` if there are several."""
    several = server is None and len(servers_of(tools)) > 1
    native: dict[str, ToolSpec] = {}
    own: dict[str, JsonObject] = {}
    for tool in tools:
        if server is not None and tool.server != server:
            continue
        further = descriptors.get(tool.name, {})
        plain = further.get("name", tool.name.rpartition(".")[2])
        name = f"{tool.server}{JOIN}{plain}" if several and tool.server else plain
        native[name] = tool
        own[name] = {**_descriptor(tool), **further, "name": name}
    return WireTools(native, own)


def _descriptor(tool: ToolSpec) -> JsonObject:
    """Return the basic MCP descriptor of a tool: name, description, schemas, and the read-only hint."""
    descriptor: JsonObject = {"name": tool.name, "description": tool.description, "inputSchema": tool.input_schema}
    if tool.output_schema is not None:
        descriptor["outputSchema"] = tool.output_schema
    return {**descriptor, "annotations": {"readOnlyHint": not tool.writes}}
