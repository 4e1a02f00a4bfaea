"""The statements of tools that make, change and take away rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

from simtrain.serving.draft.forms import identifier, is_bindable, literal, moment_sql, wrapped
from simtrain.serving.draft.ids import NewId
from simtrain.serving.draft.lives import UNKNOWN, Life, Table
from simtrain.serving.draft.observed import Call
from simtrain.serving.draft.order import enumerated
from simtrain.serving.draft.rowing import Unexplained
from simtrain.serving.draft.selecting import NEW_ID, Tool
from simtrain.types import JsonValue


@dataclass
class Written:
    """The statements of a tool, and what an author should know of them."""

    write: list[str]
    notes: list[str] = field(default_factory=list[str])


def creating(tool: Tool, table: Table, made: NewId | None) -> Written:
    """The statements that make a row. Raises Unexplained."""
    notes: list[str] = []
    cells: dict[str, str] = {}
    for column in table.columns:
        if column == table.id:
            cells[column] = f":{tool.id_given or NEW_ID}"
            continue
        sql = _new_cell(tool, table, column)
        if sql is None:
            notes.append(f"what a new {table.kind} has in {column} could not be told")
        elif sql != "null":
            cells[column] = sql
    names = wrapped([identifier(column) for column in cells])
    insert = f"insert into {identifier(table.name)} ({names})\nvalues ({wrapped(list(cells.values()))})"
    return Written([*(made.write if made and tool.id_given is None else ()), insert], notes)


def _new_cell(tool: Tool, table: Table, column: str) -> str | None:
    """SQL for a column of a new row; None where nothing explains what was seen."""
    born = [(call, life) for call in tool.calls for life in table.lives if life.born == call.number]
    seen = [(call, life.first(column)) for call, life in born]
    seen = [(call, value) for call, value in seen if value is not UNKNOWN]
    argument = argument_for(tool, table, column, seen)
    if argument is not None:
        absent = [value for call, value in seen if call.arguments.get(argument) is None]
        constant = _constant(absent) if tool.default(argument) is None else None
        if constant not in (None, "null"):
            return f"coalesce(:{argument}, {constant})"
        present = moment_sql(absent) if absent else None
        return f"coalesce(:{argument}, {present})" if present else f":{argument}"
    values = [value for _, value in seen]
    moments = moment_sql(value for value in values if value is not None)
    if moments is not None and None not in values:
        return moments
    return _constant(values) or ("null" if not values else None)


def argument_for(tool: Tool, table: Table, column: str, seen: Sequence[tuple[Call, JsonValue]]) -> str | None:
    """The argument that a column is filled from: by its name, else by its values."""
    named = next((name for name in tool.arguments if table.column_like(name) == column), None)
    if named is not None:
        given = [(call.arguments[named], value) for call, value in seen if call.arguments.get(named) is not None]
        # A server that never once keeps what it is given keeps something else there.
        return named if not given or any(_like(one, other) for one, other in given) else None
    for name in tool.arguments:
        given = [(call.arguments[name], value) for call, value in seen if call.arguments.get(name) is not None]
        telling = [one for one, _ in given if isinstance(one, str) and len(one) > 1]
        if telling and len(given) == len(seen) and all(_like(one, other) for one, other in given):
            return name
    return None


def _like(one: JsonValue, other: JsonValue) -> bool:
    if isinstance(one, list) and isinstance(other, list):
        return sorted(map(str, cast("list[JsonValue]", one))) == sorted(map(str, cast("list[JsonValue]", other)))
    return one == other


def _constant(values: Sequence[JsonValue]) -> str | None:
    return literal(values[0]) if values and all(value == values[0] for value in values) else None


def changing(tool: Tool, table: Table) -> Written:
    """The statement that changes rows. Raises Unexplained."""
    condition = tool.condition(table)
    if condition is None:
        raise Unexplained(f"which {table.kind} is changed: no argument names it")
    identity = tool.history.id_argument(tool.name, table)
    named = {name for name, _ in tool.history.references(tool.name)}
    cells: dict[str, str] = {}
    for name in tool.arguments:
        column = table.column_like(name)
        if (
            column is None
            or name == identity
            or column in (table.id, *cells)
            or (name in named and _is_within(tool, table, name))
        ):
            continue
        required = name in tool.history.observed.required(tool.name)
        cells[column] = f":{name}" if required else f"coalesce(:{name}, {identifier(column)})"
    for column in table.columns:
        sql = _changed_cell(tool, table, column) if column not in cells and column != table.id else None
        if sql is not None:
            cells[column] = sql
    if not cells:
        raise Unexplained("what is changed")
    assignments = wrapped([f"{identifier(column)} = {sql}" for column, sql in cells.items()])
    return Written([f"update {identifier(table.name)} set {assignments}\nwhere {condition}"])


def _is_within(tool: Tool, table: Table, name: str) -> bool:
    return any(f":{name}" in condition for condition in tool.within(table)) and is_bindable(name)


def _changed_cell(tool: Tool, table: Table, column: str) -> str | None:
    """SQL for a column that no argument is named after: the present, or what it always becomes; None where it stays."""
    changes = [
        change
        for call in tool.calls
        for life in tool.meant(table, call, after=True)
        for change in _changes(tool, life, column, call)
    ]
    changed = [change for change in changes if change.before != change.after]
    if not changed:
        return None
    becomes = moment_sql(change.after for change in changed) or _constant([change.after for change in changed])
    if becomes is None or len(changed) == len(changes):
        return becomes
    condition = _occasion(tool, changed, [change for change in changes if change not in changed])
    return f"iif({condition}, {becomes}, {identifier(column)})" if condition else None


@dataclass(frozen=True, eq=False)
class _Change:
    """What a column held before a call and after it."""

    call: Call
    before: JsonValue
    after: JsonValue


def _changes(tool: Tool, life: Life, column: str, call: Call) -> list[_Change]:
    """The change of a cell in a call, as far as it was seen before and after, and no other call of the tool came between."""
    between = (
        [other.number for other in tool.calls if life in tool.meant(tool.subject, other, after=True)]
        if tool.subject
        else []
    )
    following = min((number for number in between if number > call.number), default=None)
    before = [fields[column] for number, fields in life.sightings if number < call.number and column in fields]
    after = [
        fields[column]
        for number, fields in life.sightings
        if number >= call.number and column in fields and (following is None or number < following)
    ]
    return [_Change(call, before[-1], after[0])] if before and after else []


def _occasion(tool: Tool, changed: Sequence[_Change], unchanged: Sequence[_Change]) -> str | None:
    """The value of an argument with which a column changes, and without which it stays."""
    named = {name for name, _ in tool.history.references(tool.name)}
    for name, schema in tool.arguments.items():
        values = [change.call.arguments.get(name) for change in changed]
        # A free text that was given once is no occasion; one of a few words, or a yes, is.
        few = isinstance(values[0], bool) or values[0] in enumerated(schema)
        same = name not in named and few and all(value == values[0] for value in values)
        if same and all(change.call.arguments.get(name) != values[0] for change in unchanged):
            return f":{name} = {literal(values[0])}"
    return None


def deleting(tool: Tool, table: Table) -> Written:
    """The statements that take rows away, and with them those that belong to them. Raises Unexplained."""
    condition = tool.condition(table)
    if condition is None:
        raise Unexplained(f"which {table.kind} is deleted: no argument names it")
    statements: list[str] = []
    notes: list[str] = []
    for child in tool.history.tables.values():
        if child.parent is table and child.parent_column is not None:
            inner = f"select {identifier(table.id)} from {identifier(table.name)} where {condition}"
            statements.append(
                f"delete from {identifier(child.name)} where {identifier(child.parent_column)} in ({inner})"
            )
            notes.append(f"the {child.name} of a deleted {table.kind} go with it; no recording can show this in full")
    return Written([*statements, f"delete from {identifier(table.name)} where {condition}"], notes)
