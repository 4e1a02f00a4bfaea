"""Find elsewhere what a reply lacks: other reads that may have it, single fields, a whole reconstructed reply."""

from collections.abc import Collection, Mapping

from simtrain.agents.plan import NEXT_CURSOR
from simtrain.agents.planned import Planned
from simtrain.agents.skills.memory import ReplyMemory, Seen, arguments_for, identity
from simtrain.agents.skills.messages import plain_texts
from simtrain.files.json_schemas import properties_of, property_names
from simtrain.values.tool_words import singular, tool_words
from simtrain.values.types import JsonObject, JsonValue, ToolSpec

_NO_FILTERS = frozenset({"cursor", "limit"})


def sources(
    wanted: frozenset[str],
    given: Mapping[str, JsonValue],
    tools: Mapping[str, ToolSpec],
    memory: ReplyMemory,
    *,
    but: str,
) -> list[Planned]:
    """Return reads that document the wanted fields and whose arguments are known, most likely first."""
    found: list[tuple[int, Planned]] = []
    for tool in tools.values():
        arguments = None if tool.writes or tool.name == but else arguments_for(tool, given, memory.known)
        if arguments is None:
            continue
        shared = set(property_names(tool.output_schema)) & wanted - {"id"}
        if shared:
            likeness = 3 * len(shared) + 2 * len(arguments.keys() & given.keys())
            found.append((likeness + (tool.server == but.partition(".")[0]), Planned(tool.name, arguments)))
    found.sort(key=lambda item: (-item[0], item[1].tool))
    return [read for _, read in found]


def known_of(seen: Seen, names: Collection[str], memory: ReplyMemory, *, by: str = "") -> JsonObject:
    """Return the latest values of some fields in other records of the same entity.

    A record without an id is identified by the field `by`, among records of its kind.
    """
    own = own_name(seen)
    found: JsonObject = {}
    # From the latest to the first, and what is found first wins: older values only fill gaps.
    for other in reversed(memory.seen):
        alike = other.kind == seen.kind and by in seen.row and other.row.get(by) == seen.row[by]
        if alike if own is None else own == own_name(other):
            found = {name: other.whole[name] for name in names if name in other.whole} | found
    return found


def own_name(seen: Seen) -> tuple[str, JsonValue] | None:
    """Return the field that identifies a record, and its value: `id`, the id of its kind, or its first id."""
    row = seen.row
    own: JsonValue = row.get(f"{seen.kind}_id", row.get("id"))
    if own is not None:
        return seen.kind, own
    found = identity(row)
    return None if found is None else (found[0].removesuffix("_id"), found[1])


def asking_for(record: JsonObject, kind: str) -> JsonObject:
    """Return the fields of a record as arguments; its id is also given as the id of its kind."""
    given = {name: value for name, value in record.items() if isinstance(value, str | int) and value != ""}
    return {**given, f"{kind}_id": given["id"], kind: given["id"]} if "id" in given else given


def rebuilt(planned: Planned, tool: ToolSpec, needed: frozenset[str], memory: ReplyMemory) -> JsonObject | None:
    """Return the reply to a read, reconstructed from records seen elsewhere; None if they lack a needed field."""
    schema: JsonObject = tool.output_schema or {}
    content: JsonObject = {}
    for name, member in properties_of(schema).items():
        documented = _documented(member)
        if name == NEXT_CURSOR:
            content[name] = None
        elif not documented:
            if name in needed:
                single = _matching(
                    frozenset(schema["properties"]) & needed, planned, memory, tool_words(tool.name).noun
                )
                value = next((row[name] for row in single if name in row), None)
                if value is None:
                    return None
                content[name] = value
        elif name in needed:
            rows = _matching(frozenset(documented) & needed, planned, memory, singular(name))
            if not rows:
                return None
            content[name] = rows if member.get("type") == "array" else rows[0]
    return content or None


def completed(write: Planned, reported: JsonObject, schema: JsonObject, memory: ReplyMemory) -> JsonObject:
    """Return the known reply to a write, completed with the latest form of the records that its schema declares."""
    content = dict(reported)
    ours = set(plain_texts(write.arguments))
    rows = [seen for seen in reversed(memory.seen) if ours & {*plain_texts(seen.row)}]
    for name, member in properties_of(schema).items():
        documented = _documented(member)
        if documented:
            fitting = [seen for seen in rows if seen.kind in (name, singular(name), tool_words(write.tool).noun)]
            row = max(fitting, key=lambda seen: len(seen.row.keys() & documented.keys()), default=None)
            if row is not None and not isinstance(content.get(name), dict | list):
                content[name] = [row.row] if member.get("type") == "array" else row.row
        elif name not in content:
            value = next((seen.row[name] for seen in rows if name in seen.row), None)
            if value is not None:
                content[name] = value
    return content


def _documented(member: JsonObject) -> JsonObject:
    """Return the fields that a schema declares for a record, or for the records of a list."""
    return properties_of(member.get("items") if member.get("type") == "array" else member)


def _matching(names: frozenset[str], planned: Planned, memory: ReplyMemory, kind: str) -> list[JsonObject]:
    """Return the records of a kind that have some fields and match the arguments, the latest form of each, in order
    of arrival.
    """
    found: dict[object, JsonObject] = {}
    for seen in memory.seen:
        if seen.kind == kind and names <= seen.row.keys() and _goes_with(seen, planned.arguments):
            # By the first field, by custom the id: a later form of the same record replaces the earlier one.
            found[next(iter(seen.row.values()))] = seen.row
    return list(found.values())


def _goes_with(seen: Seen, arguments: Mapping[str, JsonValue]) -> bool:
    return all(_meets(seen, name, value) for name, value in arguments.items() if name not in _NO_FILTERS)


def _meets(seen: Seen, name: str, value: JsonValue) -> bool:
    """True if a record matches one argument: by the field of that name, by its id, or by a text that it contains."""
    row = seen.row
    if name in row:
        return row[name] == value
    if name in (f"{seen.kind}_id", seen.kind):
        return value in row.values()
    return not isinstance(value, str) or any(value.lower() in text.lower() for text in plain_texts(row))
