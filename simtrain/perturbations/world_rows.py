"""Finds rows of a world by a value in a call or a reply."""

from dataclasses import dataclass

from simtrain.contracts.world import WorldState
from simtrain.values.errors import InputError
from simtrain.values.seeding import Stream
from simtrain.values.types import JsonObject, JsonValue

MOST_ROWS = 400
"""Most rows of a table that are searched for the most similar one."""

PAGE = ("_pages", "url")
"""The column of a search world with the URLs of its pages."""

_TABLES = (
    "select name from sqlite_master where type = 'table' and sql not like 'create virtual%'"
    " and substr(name, 1, 7) <> 'sqlite_' and substr(name, 1, 1) <> '_' order by name"
)


@dataclass(frozen=True, slots=True)
class Home:
    """A column whose values identify the rows of a table, and the value of one row."""

    table: str
    column: str
    value: JsonValue

    def row(self, world: WorldState) -> JsonObject | None:
        """Return the row; None if it is gone."""
        return next(
            iter(_rows(world, f"select * from {_q(self.table)} where {_q(self.column)} = :value", self.value)), None
        )

    def others(self, world: WorldState, rng: Stream) -> list[JsonValue]:
        """Return the values of the other rows, the most similar first; ties are broken at random."""
        mine = self.row(world) or {}
        # Ordered, as SQLite promises no order and the draw depends on it.
        sql = f"select * from {_q(self.table)} where {_q(self.column)} <> :value order by rowid limit {MOST_ROWS}"
        rows = rng.shuffled(_rows(world, sql, self.value))
        rows.sort(key=lambda row: -sum(row[name] == value for name, value in mine.items()))
        return [row[self.column] for row in rows]


def home_of(world: WorldState, value: JsonValue) -> Home | None:
    """Return the column, among those of all tables, in which a value occurs once and all values are
    distinct.

    Columns called id or key come first, then the others in the order of tables and columns. None if no column fits.
    An address names a page of a search world, if there is one.
    """
    # In SQLite 1.0 equals 1 and true is 1: figures and flags would be found in every table.
    if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
        return None
    if isinstance(value, str) and "://" in value:
        page = Home(*PAGE, value)
        return page if page.row(world) else None
    found: list[tuple[bool, Home]] = []
    for table, columns in tables_of(world).items():
        for column in columns:
            if _rows(world, f"select 1 from {_q(table)} where {_q(column)} = :value limit 1", value) and _tells_apart(
                world, table, column
            ):
                found.append((column.lower() not in ("id", "key", "path", "number"), Home(table, column, value)))
    return min(found, key=lambda item: item[0])[1] if found else None


def named_row(world: WorldState, arguments: JsonObject) -> tuple[str, Home] | None:
    """Return the first argument of a call that identifies a row, and that row."""
    for name, value in arguments.items():
        home = home_of(world, value)
        if home is not None:
            return name, home
    return None


def tables_of(world: WorldState) -> dict[str, list[str]]:
    """Return the tables of a world's database that have rows, with their columns; none for a world that has no database."""
    tables = [str(row["name"]) for row in _rows(world, _TABLES)]
    first = {table: _rows(world, f"select * from {_q(table)} limit 1") for table in tables}
    return {table: list(rows[0]) for table, rows in first.items() if rows}


def _tells_apart(world: WorldState, table: str, column: str) -> bool:
    (row,) = _rows(
        world, f"select count(distinct {_q(column)}) = count(*) and count(*) > 1 as apart from {_q(table)}"
    ) or [{}]
    return bool(row.get("apart"))


def _rows(world: WorldState, sql: str, value: JsonValue = None) -> list[JsonObject]:
    try:
        return world.query(sql, {} if value is None else {"value": value})
    except InputError:
        # A table that cannot be read (one of the engine's own), or a number beyond SQLite's, gives no rows.
        return []


def _q(name: str) -> str:
    escaped = name.replace('"', '""')
    # Names of tables and columns cannot be bound as parameters; SQL doubles a quote inside a quoted name.
    return f'"{escaped}"'
