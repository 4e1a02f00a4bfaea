"""Find reads that can confirm a write, and judge by their records whether the write took effect."""

from collections.abc import Mapping
from enum import StrEnum

from simtrain.agents.plan import NEXT_CURSOR
from simtrain.agents.planned import Planned
from simtrain.agents.skills.memory import ReplyMemory, Seen, arguments_for, identity, records_in
from simtrain.agents.skills.messages import plain_texts
from simtrain.agents.skills.naming import form_of
from simtrain.agents.skills.state import HeardReply
from simtrain.files.json_schemas import properties_of, property_names
from simtrain.values.tool_words import singular, tool_words
from simtrain.values.types import JsonObject, JsonValue, ToolSpec, is_list, is_object

MOST = 2
OWN = 6
"""Score bonus of a read that names the record of the write itself."""


class WriteEvidence(StrEnum):
    """What a read says about a write."""

    done = "done"
    missing = "missing"
    nothing = "nothing"


def witnesses(write: Planned, reply: JsonObject, tools: Mapping[str, ToolSpec], memory: ReplyMemory) -> list[Planned]:
    """Return reads that could show a write, most likely first: they document the fields of its reply and name its records."""
    rows = list(records_in(reply, tool_words(write.tool).noun))
    reported = {name for seen in rows for name in seen.row} - {"id"}
    given = _related(write, rows, memory)
    found: list[tuple[int, Planned]] = []
    for tool in tools.values():
        arguments = None if tool.writes else arguments_for(tool, given)
        shared = len(set(property_names(tool.output_schema)) & reported)
        if arguments is None or not shared or not (arguments or _lists_such(tool, write)):
            continue
        # A read of the record itself is the best witness: its error, too, says something.
        own = sum(names_own(seen, arguments, write) for seen in rows)
        likeness = 2 * shared + len(arguments.keys() & write.arguments.keys()) + OWN * own
        found.append((likeness + (tool.server == write.tool.partition(".")[0]), Planned(tool.name, arguments)))
    # By name on a tie, so that the order of the offered tools does not matter.
    found.sort(key=lambda item: (-item[0], item[1].tool))
    before = [read for value in plain_texts(write.arguments) for read in memory.showing(value, but=write)[:1]]
    return [*(read for _, read in found[:MOST]), *before][: MOST + 1]


def _lists_such(tool: ToolSpec, write: Planned) -> bool:
    """True if a tool lists records of the kind that a write is about, and has no required arguments."""
    words = tool_words(tool.name)
    return words.intent == "list" and words.noun == tool_words(write.tool).noun


def _related(write: Planned, rows: list[Seen], memory: ReplyMemory) -> JsonObject:
    """Return arguments related to a write: its own, the ids in its reply, and those of the reads that found its records."""
    given: JsonObject = {}
    for value in write.arguments.values():
        for read in memory.showing(value, but=write)[:1] if isinstance(value, str) else ():
            given.update({name: item for name, item in read.arguments.items() if name.endswith("_id")})
        given.update({name: item for name, item in memory.record_of(value).items() if name.endswith("_id")})
    for seen in rows:
        given.update({name: item for name, item in seen.row.items() if name.endswith("_id")})
        if "id" in seen.row:
            given.update({f"{seen.kind}_id": seen.row["id"], seen.kind: seen.row["id"]})
    return {**given, **write.arguments}


def contradicted(write: Planned, reply: JsonObject) -> bool:
    """True if the reply to a write has another value for a field that was to be written."""
    outer: JsonObject = {name: value for name, value in reply.items() if not isinstance(value, dict | list)}
    own: JsonValue = reply.get(tool_words(write.tool).noun)
    reported = own if is_object(own) else outer
    return any(
        name in reported and type(reported[name]) is type(value) and reported[name] != value
        for name, value in write.arguments.items()
        if isinstance(value, str | int | float)
    )


