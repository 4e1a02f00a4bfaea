"""An agent's database as rows of the world: read into an image for a statement, and its changes written back.

Every table of the world, save the three named here, is a table of the agent's database, in the definition that the world file gives
it; so tasks and graders read what the agent wrote as plain SQL. Needs `agent_schema (position integer primary key, type, name,
tbl_name, sql, own)` and `agent_rows (id integer primary key, table_name, row, data)`. They are empty until the agent changes
definitions (or stores what JSON cannot say): from then on `agent_schema` holds all definitions, with `own` 1 for a table whose
rows are still in the world's table of that name, and `agent_rows` the rows of the others, as JSON objects by column.
"""

import json
import math
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from simtrain.contracts.handler import HandlerContext
from simtrain.values.types import JsonObject, JsonValue, is_object
from simtrain.worlds.handlers.sqlite_server.sandbox import limited, tell_time
from simtrain.worlds.service.database import Cell

BESIDE = ("memo", "agent_schema", "agent_rows")
"""The tables of the world that the agent's database lacks."""

SEQUENCE = "sqlite_sequence"
_ALIASES = ("rowid", "oid", "_rowid_")

Row: TypeAlias = dict[str, Cell]
Rows: TypeAlias = dict[int, Row]
Read: TypeAlias = Callable[[str], list[JsonObject]]


@dataclass(frozen=True, slots=True)
class Definition:
    """One object of a schema, as in `sqlite_master`. `own`: the rows are in the world's own table of that name."""

    type: str
    name: str
    table: str
    sql: str
    own: bool = False


@dataclass(frozen=True)
class Content:
    """A whole database: its definitions in order, and its rows by table and row id."""

    definitions: tuple[Definition, ...]
    rows: Mapping[str, Rows] = field(default_factory=dict[str, Rows])


def load(read: Read) -> Content:
    """Return the agent's database as stored in the world; `read` runs a SELECT over the world."""
    given = _given(read)
    kept = read("select type, name, tbl_name, sql, own from agent_schema order by position")
    definitions = tuple(_definition(row, own=bool(row["own"])) for row in kept) or given
    rows: dict[str, Rows] = {}
    for found in read("select table_name, row, data from agent_rows order by table_name, row"):
        data = json.loads(found["data"])
        rows.setdefault(found["table_name"], {})[found["row"]] = {key: _unpacked(data[key]) for key in data}
    for table in (one for one in definitions if one.own):
        found = read(f"select rowid as simtrain_rowid, * from {quoted(table.name)} order by rowid")
        rows[table.name] = {row.pop("simtrain_rowid"): row for row in found}
    return Content(definitions, rows)


def image(content: Content, *, now: str) -> bytes:
    """Return the database as bytes. Triggers are created last, so that filling the tables fires none. Raises sqlite3.Error."""
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    try:
        tell_time(connection, now)
        with limited(connection):
            _make(connection, content)
        return connection.serialize()
    finally:
        connection.close()


def _make(connection: sqlite3.Connection, content: Content) -> None:
    connection.execute("pragma ignore_check_constraints = on")
    for one in content.definitions:
        if one.type != "trigger":
            connection.execute(one.sql)
    for table in (one.name for one in content.definitions if one.type == "table"):
        _fill(connection, table, content.rows.get(table, {}))
    # Filling a table with AUTOINCREMENT has advanced its counter; the agent's own may be further.
    if SEQUENCE in content.rows:
        connection.execute(f"delete from {SEQUENCE}")
        _fill(connection, SEQUENCE, content.rows[SEQUENCE])
    for one in content.definitions:
        if one.type == "trigger":
            connection.execute(one.sql)


def taken(connection: sqlite3.Connection) -> Content:
    """Return the content of a database."""
    connection.row_factory = sqlite3.Row
    # An agent can store text that is not UTF-8: `cast(x'ff' as text)`.
    connection.text_factory = _read_leniently
    listed = connection.execute(
        "select type, name, tbl_name, sql from sqlite_master where sql is not null order by rowid"
    )
    definitions = tuple(_definition(dict(row)) for row in listed if not row["name"].startswith("sqlite_"))
    tables = [one.name for one in definitions if one.type == "table"]
    if connection.execute("select 1 from sqlite_master where name = ?", (SEQUENCE,)).fetchone():
        tables.append(SEQUENCE)
    return Content(definitions, {table: _rows(connection, table) for table in tables})


def _read_leniently(text: bytes) -> str:
    return text.decode(errors="replace")


def save(context: HandlerContext, before: Content, after: Content) -> None:
    """Write the differences between two states of the agent's database into the world."""
    given = {one.name: one.sql for one in _given(context.read) if one.type == "table"}
    definitions = tuple(
        Definition(one.type, one.name, one.table, one.sql, own=_stays(one, given, after.rows))
        for one in after.definitions
    )
    if definitions != before.definitions:
        context.write("delete from agent_schema")
        for one in definitions:
            context.write(
                "insert into agent_schema (type, name, tbl_name, sql, own) values (:type, :name, :table, :sql, :own)",
                {"type": one.type, "name": one.name, "table": one.table, "sql": one.sql, "own": int(one.own)},
            )
    was_own = {one.name for one in before.definitions if one.own}
    is_own = {one.name for one in definitions if one.own}
    for table in dict.fromkeys((*before.rows, *after.rows)):
        old, new = before.rows.get(table, {}), after.rows.get(table, {})
        if table in is_own or table in was_own:
            _save_own(context, table, old if table in was_own else {}, new if table in is_own else {})
        if table not in is_own or table not in was_own:
            _save_packed(context, table, {} if table in was_own else old, {} if table in is_own else new)


