"""What can be called in the place of a call, or beside it: stand-ins, reads, and arguments filled from what is known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from simtrain.agents.plan import NEXT_CURSOR, Planned
from simtrain.agents.recovery import mend
from simtrain.contracts.scenario import Episode
from simtrain.contracts.world import World
from simtrain.files.json_schemas import property_names
from simtrain.values.entities import kind_under
from simtrain.values.types import JsonObject, JsonValue, ToolSpec, is_list, is_object

MOST_PAGES = 40


def added_tools(offered: tuple[ToolSpec, ...], world: World) -> tuple[ToolSpec, ...]:
    """Return the tools that the world does not have: a perturbation offers them."""
    own = {tool.name for tool in world.tools}
    return tuple(tool for tool in offered if tool.name not in own)


def stand_ins(planned: Planned, offered: tuple[ToolSpec, ...], episode: Episode, world: World) -> Iterator[Planned]:
    """Yield the same call of other tools: those that the scenario names as equivalent, then those that a perturbation offers."""
    original = next((tool for tool in world.tools if tool.name == planned.tool), None)
    if original is None:
        return
    by_name = {tool.name: tool for tool in offered}
    for name in episode.scenario.spec.equivalents.get(planned.tool, []):
        if name in by_name:
            yield Planned(name, mend(planned.arguments, by_name[name].input_schema))
    added = added_tools(offered, world)
    for tool in sorted(
        added,
        key=lambda tool: (not tool.description.startswith(original.description), tool.server != original.server),
    ):
        if tool.writes is original.writes:
            same = translated(planned, original, tool)
            yield same
            more = {name: _allowed(_schemas(tool)[name]) for name in _properties(tool)[len(_properties(original)) :]}
            if more:
                yield Planned(same.tool, {**more, **same.arguments})


def translated(planned: Planned, original: ToolSpec, other: ToolSpec) -> Planned:
    """Return a call in the terms of another tool: parameters of the same name, else those in the same place of the schema."""
    theirs, ours = _properties(other), _properties(original)
    if set(planned.arguments) <= set(theirs):
        return Planned(other.name, planned.arguments)
    if len(theirs) < len(ours):
        return Planned(other.name, mend(planned.arguments, other.input_schema))
    # What a server asks for beside the tool's own arguments comes after them.
    names = dict(zip(ours, theirs, strict=False))
    return Planned(other.name, {names.get(name, name): value for name, value in planned.arguments.items()})


def completed(planned: Planned, original: ToolSpec, offered: ToolSpec) -> Planned:
    """Return the call with a value for every argument that the tool has beyond those of the world's own: one that its schema allows."""
    own = set(_properties(original))
    more = {name: _allowed(schema) for name, schema in _schemas(offered).items() if name not in own}
    return Planned(planned.tool, {**planned.arguments, **more})


_PLAIN: dict[str, JsonValue] = {"integer": 1, "number": 1, "boolean": True, "array": [], "object": {}}


def _allowed(schema: JsonObject) -> JsonValue:
    """Return some value that a schema allows: the first that it names, else one of its type."""
    named = [*schema.get("enum", []), *schema.get("examples", [])]
    if "const" in schema or "default" in schema or named:
        return schema.get("const", schema.get("default", named[0] if named else None))
    return _PLAIN.get(str(schema.get("type")), "as asked")


def next_page(planned: Planned, content: JsonObject | None) -> Planned | None:
    """Return the call for the next page, where a reply names one."""
    cursor: JsonValue = (content or {}).get(NEXT_CURSOR)
    return None if cursor is None else Planned(planned.tool, {**planned.arguments, "cursor": cursor})


def reads(planned: Planned, offered: tuple[ToolSpec, ...], known: JsonObject, wanted: frozenset[str]) -> list[Planned]:
    """Reads that may tell the wanted fields, whose required arguments are known, the likeliest first."""
    server = planned.tool.partition(".")[0]
    found: list[tuple[int, Planned]] = []
    for tool in offered:
        arguments = None if tool.writes else filled(tool, planned, known)
        if arguments is None or Planned(tool.name, arguments) == planned:
            continue
        shared = len(set(property_names(tool.output_schema)) & wanted) + len(
            arguments.keys() & planned.arguments.keys()
        )
        found.append((-(2 * shared + (tool.server == server)), Planned(tool.name, arguments)))
    found.sort(key=lambda item: (item[0], item[1].tool))
    return [read for _, read in found]


def records_of(content: JsonValue) -> list[JsonObject]:
    """Return the records in the lists of a reply, each as what is known of it: its fields, and its id as that of its kind."""
    found: list[JsonObject] = []
    for key, value in (content if is_object(content) else {}).items():
        for item in value if is_list(value) else []:
            if is_object(item):
                record, kind = item, kind_under(key)
                own: JsonValue = record.get("id")
                found.append(record if own is None else {**record, kind: own, f"{kind}_id": own})
    return found


def names_one(read: Planned, own: frozenset[str]) -> bool:
    """True if a read is asked with what one record says of itself."""
    return any(isinstance(value, str) and value in own for value in read.arguments.values())


def filled(tool: ToolSpec, planned: Planned, known: Mapping[str, JsonValue]) -> JsonObject | None:
    """Arguments for a tool: those of the call that it shares, and the other required ones as last heard of; None if one is unknown."""
    arguments: JsonObject = {name: planned.arguments[name] for name in _properties(tool) if name in planned.arguments}
    for name in tool.input_schema.get("required", []):
        if name not in arguments:
            if name not in known:
                return None
            arguments[name] = known[name]
    return arguments


def _properties(tool: ToolSpec) -> list[str]:
    return list(_schemas(tool))


def _schemas(tool: ToolSpec) -> JsonObject:
    return tool.input_schema.get("properties", {})
