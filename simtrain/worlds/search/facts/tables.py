"""The facts as tables: their DDL, derived attributes and constraints. An authorizer lets authors' SQL only read."""

import re
import sqlite3
from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import date
from typing import Final

from simtrain.values.errors import InputError
from simtrain.worlds.search.facts.attributes import Value
from simtrain.worlds.search.facts.draw import Facts, value_rows
from simtrain.worlds.search.spec.schema import NUMERIC, Attribute, Schema, Type
from simtrain.worlds.search.spec.word_rows import word_rows
from simtrain.worlds.service.functions import install
from simtrain.worlds.service.watch import RunningStatement

_TYPES: Final = {
    "number": "real", "quantity": "real", "money": "real", "flag": "integer", "ref": "integer",
    "name": "text", "text": "text", "category": "text", "date": "text", "coordinates": "text",
}  # fmt: skip
_ROW_ID = re.compile(r":id\b")
_READING = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE})
# Random, dependent on what the connection did before, or harmful: extensions run code, zeroblob takes any amount of memory.
_REFUSED = frozenset(
    {"random", "randomblob", "load_extension", "zeroblob", "fts3_tokenizer", "last_insert_rowid", "changes"}
)
_TRIED = 20
"""Rows that are tried for a second value of a derived attribute; each takes a query of its own."""
# Steps of SQLite's machine end a runaway query at the same place everywhere; seconds catch a single step that takes too long.
_STEP_OPS = 100_000
_MAX_STEPS = 100_000
_LONGEST = 20.0


def column_type(attribute: Attribute) -> str:
    """Return the SQL type of a column; numbers without digits are integers."""
    if attribute.kind in NUMERIC and attribute.digits == 0:
        return "integer"
    return _TYPES[attribute.kind]


def create(connection: sqlite3.Connection, schema: Schema) -> None:
    """Create the tables of all types, and describe them in `_types`, `_attributes` and `_words`."""
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
    connection.executemany("insert into _words values (?, ?, ?, ?)", word_rows(schema))


def insert(connection: sqlite3.Connection, facts: Facts) -> None:
    """Write all rows and aliases, and index the refs."""
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
    """Compute every derived attribute after those that it reads. Raises InputError for SQL that fails and for circles."""
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
            # Compiling is enough: SQLite asks the authorizer about every column read, and nothing is run.
            connection.execute(f"explain {_formula(attribute)}", {"now": schema.today}).close()
        except sqlite3.Error as error:
            raise schema.document.error(attribute.place, _failure(error)) from None
    # The row's own id, through which the query is tied to it, is no fact.
    return {(kind, name) for kind, name in found if name != "id"}


def _formula(attribute: Attribute) -> str:
    value = _ROW_ID.sub('"_row".id', _sql(attribute))
    return f'select "_row".id, ({value}) from "{attribute.type}" as "_row"'


def _sql(attribute: Attribute) -> str:
    return attribute.derived.sql.strip().rstrip(";") if attribute.derived else ""


def _derive(connection: sqlite3.Connection, schema: Schema, attribute: Attribute) -> None:
    today = {"now": schema.today}
    with _guarded(connection, schema):
        try:
            several = connection.execute(_several(attribute), today).fetchone()
            rows = connection.execute(_formula(attribute), today).fetchall()
        except sqlite3.Error as error:
            raise schema.document.error(attribute.place, _failure(error)) from None
    if several is not None:
        raise schema.document.error(
            attribute.place, f"row {several[0]} gets {several[1]} values", "say which, with an aggregate or `limit 1`"
        )
    fits = _fitting(connection, attribute)
    for row, value in rows:
        if value is None and not attribute.optional:
            raise schema.document.error(
                attribute.place, f"row {row} gets no value", "say `optional: true`, or use coalesce"
            )
        if value is not None and not fits(value):
            raise schema.document.error(
                attribute.place,
                f"row {row} gets {value!r}, which is not a {attribute.kind}",
                "name its `kind`, or change the SQL",
            )
    mark = f"round(?, {attribute.digits})" if attribute.kind in NUMERIC else "?"
    connection.executemany(
        f'update "{attribute.type}" set "{attribute.name}" = {mark} where id = ?', ((value, row) for row, value in rows)
    )
    if attribute.kind == "ref":
        connection.execute(
            f'create index "_{attribute.type}_by_{attribute.name}" on "{attribute.type}" ("{attribute.name}")'
        )


