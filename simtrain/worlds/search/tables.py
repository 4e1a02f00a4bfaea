"""The facts as tables: their DDL, the derived attributes, the constraints, under an authorizer that lets author's SQL only read."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Final, cast

from simtrain.clock import instant, stamp
from simtrain.errors import InputError
from simtrain.worlds.search.facts import Facts, value_rows
from simtrain.worlds.search.schema import Attribute, Schema, Type
from simtrain.worlds.service.database import time_functions

_TYPES: Final = {
    "number": "real", "quantity": "real", "money": "real", "flag": "integer", "ref": "integer",
    "name": "text", "text": "text", "category": "text", "date": "text", "coordinates": "text",
}  # fmt: skip
_ROW_ID = re.compile(r":id\b")
_READING = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE})
_REFUSED = frozenset(
    {"random", "randomblob", "load_extension", "zeroblob", "fts3_tokenizer", "last_insert_rowid", "changes"}
)
_STEP_OPS = 100_000
_MAX_STEPS = 1_000_000


def column_type(attribute: Attribute) -> str:
    """The SQL type of a column: whole numbers are integers."""
    if attribute.kind in ("number", "quantity", "money") and attribute.digits == 0:
        return "integer"
    return _TYPES[attribute.kind]


def create(connection: sqlite3.Connection, schema: Schema) -> None:
    """Make the tables of all types and tell of them in `_types`, `_attributes` and `_words`."""
    for kind in schema.types.values():
        columns = ["id integer primary key"]
        for one in kind.attributes.values():
            extra = (
                " not null unique" if one.kind == "name" else f' references "{one.target}"' if one.kind == "ref" else ""
            )
            columns.append(f'"{one.name}" {column_type(one)}{extra}')
        connection.execute(f'create table "{kind.name}" ({", ".join(columns)})')
        connection.execute("insert into _types values (?, ?, ?, ?)", (kind.name, kind.kind, kind.plural, kind.position))
    rows = [(one.id, one.type, one.name, one.kind, one.unit, one.target, one.label) for one in schema.all_attributes()]
    connection.executemany("insert into _attributes values (?, ?, ?, ?, ?, ?, ?)", rows)
    connection.executemany("insert into _words values (?, ?, ?, ?)", schema.words)


def insert(connection: sqlite3.Connection, facts: Facts) -> None:
    """Write all rows and aliases, and index what refers to other rows."""
    for kind in facts.schema.types.values():
        drawn = [f'"{one.name}"' for one in kind.attributes.values() if one.derived is None]
        marks = ", ".join("?" * (len(drawn) + 1))
        connection.executemany(
            f'insert into "{kind.name}" (id, {", ".join(drawn)}) values ({marks})', value_rows(facts, kind)
        )
        for one in kind.attributes.values():
            if one.kind == "ref" and one.derived is None:
                connection.execute(f'create index "_{kind.name}_by_{one.name}" on "{kind.name}" ("{one.name}")')
    connection.executemany("insert into _aliases values (?, ?, ?, ?)", facts.aliases)
    connection.execute("create index _aliases_by_entity on _aliases (type, entity)")


def derive_all(connection: sqlite3.Connection, schema: Schema) -> None:
    """Compute every derived attribute, after those that it reads. Raises InputError for SQL that fails and for circles."""
    waiting = [one for kind in schema.types.values() for one in kind.attributes.values() if one.derived is not None]
    reads = {one.id: _reads(connection, schema, one) for one in waiting}
    while waiting:
        left = {(one.type, one.name) for one in waiting}
        ready = [one for one in waiting if left.isdisjoint(reads[one.id])]
        if not ready:
            names = " and ".join(f"{one.type}.{one.name}" for one in waiting)
            raise schema.document.error(waiting[0].place, f"derived in a circle: {names}", "cut one of them")
        for one in ready:
            _derive(connection, schema, one)
        waiting = [one for one in waiting if one not in ready]


def _reads(connection: sqlite3.Connection, schema: Schema, attribute: Attribute) -> set[tuple[str, str]]:
    found: set[tuple[str, str]] = set()
    with _guarded(connection, schema, found):
        try:
            connection.execute(f"explain {_formula(attribute)}", {"now": _today(schema)}).close()
        except sqlite3.Error as error:
            raise schema.document.error(attribute.place, f"the SQL fails: {error}") from None
    # The row's own id, through which the query is tied to it, is no fact.
    return {(kind, name) for kind, name in found if name != "id"}


def _formula(attribute: Attribute) -> str:
    sql = attribute.derived.sql.strip().rstrip(";") if attribute.derived else ""
    value = _ROW_ID.sub('"_row".id', sql)
    if attribute.kind in ("number", "quantity", "money"):
        value = f"select round(({value}), {attribute.digits})"
    return f'select "_row".id, ({value}) from "{attribute.type}" as "_row"'


def _derive(connection: sqlite3.Connection, schema: Schema, attribute: Attribute) -> None:
    with _guarded(connection, schema):
        try:
            rows = cast(
                list[tuple[int, object]], connection.execute(_formula(attribute), {"now": _today(schema)}).fetchall()
            )
        except sqlite3.Error as error:
            raise schema.document.error(attribute.place, f"the SQL fails: {error}") from None
    if not attribute.optional and any(value is None for _, value in rows):
        row = next(row for row, value in rows if value is None)
        raise schema.document.error(
            attribute.place, f"row {row} gets no value", "say `optional: true`, or use coalesce"
        )
    connection.executemany(
        f'update "{attribute.type}" set "{attribute.name}" = ? where id = ?', ((value, row) for row, value in rows)
    )
    if attribute.kind == "ref":
        connection.execute(
            f'create index "_{attribute.type}_by_{attribute.name}" on "{attribute.type}" ("{attribute.name}")'
        )


def check_constraints(connection: sqlite3.Connection, schema: Schema) -> None:
    """Refuse, with an InputError that shows a row, facts for which a constraint does not hold."""
    for text, sql in schema.spec.constraints.items():
        place = ("constraints", text)
        with _guarded(connection, schema):
            try:
                cursor = connection.execute(f"select * from ({sql.strip().rstrip(';')})", {"now": _today(schema)})
                rows = cursor.fetchmany(1000)
            except sqlite3.Error as error:
                raise schema.document.error(place, f"the SQL fails: {error}") from None
        if rows:
            names = [column[0] for column in cursor.description]
            shown = ", ".join(f"{name} {value}" for name, value in zip(names, rows[0], strict=True))
            many = "1000 rows or more" if len(rows) == 1000 else f"{len(rows)} row{'s' if len(rows) > 1 else ''}"
            raise schema.document.error(
                place,
                f"the constraint does not hold for {many}, for example {shown}",
                "bound the attributes so that it does",
            )


def rows_where(connection: sqlite3.Connection, schema: Schema, kind: Type, condition: str) -> list[int]:
    """The ids of the rows of a type for which the author's condition holds. Raises InputError."""
    with _guarded(connection, schema):
        try:
            sql = f'select id from "{kind.name}" where ({condition}) order by id'
            return [row[0] for row in connection.execute(sql, {"now": _today(schema)})]
        except sqlite3.Error as error:
            raise InputError(f"the SQL fails: {error}") from None


