"""The tools of one served address: their names on the wire, and their descriptors, verbatim where they were captured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from simtrain.values.types import JsonObject, ToolSpec

JOIN = "__"
"""Between server and tool at an address that serves the tools of several servers."""


@dataclass(frozen=True)
class WireTools:
    """The tools of one address: `native` maps names on the wire to tools of the world, `own` descriptors that were made here."""

    native: Mapping[str, ToolSpec]
    own: Mapping[str, JsonObject]

    @property
    def names(self) -> dict[str, str]:
        """Native name -> name on the wire."""
        return {tool.name: name for name, tool in self.native.items()}


def servers_of(tools: Sequence[ToolSpec]) -> list[str]:
    """Return the servers that offer tools, in order; the empty name means tools without a server."""
    return list(dict.fromkeys(tool.server for tool in tools))


def wire_tools(
    tools: Sequence[ToolSpec], descriptors: Mapping[str, JsonObject], *, server: str | None = None
) -> WireTools:
    """Return the tools of `server` under their plain names, or of all servers, named `server__tool` where there are several."""
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
    """Return what every MCP descriptor of a tool says (name, description, schemas), and whether it writes."""
    descriptor: JsonObject = {"name": tool.name, "description": tool.description, "inputSchema": tool.input_schema}
    if tool.output_schema is not None:
        descriptor["outputSchema"] = tool.output_schema
    return {**descriptor, "annotations": {"readOnlyHint": not tool.writes}}
