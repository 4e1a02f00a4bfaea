"""Finds the fields of list items that another read tool also returns, so that the list may leave them out."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

from simtrain.files.json_schemas import properties_of
from simtrain.values.entities import IDS, kind_under
from simtrain.values.tool_words import tool_words
from simtrain.values.types import JsonValue, ToolSpec, as_object

Hidden: TypeAlias = Mapping[str, frozenset[str]]
"""Name of a list -> the fields of its records that another tool returns; `*` for all but names, if no schema lists fields."""

ALL = frozenset({"*"})
NAMES = frozenset({*IDS, "title", "subject", "label", "handle", "login", "locator", "sku", "code", "ts", "email"})
_WORDS = frozenset({"query", "q", "text", "name", "search", "term", "title"})
_OWN = frozenset({
    "status", "state", "kind", "type", "role", "position", "active", "archived", "created_at", "updated_at", "created_on", "note",
    "quantity",
})  # fmt: skip
"""Fields with a different meaning for each kind of record, although they have the same name."""

_KEPT = 8

# By identity, not by value: comparing schemas on each call would cost more than the computation.
_found: list[tuple[tuple[ToolSpec, ...], dict[str, Hidden]]] = []


def hidden_in(tools: tuple[ToolSpec, ...]) -> dict[str, Hidden]:
    """Return, by tool, what its lists may leave out because another tool shows it; tools without such fields are
    absent.
    """
    for known, hidden in _found:
        if len(known) == len(tools) and all(one is other for one, other in zip(known, tools, strict=True)):
            return hidden
    hidden = _hidden(tools)
    _found.append((tools, hidden))
    # Worlds come and go in a long run; without a bound each one's tools would stay in memory.
    del _found[:-_KEPT]
    return hidden


def is_name(name: str) -> bool:
    """Return True if a field identifies its record."""
    plain = name.lower()
    return plain in NAMES or plain.endswith("_id")


@dataclass
class _Record:
    """A kind of record that a tool returns: its key, whether it is in a list, and its fields."""

    tool: ToolSpec
    key: str
    listed: bool
    fields: frozenset[str]
    promised: set[str] = field(default_factory=set[str])
    """Fields that another list leaves out because this tool returns them."""

    @cached_property
    def kind(self) -> str:
        """The kind of the record."""
        return kind_under(self.key) or tool_words(self.tool.name).noun

    @cached_property
    def names(self) -> frozenset[str]:
        """The fields that identify the record."""
        return frozenset(name for name in self.fields if is_name(name))


def _hidden(tools: Sequence[ToolSpec]) -> dict[str, Hidden]:
    reading = [tool for tool in tools if not tool.writes]
    records = [record for tool in reading for record in _records(tool)]
    found: dict[str, Hidden] = {tool.name: {"*": ALL} for tool in reading if _opened_by_name(tool, reading)}
    for record in (record for record in records if record.listed):
        # Two lists that show the same fields must not both refer to the other one.
        left = frozenset(_left_out(record, records, found)) - record.promised
        if left:
            found[record.tool.name] = {**found.get(record.tool.name, {}), record.key: left}
    return found


def _left_out(record: _Record, records: Sequence[_Record], found: Mapping[str, Hidden]) -> Iterator[str]:
    """Yield the fields of a list's records that another tool returns for a single record; that tool must go on returning them."""
    covered = set[str]()
    # Single records first: what they return need not be promised by another list.
    for other in sorted(records, key=lambda other: other.listed):
        if other.tool is record.tool or not _is_same(record, other) or not _opens(other.tool, record):
            continue
        gone = found.get(other.tool.name, {}).get(other.key, frozenset()) if other.listed else frozenset[str]()
        asked_with = frozenset(properties_of(other.tool.input_schema))
        # An order's status says nothing about the status of its customer.
        other_things = frozenset[str]() if record.kind == other.kind else _OWN
        shared = {name for name in record.fields & other.fields - gone - asked_with - other_things if not is_name(name)}
        other.promised |= shared - record.promised - covered
        covered |= shared
        yield from shared


def _is_same(record: _Record, other: _Record) -> bool:
    """Return True if two tools show the same record of the same kind."""
    own = {name for name in record.names & other.names if name.endswith("_id") or name not in IDS}
    return bool(own) or (record.kind == other.kind and bool(record.names & other.names))


def _opens(tool: ToolSpec, record: _Record) -> bool:
    """Return True if a tool can be called for one record of a list, with values from the list or from the call of the list."""
    arguments = properties_of(tool.input_schema)
    required: list[str] = tool.input_schema.get("required") or []
    given = set(properties_of(record.tool.input_schema))
    stated = [name for name in arguments if _is_known(name, record)]
    return bool(stated) and all(name in stated or name in given for name in required)


def _is_known(argument: str, record: _Record) -> bool:
    """Return True if a record has a value for an argument: a field of that name, its id, or a name to search by."""
    if argument in record.names:
        return True
    if argument in (record.kind, f"{record.kind}_id") and not record.names.isdisjoint(IDS):
        return True
    return argument in _WORDS and not record.names.isdisjoint(("name", "title", "subject"))


def _opened_by_name(tool: ToolSpec, reading: Sequence[ToolSpec]) -> bool:
    """Return True if a tool without output fields lists or searches what another one shows singly, judging by their names."""
    words = tool_words(tool.name)
    if tool.output_schema is not None or words.intent not in ("list", "search"):
        return False
    others = (tool_words(other.name) for other in reading)
    return any(other.intent == "get" and other.noun == words.noun for other in others)


def _records(tool: ToolSpec) -> Iterator[_Record]:
    if tool.output_schema is not None:
        yield from _within(tool, tool.output_schema, "", listed=False)


def _within(tool: ToolSpec, schema: JsonValue, key: str, *, listed: bool) -> Iterator[_Record]:
    shape = as_object(schema)
    properties = properties_of(shape)
    if properties:
        yield _Record(tool, key, listed, frozenset(properties))
    for name, inner in properties.items():
        yield from _within(tool, inner, name, listed=listed)
    if "items" in shape:
        yield from _within(tool, shape["items"], key, listed=True)