def quoted(name: str) -> str:
    """Return a name quoted for SQL, whatever characters it has."""
    return '"' + name.replace('"', '""') + '"'


def _given(read: Read) -> tuple[Definition, ...]:
    """Return the definitions of the world file."""
    rows = read(
        "select type, name, tbl_name, sql from sqlite_master where sql is not null and name not like 'sqlite\\_%' escape '\\' "
        "and name not like '\\_simtrain%' escape '\\' order by rowid"
    )
    return tuple(_definition(row, own=row["type"] == "table") for row in rows if row["tbl_name"] not in BESIDE)


def _definition(row: Mapping[str, JsonValue], *, own: bool = False) -> Definition:
    return Definition(row["type"], row["name"], row["tbl_name"], row["sql"], own)


def _stays(one: Definition, given: Mapping[str, str], rows: Mapping[str, Rows]) -> bool:
    """True if the rows of an object can stay in the world's own table of that name: its definition is as given, and JSON can hold them."""
    if one.type != "table" or given.get(one.name) != one.sql:
        return False
    return all(_sayable(value) for row in rows[one.name].values() for value in row.values())


def _fill(connection: sqlite3.Connection, table: str, rows: Rows) -> None:
    if not rows:
        return
    columns, alias = _columns(connection, table)
    into = [*([alias] if alias else []), *(quoted(column) for column in columns)]
    marks = ", ".join("?" * len(into))
    connection.execute("begin")
    connection.executemany(
        f"insert into {quoted(table)} ({', '.join(into)}) values ({marks})",
        ([*([rowid] if alias else []), *(row.get(column) for column in columns)] for rowid, row in rows.items()),
    )
    connection.execute("commit")


def _rows(connection: sqlite3.Connection, table: str) -> Rows:
    """Return the rows of a table by row id, or by position in a table WITHOUT ROWID."""
    columns, alias = _columns(connection, table)
    listed = ", ".join(quoted(column) for column in columns)
    found: Iterable[sqlite3.Row] = connection.execute(f"select {alias or 0}, {listed} from {quoted(table)}")
    return {
        row[0] if alias else place: dict(zip(columns, tuple(row)[1:], strict=True)) for place, row in enumerate(found)
    }


def _columns(connection: sqlite3.Connection, table: str) -> tuple[list[str], str | None]:
    """Return the columns of a table that can be written, and a name for its row id that no column hides; None if it has none."""
    listed = connection.execute(f"pragma table_xinfo({quoted(table)})").fetchall()
    # Generated columns are marked as hidden, and refuse values.
    columns = [row[1] for row in listed if row[6] == 0]
    alias = next((name for name in _ALIASES if name not in {column.lower() for column in columns}), None)
    if alias is not None:
        try:
            connection.execute(f"select {alias} from {quoted(table)} limit 0").close()
        except sqlite3.OperationalError:
            alias = None
    return columns, alias


def _save_own(context: HandlerContext, table: str, old: Rows, new: Rows) -> None:
    """Save the changed rows of a table. All are deleted first, so that two that swap a unique value do not collide."""
    changed = [rowid for rowid in old if new.get(rowid) != old[rowid]]
    for rowid in changed:
        context.write(f"delete from {quoted(table)} where rowid = :row", {"row": rowid})
    for rowid, row in new.items():
        if old.get(rowid) != row:
            columns = ", ".join(("rowid", *(quoted(column) for column in row)))
            marks = ", ".join((":row", *(f":c{place}" for place in range(len(row)))))
            values = {f"c{place}": value for place, value in enumerate(row.values())}
            context.write(f"insert into {quoted(table)} ({columns}) values ({marks})", {"row": rowid, **values})


def _save_packed(context: HandlerContext, table: str, old: Rows, new: Rows) -> None:
    for rowid in old:
        if new.get(rowid) != old[rowid]:
            context.write(
                "delete from agent_rows where table_name = :table and row = :row", {"table": table, "row": rowid}
            )
    for rowid, row in new.items():
        if old.get(rowid) != row:
            data = json.dumps({column: _packed(value) for column, value in row.items()}, ensure_ascii=False)
            context.write(
                "insert into agent_rows (table_name, row, data) values (:table, :row, :data)",
                {"table": table, "row": rowid, "data": data},
            )


def _sayable(value: Cell) -> bool:
    return not isinstance(value, bytes) and not (isinstance(value, float) and math.isinf(value))


def _packed(value: Cell) -> JsonValue:
    """Return a value as JSON; bytes and infinities, which JSON lacks, become an object."""
    if isinstance(value, bytes):
        return {"hex": value.hex()}
    return value if _sayable(value) else {"real": str(value)}


def _unpacked(value: JsonValue) -> Cell:
    if not is_object(value):
        return value
    return bytes.fromhex(value["hex"]) if "hex" in value else float(value["real"])
