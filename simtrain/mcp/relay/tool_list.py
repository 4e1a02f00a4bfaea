"""Raw tool lists and the tools in them. Changes by perturbations are written back without touching anything else."""

from __future__ import annotations

from collections.abc import Sequence

from simtrain.values.types import JsonObject, JsonValue, ToolSpec, as_object, is_object


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


def rewritten(
    descriptors: Sequence[JsonObject], tools: Sequence[ToolSpec], offered: Sequence[ToolSpec]
) -> list[JsonObject]:
    """Return the raw descriptors for the offered tools. `tools` holds those of `descriptors`, in the same order."""
    # By identity: a tool that no perturbation replaced keeps its descriptor with all unknown fields.
    raw = {id(tool): descriptor for tool, descriptor in zip(tools, descriptors, strict=True)}
    by_name = {tool.name: tool for tool in tools}
    return [raw[id(tool)] if id(tool) in raw else _changed(raw, by_name.get(tool.name), tool) for tool in offered]


def _changed(raw: dict[int, JsonObject], before: ToolSpec | None, tool: ToolSpec) -> JsonObject:
    changed = {"name": tool.name, "description": tool.description, "inputSchema": tool.input_schema}
    if tool.output_schema is not None:
        changed["outputSchema"] = tool.output_schema
    if before is None:
        return changed
    old = {"description": before.description, "inputSchema": before.input_schema, "outputSchema": before.output_schema}
    return raw[id(before)] | {key: value for key, value in changed.items() if key in old and value != old[key]}
