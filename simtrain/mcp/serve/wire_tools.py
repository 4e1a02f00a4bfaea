"""The tools of one served address: names on the wire, and descriptors, with captured fields verbatim."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from simtrain.values.types import JsonObject, JsonValue, ToolSpec, as_object, is_object

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
        # Before `further`: a captured annotation wins over what is derived here.
        hints = {"readOnlyHint": not tool.writes}
        own[name] = {**descriptor_of(tool), "annotations": hints, **further, "name": name}
    return WireTools(native, own)


def descriptor_of(tool: ToolSpec) -> JsonObject:
    """Return what every MCP descriptor of a tool says: name, description, schemas."""
    descriptor: JsonObject = {"name": tool.name, "description": tool.description, "inputSchema": tool.input_schema}
    return descriptor if tool.output_schema is None else {**descriptor, "outputSchema": tool.output_schema}


def tool_of(descriptor: JsonObject) -> ToolSpec:
    """Return the tool of a raw descriptor. Without `readOnlyHint` it is taken to write."""
    output: JsonValue = descriptor.get("outputSchema")
    return ToolSpec(
        name=str(descriptor.get("name")),
        description=str(descriptor.get("description") or ""),
        input_schema=as_object(descriptor.get("inputSchema")),
        output_schema=output if is_object(output) else None,
        writes=as_object(descriptor.get("annotations")).get("readOnlyHint") is not True,
    )