def names_own(claim: Seen, arguments: JsonObject, write: Planned) -> bool:
    """True if the arguments name the record that the write claims to have created."""
    made = [value for name, value in claim.row.items() if name == "id" or name.endswith("_id")]
    return any(value in arguments.values() and value not in write.arguments.values() for value in made)


def shown(write: Planned, reply: JsonObject, read: Planned, seen: HeardReply, schema: JsonValue) -> WriteEvidence:
    """Return what a read says about a write: its record agrees, contradicts it, or is missing although it should be listed."""
    claims = list(records_in(_flat(reply), tool_words(write.tool).noun))
    if seen.content is None:
        # No earlier read can have found a new record by its own id.
        unknown = seen.is_error and any(names_own(claim, read.arguments, write) for claim in claims)
        return WriteEvidence.missing if unknown else WriteEvidence.nothing
    records = list(records_in(_flat(seen.content), tool_words(read.tool).noun))
    for claim in claims:
        for other in records:
            shared = _comparable(claim, other, write)
            if any(claim.row[name] != other.row[name] for name in shared):
                return WriteEvidence.missing
            # An id alone only says that there is such a record, not that it was changed.
            if len(shared) > 1:
                return WriteEvidence.done
    if any(_should_list(claim, seen.content, write, schema) for claim in claims):
        return WriteEvidence.missing
    return _written(write, read, records)


def _written(write: Planned, read: Planned, records: list[Seen]) -> WriteEvidence:
    """Return the evidence of a read of one record: the written texts are in the fields of their names, or not."""
    if tool_words(read.tool).intent != "get" or not set(read.arguments.values()) & set(plain_texts(write.arguments)):
        return WriteEvidence.nothing
    for name, value in write.arguments.items():
        if isinstance(value, str) and name not in read.arguments:
            under = [seen.row[name] for seen in records if name in seen.row]
            if under:
                return WriteEvidence.done if value in under else WriteEvidence.missing
    return WriteEvidence.nothing


def _comparable(claim: Seen, other: Seen, write: Planned) -> list[str]:
    """Return the fields in which a record must agree with a claim: all if both are the same record, only ids if the claim refers to it.

    Times are compared only if the write has set them.
    """
    own, theirs = identity(claim.row), identity(other.row)
    if theirs is None or claim.row.get(theirs[0]) != theirs[1]:
        return []
    given = list(write.arguments.values())
    return [
        name
        for name in claim.row.keys() & other.row.keys()
        if (own == theirs or name.endswith("_id")) and (not _is_moment(claim.row[name]) or claim.row[name] in given)
    ]


def _flat(value: JsonValue) -> JsonValue:
    """Return the value with nested objects that have no id flattened into their record (`state.name`)."""
    if is_list(value):
        return [_flat(item) for item in value]
    if not is_object(value):
        return value
    flat: JsonObject = {}
    for name, item in value.items():
        inner = _flat(item)
        if is_object(inner) and identity(inner) is None:
            flat.update({f"{name}.{part}": held for part, held in inner.items()})
        else:
            flat[name] = inner
    return flat


def _should_list(claim: Seen, content: JsonObject, write: Planned, schema: JsonValue) -> bool:
    """True if a list of records of the claim's form lacks the claim. Only a new id counts, not one that the write named."""
    own = identity(claim.row)
    if own is None or own[1] in write.arguments.values() or content.get(NEXT_CURSOR):
        return False
    documented = properties_of(schema)
    for name, value in content.items():
        if not is_list(value):
            continue
        ids = [row.get(own[0]) for row in value if is_object(row)]
        if ids:
            # Ids of another form belong to other records, whose absence proves nothing.
            return all(form_of(found) == form_of(own[1]) and found != own[1] for found in ids)
        promised = properties_of(documented.get(name, {}).get("items"))
        if claim.row.keys() <= promised.keys() and singular(name) == tool_words(write.tool).noun:
            return True
    return False


def _is_moment(value: JsonValue) -> bool:
    return isinstance(value, str) and len(value) > 15 and value[4:5] == "-" and value[10:11] == "T"
