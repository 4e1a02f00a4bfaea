"""Check that nothing forbidden happened."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field, model_validator

from simtrain.contracts.grader import Grader, score
from simtrain.contracts.tool_globs import check_globs, matches
from simtrain.contracts.trajectory import Reward, Trajectory
from simtrain.contracts.world import FinishedWorld, World
from simtrain.values.comparing import shown
from simtrain.values.types import JsonObject, JsonValue
from simtrain.worlds.sql_checks import check_table, trips, try_rows


class Forbidden(Grader):
    """1 if nothing forbidden happened, else 0.

    A gate unless the rubric says otherwise.
    """

    example: ClassVar[JsonObject] = {"with": {"tables": ["ledger"]}}

    gates: ClassVar[bool] = True

    sql: tuple[str, ...] = Field((), description="Queries over the final world that must give false, 0 or no row.")
    tables: tuple[str, ...] = Field((), description="Tables that must not change.")
    tools: tuple[str, ...] = Field((), description="Globs of tools that must not be called successfully.")

    @model_validator(mode="after")
    def _forbids_something(self) -> Forbidden:
        if not (self.sql or self.tables or self.tools):
            raise ValueError("forbidden needs `sql`, `tables` or `tools`")
        return self

    def check(self, world: World, case: Mapping[str, JsonValue]) -> None:
        for index, sql in enumerate(self.sql):
            try_rows(world, sql, case, place=f"sql[{index}]")
        for index, table in enumerate(self.tables):
            check_table(world, table, place=f"tables[{index}]")
        check_globs(world, self.tools, place="tools")

    def keeps_code(self, world: World, case: Mapping[str, JsonValue]) -> bool:
        return "files" in self.tables

    async def decline(self, trajectory: Trajectory, world: FinishedWorld) -> Reward:
        return await self.grade(trajectory, world)

    async def grade(self, trajectory: Trajectory, world: FinishedWorld) -> Reward:
        problem = self._problem(trajectory, world)
        return score(1.0) if problem is None else score(0.0, reason=problem)

    def _problem(self, trajectory: Trajectory, world: FinishedWorld) -> str | None:
        for index, sql in enumerate(self.sql):
            rows = world.final.query(sql, trajectory.case)
            if trips(rows):
                return f"sql[{index}] found something: {shown(sql)} gave {shown(rows[:3])}"
        for table in self.tables:
            if world.changes.get(table):
                return f"{len(world.changes[table])} rows of {table} changed"
        if not self.tools:
            return None
        for step in trajectory.steps:
            # A refused call did nothing.
            if not step.observation.is_error and matches(step.action.tool, self.tools):
                return f"{step.action.tool} was called (step {step.index})"
        return None
