"""Alternatives to a call, and calls that support it: equivalent tools, reads, arguments filled from known values."""

from collections.abc import Iterable, Iterator, Mapping

from simtrain.agents.plan import NEXT_CURSOR
from simtrain.agents.planned import Planned
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
    """Yield the same call to other tools: those that the scenario declares equivalent, then those that a perturbation added.

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
        # A read cannot stand in for a write, and a write must not stand in for a read.
        if tool.writes is original.writes:
            same = translated(planned, original, tool)
            yield same
            # Arguments added by a perturbation come after the tool's own.
            added = list(properties_of(tool.input_schema).items())[len(properties_of(original.input_schema)) :]
            if added:
                yield Planned(same.tool, {**{name: allowed_value(schema) for name, schema in added}, **same.arguments})


def translated(planned: Planned, original: ToolSpec, other: ToolSpec) -> Planned:
    """Translate a call to another tool: parameters match by name, else by their place in the schema."""
    theirs, ours = list(properties_of(other.input_schema)), list(properties_of(original.input_schema))
    if set(planned.arguments) <= set(theirs):
        return Planned(other.name, planned.arguments)
    if len(theirs) < len(ours):
        return Planned(other.name, mend(planned.arguments, other.input_schema))
    # Arguments added by a server come after the tool's own.
    names = dict(zip(ours, theirs, strict=False))
    return Planned(other.name, {names.get(name, name): value for name, value in planned.arguments.items()})


def completed(planned: Planned, original: ToolSpec, offered: ToolSpec) -> Planned:
    """Return the call with an allowed value for every argument that the tool has in addition to the world's own."""
    own = properties_of(original.input_schema)
    more = {
        name: allowed_value(schema) for name, schema in properties_of(offered.input_schema).items() if name not in own
    }
    return Planned(planned.tool, {**planned.arguments, **more})


def next_page(planned: Planned, content: JsonObject | None) -> Planned | None:
    """Return the call for the next page, if the reply names one."""
    cursor: JsonValue = (content or {}).get(NEXT_CURSOR)
    return None if cursor is None else Planned(planned.tool, {**planned.arguments, "cursor": cursor})


def reads(planned: Planned, offered: Iterable[ToolSpec], known: JsonObject, wanted: frozenset[str]) -> list[Planned]:
    """Return reads that may have the wanted fields and whose required arguments are known, most likely first."""
    server = planned.tool.partition(".")[0]
    found: list[tuple[int, Planned]] = []
    for tool in offered:
        arguments = None if tool.writes else filled(tool, planned, known)
        # The call itself is what failed.
        if arguments is None or Planned(tool.name, arguments) == planned:
            continue
        shared = len(set(property_names(tool.output_schema)) & wanted) + len(
            arguments.keys() & planned.arguments.keys()
        )
        found.append((-(2 * shared + (tool.server == server)), Planned(tool.name, arguments)))
    found.sort(key=lambda item: (item[0], item[1].tool))
    return [read for _, read in found]


def records_of(content: JsonValue) -> list[JsonObject]:
    """Return the records in the lists of a reply, each with its fields and its id also as the id of its kind."""
    found: list[JsonObject] = []
    for key, value in (as_object(content)).items():
        for item in value if is_list(value) else []:
            if is_object(item):
                record, kind = item, kind_under(key)
                own: JsonValue = record.get("id")
                found.append(record if own is None else {**record, kind: own, f"{kind}_id": own})
    return found


def names_one(read: Planned, own: frozenset[str]) -> bool:
    """True if a read's arguments identify one record by its own values."""
    return any(isinstance(value, str) and value in own for value in read.arguments.values())


def filled(tool: ToolSpec, planned: Planned, known: Mapping[str, JsonValue]) -> JsonObject | None:
    """Return arguments for a tool: those shared with the call, other required ones as last seen; None if one is unknown."""
    arguments: JsonObject = {
        name: planned.arguments[name] for name in properties_of(tool.input_schema) if name in planned.arguments
    }
    for name in tool.input_schema.get("required", []):
        if name not in arguments:
            if name not in known:
                return None
            arguments[name] = known[name]
    return arguments