def _today(schema: Schema) -> str:
    return stamp(instant(schema.spec.clock.start))[:10]


@contextmanager
def _guarded(
    connection: sqlite3.Connection, schema: Schema, reads: set[tuple[str, str]] | None = None
) -> Generator[None]:
    """A block in which SQL can only read, sees virtual time and no chance, and is cut off when it runs away."""
    moment = stamp(instant(schema.spec.clock.start))

    def allow(action: int, first: str | None, second: str | None, _: str | None, __: str | None) -> int:
        if action == sqlite3.SQLITE_FUNCTION:
            return sqlite3.SQLITE_DENY if (second or "").lower() in _REFUSED else sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_READ and reads is not None and first and second:
            reads.add((first, second))
        return sqlite3.SQLITE_OK if action in _READING else sqlite3.SQLITE_DENY

    for name, function in time_functions(lambda: moment).items():
        connection.create_function(name, -1, function, deterministic=True)
    connection.set_authorizer(allow)
    connection.set_progress_handler(_limit(), _STEP_OPS)
    try:
        yield
    finally:
        connection.set_authorizer(None)
        connection.set_progress_handler(None, 0)


def _limit() -> Callable[[], bool]:
    left = iter(range(_MAX_STEPS))
    return lambda: next(left, None) is None
