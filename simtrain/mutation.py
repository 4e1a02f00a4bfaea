"""Worlds and episodes with one thing changed, to prove that rewards depend on it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from simtrain.errors import InputError
from simtrain.trajectory import Stop, Trajectory
from simtrain.types import Change, Changes
from simtrain.world import FinishedWorld, World, WorldState


def column_changes(world: World) -> list[str]:
    """Statements that each change one column of one table in all rows; keys come last, since they break more than a value."""
    pairs = [(table, column) for table, columns in world.columns().items() for column in columns]
    return [_statement(table, column) for table, column in sorted(pairs, key=lambda pair: (_is_key(pair[1]), pair))]


def _statement(table: str, column: str) -> str:
    """A number moves by more than any tolerance, a text gets a suffix, a null gets a value: never the value it was."""
    name = f'"{column}"'
    return f"update \"{table}\" set {name} = case typeof({name}) when 'text' then {name} || '~' when 'null' then 1 else {name} + 1000 end"


def _is_key(column: str) -> bool:
    return column == "id" or column.endswith("_id")


def answer_changes(trajectory: Trajectory) -> Iterator[Trajectory]:
    """The trajectory with other ends: no answer, another answer, an answer instead of declining and the other way round, no act at all."""
    yield replace(trajectory, answer="")
    yield replace(trajectory, answer=f"{trajectory.answer or ''} and also 987654")
    yield replace(trajectory, stop=Stop("abstained"), answer="this cannot be done")
    yield replace(trajectory, stop=Stop("answered"), answer="Done.")
    yield replace(trajectory, turns=[], answer=None, stop=Stop("max_turns"))


def state_changes(finished: FinishedWorld) -> Iterator[FinishedWorld]:
    """The finished world with its final state changed: all undone, then one column after another."""
    world = finished.initial
    untouched = world.open()
    yield FinishedWorld(world, untouched, {})
    untouched.close()
    for statement in column_changes(world):
        final = world.open(finished.changes)
        try:
            final.execute(statement)
            yield FinishedWorld(world, final, _differences(world, final))
        except InputError:
            continue
        finally:
            final.close()


def _differences(world: World, final: WorldState) -> Changes:
    """The rows that differ from the base, by comparing whole tables: a restored state keeps no record of its own."""
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
