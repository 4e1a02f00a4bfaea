"""The SQL of graders: which results count as true, and checks before anything is played."""

import re
from collections.abc import Mapping, Sequence

from simtrain.contracts.world import World
from simtrain.values.errors import InputError, nearest
from simtrain.values.types import Change, Changes, JsonObject, JsonValue

_UNBOUND = re.compile(r"binding parameter [:@$]?(\w+)")


def is_true(value: JsonValue) -> bool:
    """Return True if a value from SQL counts as true: anything but null, 0 and empty text."""
    return value not in (None, 0, "")


def holds(rows: Sequence[JsonObject]) -> bool:
    """Return True if a predicate holds: it gave at least one row, and every row is true."""
    return bool(rows) and all(is_true(next(iter(row.values()))) for row in rows)


def trips(rows: Sequence[JsonObject]) -> bool:
    """Return True if a query for something forbidden found it: any row except a single null, 0 or empty text."""
    return any(len(row) > 1 or is_true(next(iter(row.values()))) for row in rows)


def try_rows(world: World, sql: str, case: Mapping[str, JsonValue], *, place: str) -> list[JsonObject]:
    """Return the rows of a SELECT over the initial world. Raises InputError, with the place, for SQL that does not run."""
    try:
        return world.query(sql, case)
    except InputError as error:
        unbound = _UNBOUND.search(error.problem)
        if unbound is None:
            raise error.at(place=place) from None
        problem = f"the SQL names :{unbound[1]}, which no case has"
        raise InputError(problem, remedy=nearest(unbound[1], case), place=place) from None


def try_columns(world: World, sql: str, case: Mapping[str, JsonValue], *, place: str) -> list[str]:
    """Return the column names of a SELECT, even if it gives no row. Raises InputError, with the place."""
    try_rows(world, sql, case, place=place)
    # The outer join gives a row, and with it the names, even if the query gives none.
    inner = sql.strip().rstrip(";")
    return list(try_rows(world, f"select q.* from (select 1) left join (\n{inner}\n) q limit 1", case, place=place)[0])


def try_predicate(world: World, sql: str, case: Mapping[str, JsonValue], *, place: str) -> None:
    """Raise an InputError for a predicate that does not run or gives more than one column."""
    columns = try_columns(world, sql, case, place=place)
    if len(columns) > 1:
        raise InputError(f"a predicate gives one value, not the columns {', '.join(columns)}", place=place)


def check_table(world: World, table: str, *, place: str) -> None:
    """Raise an InputError for a table that the world does not have."""
    known = world.columns()
    if table not in known:
        raise InputError(f"the world {world.name!r} has no table {table!r}", remedy=nearest(table, known), place=place)


def check_column(world: World, table: str, column: str, *, place: str) -> None:
    """Raise an InputError for an unknown table, or a column that it does not have."""
    check_table(world, table, place=place)
    # Generated columns included, since recorded changes have them too.
    quoted = table.replace('"', '""')
    known = try_columns(world, f'select * from "{quoted}"', {}, place=place)
    if column not in known:
        raise InputError(f"the table {table!r} has no column {column!r}", remedy=nearest(column, known), place=place)


class AllowedChanges:
    """What may differ from the start: whole tables (`refunds`), or single columns of rows that stay (`charges.refunded`)."""

    __slots__ = ("columns", "names", "tables")

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self.tables = frozenset(name for name in names if "." not in name)
        self.columns = frozenset(tuple(name.split(".", 1)) for name in names if "." in name)

    def check(self, world: World, *, place: str) -> None:
        """Raise an InputError for tables and columns that the world does not have."""
        for index, name in enumerate(self.names):
            table, _, column = name.partition(".")
            here = f"{place}[{index}]"
            if column:
                check_column(world, table, column, place=here)
            else:
                check_table(world, table, place=here)

    def allows(self, table: str, column: str) -> bool:
        """Return whether a column of rows that stay may be another one."""
        return table in self.tables or (table, column) in self.columns

    def outside(self, changes: Changes) -> str | None:
        """Return the first change that is not allowed, in a few words; None if all are."""
        for table, rows in changes.items():
            if table in self.tables:
                continue
            for change in rows:
                found = self._outside(table, change)
                if found is not None:
                    return found
        return None

    def _outside(self, table: str, change: Change) -> str | None:
        if change.before is None or change.after is None:
            return f"a row of {table} was {'added' if change.before is None else 'deleted'} (row {change.rowid})"
        for column, value in change.after.items():
            if change.before.get(column) != value and (table, column) not in self.columns:
                return f"{table}.{column} was changed (row {change.rowid})"
        return None
