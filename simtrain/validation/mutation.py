"""Worlds and episodes with one thing changed, to prove that rewards depend on it."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from simtrain.contracts.trajectory import Stop, Trajectory
from simtrain.contracts.world import FinishedWorld, World, WorldState
from simtrain.values.errors import InputError
from simtrain.values.types import Change, Changes

FEW = 6
"""The most distinct values of a column with which each of them is tried."""

BROKEN_CODE = "update files set content = content || char(10) || 'def (' where kind = 'file' and path like '%.py'"
"""SQL that makes every Python file of a machine unreadable."""


def column_changes(world: World) -> Iterator[str]:
    """Yield statements that each change one column of one table in all rows. Keys come last: they break references as well."""
    pairs = [(table, column) for table, columns in world.columns().items() for column in columns]
    values = sorted(pair for pair in pairs if not _is_key(pair[1]))
    keys = sorted(pair for pair in pairs if _is_key(pair[1]))
    yield from (_another_value(table, column) for table, column in values)
    for table, column in values:
        yield from _one_value(world, table, column)
    yield from (_another_value(table, column) for table, column in keys)


def _another_value(table: str, column: str) -> str:
    """Return SQL that moves numbers beyond any tolerance, gives nulls a value, and texts another beginning."""
    name = f'"{column}"'
    # Different values stay different, so that no unique column refuses them.
    text = f"'~' || substr({name}, 2) || substr({name}, 1, 1)"
    return f"update \"{table}\" set {name} = case typeof({name}) when 'text' then {text} when 'null' then 1 else {name} + 1000 end"


def _one_value(world: World, table: str, column: str) -> Iterator[str]:
    """Yield SQL that gives every row one of the column's values: what a status forbids may then be allowed."""
    # One more than FEW tells that there are too many.
    rows = world.query(f'select distinct quote("{column}") as value from "{table}" order by value limit {FEW + 1}')
    if len(rows) <= FEW:
        yield from (f'update "{table}" set "{column}" = {row["value"]}' for row in rows)


class Telling:
    """The changes that lowered a reward in earlier cases, to be tried first in the next one: most cases fall by the same change."""

    def __init__(self) -> None:
        self._statements: list[str] = []

    def first(self, statements: Iterable[str]) -> Iterator[str]:
        """Yield these changes, the most recent first, then the others."""
        known = tuple(self._statements)
        yield from known
        yield from (statement for statement in statements if statement not in known)

    def add(self, statement: str) -> None:
        """Note a change that lowered a reward."""
        if statement in self._statements:
            self._statements.remove(statement)
        self._statements.insert(0, statement)


def _is_key(column: str) -> bool:
    return column == "id" or column.endswith("_id")


def answer_changes(trajectory: Trajectory) -> Iterator[Trajectory]:
    """Yield the trajectory with other ends: no answer, another answer, an answer instead of declining and the
    reverse, no calls at all.
    """
    yield replace(trajectory, answer="")
    yield replace(trajectory, answer=f"{trajectory.answer or ''} and also 987654")
    yield replace(trajectory, stop=Stop("abstained"), answer="this cannot be done")
    yield replace(trajectory, stop=Stop("answered"), answer="Done.")
    yield replace(trajectory, turns=[], answer=None, stop=Stop("max_turns"))


def state_changes(finished: FinishedWorld, statements: Iterable[str]) -> Iterator[tuple[str | None, FinishedWorld]]:
    """Yield the finished world with its final state changed: first all undone (None), then by each statement.

    Statements that the world's constraints refuse are left out.
    """
    world = finished.initial
    untouched = world.open()
    yield None, FinishedWorld(world, untouched, {})
    untouched.close()
    for statement in statements:
        final = world.open(finished.changes)
        try:
            final.execute(statement)
            yield statement, FinishedWorld(world, final, _differences(world, final))
        except InputError:
            continue
        finally:
            final.close()


def _differences(world: World, final: WorldState) -> Changes:
    """Return the rows that differ from the base, by comparing whole tables: a restored state has no record of its changes."""
    found: dict[str, tuple[Change, ...]] = {}
    for table in world.columns():
        sql = f'select rowid as "_row", * from "{table}" order by rowid'
        before = {row.pop("_row"): row for row in world.query(sql)}
        after = {row.pop("_row"): row for row in final.query(sql)}
        changes = tuple(
            Change(row, before.get(row), after.get(row))
            for row in sorted({*before, *after})
            if before.get(row) != after.get(row)
        )
        if changes:
            found[table] = changes
    return found
