"""Rows of tables as replies show them: which keys, in which order, and the SQL that makes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from simtrain.serving.draft.forms import identifier, literal, plain
from simtrain.serving.draft.history import History
from simtrain.serving.draft.lives import Table
from simtrain.types import JsonObject, JsonValue


class Unexplained(Exception):
    """A part of a reply that no SQL over the tables was found for; `str` says which."""


@dataclass(frozen=True)
class Key:
    """A key of a shown row. `sql` makes its value; `kind` says whether that is JSON text, 1 and 0 for a boolean, or as it is."""

    name: str
    sql: str
    kind: str
    optional: bool

    def column(self) -> str:
        """As a column of a SELECT."""
        marks = {"json": ":json", "boolean": ":bool"}.get(self.kind, "") + (":optional" if self.optional else "")
        if not marks and self.sql == identifier(self.name):
            return self.sql
        alias = identifier(self.name) if not marks else '"' + self.name.replace('"', '""') + marks + '"'
        return f"{self.sql} as {alias}"

    def pair(self) -> str:
        """As an argument of json_object."""
        return f"{literal(self.name)}, {json_sql(self.sql, self.kind)}"


def json_sql(sql: str, kind: str) -> str:
    """An expression as a part of a JSON value."""
    if kind == "json":
        return f"json({sql})"
    if kind == "boolean":
        return f"case {sql} when 1 then json('true') when 0 then json('false') end"
    return sql


def keys_of(history: History, table: Table, objects: Sequence[JsonObject]) -> list[Key]:
    """The keys that rows of a table are shown with. Raises Unexplained."""
    named = _merged([list(shown) for shown in objects])
    return [_key(history, table, name, objects) for name in named]


def object_sql(keys: Sequence[Key]) -> str:
    """One row as a JSON object."""
    made = f"json_object({', '.join(key.pair() for key in keys)})"
    return f"json_patch('{{}}', {made})" if any(key.optional for key in keys) else made


def _key(history: History, table: Table, name: str, objects: Sequence[JsonObject]) -> Key:
    optional = any(name not in shown for shown in objects)
    values = [shown[name] for shown in objects if name in shown]
    if name in table.columns:
        return Key(name, identifier(name), table.columns[name], optional)
    if _is_id(table, name):
        return Key(name, identifier(table.id), "text", optional)
    nested = _nested(history, table, name, values)
    if nested is not None:
        return Key(name, nested, "json", optional)
    if all(value == values[0] for value in values):
        kind = "json" if isinstance(values[0], list | dict) else "boolean" if isinstance(values[0], bool) else "text"
        return Key(name, literal(values[0]), kind, optional)
    raise Unexplained(f"the key {name!r} of a {table.kind}")


def _is_id(table: Table, name: str) -> bool:
    return plain(name) in ("id", "uuid", f"{plain(table.kind)}id") and table.id not in (name,)


def _nested(history: History, table: Table, name: str, values: Sequence[JsonValue]) -> str | None:
    """The records that stand in a row: those of a table that refers to it, or the one that it refers to."""
    lists = [cast("list[JsonObject]", value) for value in values if isinstance(value, list) and value]
    singles = [cast(JsonObject, value) for value in values if isinstance(value, dict)]
    for other in history.tables.values():
        if lists and other.parent is table and other.parent_column and _shows(other, lists[0][0]):
            keys = keys_of(history, other, [item for items in lists for item in items])
            belongs = f"{identifier(other.parent_column)} = {identifier(table.name)}.{identifier(table.id)}"
            inner = f"select * from {identifier(other.name)} where {belongs} order by rowid"
            return f"(select json_group_array({object_sql(keys)}) from ({inner}))"
        reference = f"{name}_id"
        if singles and reference in table.columns and _shows(other, singles[0]):
            keys = keys_of(history, other, singles)
            return (
                f"(select {object_sql(keys)} from {identifier(other.name)} "
                f"where {identifier(other.id)} = {identifier(table.name)}.{identifier(reference)})"
            )
    return None


def _shows(table: Table, shown: JsonValue) -> bool:
    """Whether an object is a row of a table: its id is, and most of its keys are columns."""
    if not isinstance(shown, dict):
        return False
    held = cast(JsonObject, shown)
    known = [name for name in held if name in table.columns or _is_id(table, name)]
    identity = next((held[name] for name in held if name == table.id or _is_id(table, name)), None)
    return identity is not None and any(life.id == identity for life in table.lives) and 2 * len(known) > len(held)


def table_of_object(history: History, shown: JsonValue) -> Table | None:
    """The table that an object is a row of."""
    return next((table for table in history.tables.values() if _shows(table, shown)), None)


def identity_of(table: Table, shown: JsonObject) -> JsonValue:
    """The id of a shown row."""
    return next((shown[name] for name in shown if name == table.id or _is_id(table, name)), None)


def _merged(orders: Sequence[Sequence[str]]) -> list[str]:
    """All names, in an order that agrees with the longest list; others come after the one that they follow."""
    found: list[str] = list(max(orders, key=len)) if orders else []
    for names in orders:
        for place, name in enumerate(names):
            if name not in found:
                before = found.index(names[place - 1]) + 1 if place and names[place - 1] in found else 0
                found.insert(before, name)
    return found
