"""Alternatives to a call, and calls that support it: stand-ins, reads, arguments filled from what is known."""

from collections.abc import Iterable, Iterator, Mapping

from simtrain.agents.plan import NEXT_CURSOR, Planned
from simtrain.agents.recovery import mend
from simtrain.agents.skills.fixing import allowed_value
from simtrain.agents.skills.stand_ins import equivalent_calls
from simtrain.files.json_schemas import properties_of, property_names
from simtrain.values.entities import kind_under
from simtrain.values.types import JsonObject, JsonValue, ToolSpec, as_object, is_list, is_object

MOST_PAGES = 40


def stand_ins(
    planned: Planned, offered: Mapping[str, ToolSpec], own: Mapping[str, ToolSpec], equivalents: Mapping[str, list[str]]
) -> Iterator[Planned]:
    """Yield the same call of other tools: those that the scenario names as equivalent, then those that a perturbation offers.

    `own` are the tools of the world itself.
    """
    original = own.get(planned.tool)
    if original is None:
        return
    yield from equivalent_calls(planned, offered, equivalents.get(planned.tool, []))
    for tool in sorted(
        (tool for name, tool in offered.items() if name not in own),
        key=lambda tool: (not tool.description.startswith(original.description), tool.server != original.server),
    ):
        if tool.writes is original.writes:
            same = translated(planned, original, tool)
            yield same
            # What is asked for beside the tool's own arguments comes after them.
            added = list(properties_of(tool.input_schema).items())[len(properties_of(original.input_schema)) :]
            if added:
                yield Planned(same.tool, {**{name: allowed_value(schema) for name, schema in added}, **same.arguments})


def translated(planned: Planned, original: ToolSpec, other: ToolSpec) -> Planned:
    """Return a call in the terms of another tool: parameters of the same name, else those in the same place of the schema."""
    theirs, ours = list(properties_of(other.input_schema)), list(properties_of(original.input_schema))
    if set(planned.arguments) <= set(theirs):
        return Planned(other.name, planned.arguments)
    if len(theirs) < len(ours):
        return Planned(other.name, mend(planned.arguments, other.input_schema))
    # What a server asks for beside the tool's own arguments comes after them.
    names = dict(zip(ours, theirs, strict=False))
    return Planned(other.name, {names.get(name, name): value for name, value in planned.arguments.items()})


def completed(planned: Planned, original: ToolSpec, offered: ToolSpec) -> Planned:
    """Return the call with a value for every argument that the tool has beyond those of the world's own: one that its schema allows."""
    own = properties_of(original.input_schema)
    more = {
        name: allowed_value(schema) for name, schema in properties_of(offered.input_schema).items() if name not in own
    }
    return Planned(planned.tool, {**planned.arguments, **more})


def next_page(planned: Planned, content: JsonObject | None) -> Planned | None:
    """Return the call for the next page, where a reply names one."""
    cursor: JsonValue = (content or {}).get(NEXT_CURSOR)
    return None if cursor is None else Planned(planned.tool, {**planned.arguments, "cursor": cursor})


def reads(planned: Planned, offered: Iterable[ToolSpec], known: JsonObject, wanted: frozenset[str]) -> list[Planned]:
    """Return reads that may tell the wanted fields, whose required arguments are known, the likeliest first."""
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
    for key, value in (as_object(content)).items():
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
    """Return arguments for a tool: those of the call that it shares, and the other required ones as last seen; None if one is unknown."""
    arguments: JsonObject = {
        name: planned.arguments[name] for name in properties_of(tool.input_schema) if name in planned.arguments
    }
    for name in tool.input_schema.get("required", []):
        if name not in arguments:
            if name not in known:
                return None
            arguments[name] = known[name]
    return arguments
