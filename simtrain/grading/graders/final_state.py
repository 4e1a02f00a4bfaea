"""Check that everything changed in the world that had to, and nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import ClassVar, cast

from pydantic import Field, model_validator

from simtrain.contracts.grader import Grader, score
from simtrain.contracts.trajectory import Reward, Trajectory
from simtrain.contracts.world import FinishedWorld, World
from simtrain.values.comparing import is_number, same_number, shown
from simtrain.values.types import Change, Changes, JsonObject, JsonValue, canonical
from simtrain.worlds.sql_checks import AllowedChanges, check_column, check_table, holds, try_columns, try_predicate


class FinalState(Grader):
    """1 if every predicate over the final world holds and it differs from the start as it should, else 0.

    A gate unless the rubric says otherwise: if the work is not done, no answer earns anything. It looks only at the
    world; how the episode ended makes no difference.
    """

    example: ClassVar[JsonObject] = {"with": {"changes_only": ["orders", "cakes.stock", "ledger"]}}

    gates: ClassVar[bool] = True
    of_world: ClassVar[bool] = True

    expect: tuple[str, ...] = Field((), description="SQL predicates over the final world; each must give true.")
    changes_only: tuple[str, ...] | None = Field(
        None, description="Tables, or columns as `table.column`, that may differ from the start; [] allows no change."
    )
    changes: dict[str, str] = Field(
        default_factory=dict,
        description="By table, a SELECT over the initial world: the rows that must have changed, in their final "
        "state. The table counts as named in `changes_only`.",
    )

    @model_validator(mode="after")
    def _asks_something(self) -> FinalState:
        if not self.expect and not self.changes and self.changes_only is None:
            raise ValueError("final_state needs `expect`, `changes_only` or `changes`")
        return self

    @cached_property
    def _allowed(self) -> AllowedChanges | None:
        if self.changes_only is None:
            return None
        # A table with columns in `changes_only` stays restricted to them.
        named = {name.partition(".")[0] for name in self.changes_only}
        return AllowedChanges([*self.changes_only, *(table for table in self.changes if table not in named)])

    def check(self, world: World, case: Mapping[str, JsonValue]) -> None:
        for index, sql in enumerate(self.expect):
            try_predicate(world, sql, case, place=f"expect[{index}]")
        if self.changes_only is not None:
            AllowedChanges(self.changes_only).check(world, place="changes_only")
        for table, sql in self.changes.items():
            place = f"changes.{table}"
            check_table(world, table, place=place)
            for column in try_columns(world, sql, case, place=place):
                check_column(world, table, column, place=place)

    def keeps_code(self, world: World, case: Mapping[str, JsonValue]) -> bool:
        return "files" in self.changes or (self._allowed is not None and not self._allowed.allows("files", "content"))

    async def grade(self, trajectory: Trajectory, world: FinishedWorld) -> Reward:
        problem = self._problem(world, trajectory.case)
        return score(1.0) if problem is None else score(0.0, reason=problem)

    async def decline(self, trajectory: Trajectory, world: FinishedWorld) -> Reward:
        """Return 1 if nothing was changed beyond what the task requires, else 0. A missing change does no harm."""
        outside = self._allowed.outside(world.changes) if self._allowed is not None else None
        if outside is not None:
            return score(0.0, reason=f"not allowed: {outside}")
        for table, sql in self.changes.items():
            problem = _undue(table, world.initial.query(sql, trajectory.case), world.changes)
            if problem is not None:
                return score(0.0, reason=problem)
        return score(1.0)

    def _problem(self, world: FinishedWorld, case: Mapping[str, JsonValue]) -> str | None:
        for index, sql in enumerate(self.expect):
            rows = world.final.query(sql, case)
            if not holds(rows):
                return f"expect[{index}] does not hold: {shown(sql)} gave {shown(rows[:3])}"
        outside = self._allowed.outside(world.changes) if self._allowed is not None else None
        if outside is not None:
            return f"not allowed: {outside}"
        for table, sql in self.changes.items():
            problem = _compare(table, world.initial.query(sql, case), world.changes)
            if problem is not None:
                return problem
        return None


def _compare(table: str, expected: list[JsonObject], changes: Changes) -> str | None:
    """Return the problem with the changed rows of a table; None if they are the expected ones."""
    if not expected:
        return _undue(table, expected, changes)
    columns, missing, extra = _differences(table, expected, changes)
    if missing:
        counts = f"{len(missing)} missing, {len(extra)} more than due"
        return f"{table} lacks the change to {_row(columns, missing[0])} ({counts})"
    return _undue(table, expected, changes)


def _undue(table: str, expected: list[JsonObject], changes: Changes) -> str | None:
    """Return the change to a table that was not due, in words; None if there is none."""
    changed = changes.get(table, ())
    if not expected:
        return f"no row of {table} had to change, {len(changed)} did" if changed else None
    columns, _, extra = _differences(table, expected, changes)
    return f"{table} has a change too many: {_row(columns, extra[0])} ({len(extra)} in all)" if extra else None


def _differences(
    table: str, expected: list[JsonObject], changes: Changes
) -> tuple[list[str], list[list[JsonValue]], list[list[JsonValue]]]:
    """Return the compared columns, the missing rows, and the rows that are not due."""
    columns = list(expected[0])
    due = [list(row.values()) for row in expected]
    return columns, *_apart(due, [_present(change, columns) for change in changes.get(table, ())])


def _row(columns: Sequence[str], cells: Sequence[JsonValue]) -> str:
    return shown(dict(zip(columns, cells, strict=True)))


def _present(change: Change, columns: Sequence[str]) -> list[JsonValue]:
    # A deleted row is compared by its last content.
    row = cast(JsonObject, change.before if change.after is None else change.after)
    return [row.get(column) for column in columns]


def _apart(
    expected: list[list[JsonValue]], found: list[list[JsonValue]]
) -> tuple[list[list[JsonValue]], list[list[JsonValue]]]:
    """Return the rows that only one side has; each row of a side matches one of the other."""
    # Exact matches by hash first, in linear time; only the rest is compared pair by pair, where 1 and 1.0 are equal.
    counts = Counter(canonical(row) for row in expected)
    left: list[list[JsonValue]] = []
    for row in found:
        key = canonical(row)
        if counts[key] > 0:
            counts[key] -= 1
        else:
            left.append(row)
    missing: list[list[JsonValue]] = []
    for row in expected:
        key = canonical(row)
        if counts[key] <= 0:
            continue
        counts[key] -= 1
        place = next((index for index, other in enumerate(left) if _same(row, other)), None)
        if place is None:
            missing.append(row)
        else:
            del left[place]
    return missing, left


def _same(expected: list[JsonValue], found: list[JsonValue]) -> bool:
    return all(
        same_number(one, other, tolerance=0.0) if is_number(one) and is_number(other) else one == other
        for one, other in zip(expected, found, strict=True)
    )