def _several(attribute: Attribute) -> str:
    """Return SQL that finds a row, among the first _TRIED, with more than one value."""
    query = _ROW_ID.sub('"_row".id', _sql(attribute))
    counted = f'select id, (select count(*) from ({query})) as "_values" from "{attribute.type}" as "_row"'
    return f'select * from ({counted} limit {_TRIED}) where "_values" > 1'


def _fitting(connection: sqlite3.Connection, attribute: Attribute) -> Callable[[Value], bool]:
    """Return a test for values of an attribute's kind."""
    if attribute.kind in NUMERIC:
        return lambda value: not isinstance(value, str | bytes)
    if attribute.kind == "date":
        return _is_date
    if attribute.kind == "flag":
        return lambda value: value in (0, 1)
    if attribute.kind == "ref":
        size = connection.execute(f'select count(*) from "{attribute.target}"').fetchone()[0]
        return lambda value: isinstance(value, int) and 1 <= value <= size
    return lambda value: isinstance(value, str)


def _is_date(value: Value) -> bool:
    try:
        # Since Python 3.11 `fromisoformat` takes 20200131 and 2020-W05-5 as well, which do not sort as text.
        return date.fromisoformat(str(value)).isoformat() == value
    except ValueError:
        return False


def check_constraints(connection: sqlite3.Connection, schema: Schema) -> None:
    """Raise InputError, with a row as an example, if a constraint does not hold."""
    for text, sql in schema.spec.constraints.items():
        place = ("constraints", text)
        with _guarded(connection, schema):
            try:
                cursor = connection.execute(f"select * from ({sql.strip().rstrip(';')})", {"now": schema.today})
                rows = cursor.fetchmany(1000)
            except sqlite3.Error as error:
                raise schema.document.error(place, _failure(error)) from None
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
    """Return the ids of the rows of a type for which the author's condition holds. Raises InputError."""
    with _guarded(connection, schema):
        try:
            sql = f'select id from "{kind.name}" where ({condition}) order by id'
            return [row[0] for row in connection.execute(sql, {"now": schema.today})]
        except sqlite3.Error as error:
            raise InputError(_failure(error)) from None


def _failure(error: sqlite3.Error) -> str:
    return "the SQL comes to no end" if str(error) == "interrupted" else f"the SQL fails: {error}"


@contextmanager
def _guarded(
    connection: sqlite3.Connection, schema: Schema, reads: set[tuple[str, str]] | None = None
) -> Generator[None]:
    """Make the block's SQL read-only, without randomness and in virtual time. It is interrupted when it runs too long."""
    moment = schema.moment

    def allow(action: int, first: str | None, second: str | None, _: str | None, __: str | None) -> int:
        if action == sqlite3.SQLITE_FUNCTION:
            return sqlite3.SQLITE_DENY if (second or "").lower() in _REFUSED else sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_READ and reads is not None and first and second:
            reads.add((first, second))
        return sqlite3.SQLITE_OK if action in _READING else sqlite3.SQLITE_DENY

    install(connection, lambda: moment)
    connection.set_authorizer(allow)
    connection.set_progress_handler(_limit(), _STEP_OPS)
    try:
        with RunningStatement(connection, longest=_LONGEST).under_way():
            yield
    finally:
        connection.set_authorizer(None)
        connection.set_progress_handler(None, 0)


def _limit() -> Callable[[], bool]:
    left = iter(range(_MAX_STEPS))
    return lambda: next(left, None) is None
