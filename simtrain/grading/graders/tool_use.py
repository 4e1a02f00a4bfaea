"""Check how the agent used its tools: which it had to call or avoid, in which order, and how often."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

from pydantic import Field, model_validator

from simtrain.contracts.grader import Grader, score
from simtrain.contracts.tool_globs import check_globs, matches
from simtrain.contracts.trajectory import Reward, Step, Trajectory
from simtrain.contracts.world import FinishedWorld, World
from simtrain.values.types import JsonObject, JsonValue


class ToolUse(Grader):
    """The share of the stated conditions that hold.

    Each glob of `require` and `forbid` is one condition; every other knob is one.
    """

    example: ClassVar[JsonObject] = {"with": {"require": ["orders.place"]}}

    require: tuple[str, ...] = Field(
        (), description="Globs of tools of which each must be called successfully at least once."
    )
    forbid: tuple[str, ...] = Field((), description="Globs of tools that must not be called at all.")
    order: tuple[str, ...] = Field(
        (), description="Globs that successful calls must match in this sequence; others may lie between."
    )
    max_calls: int | None = Field(None, ge=0, description="How many calls may be made.")
    max_errors: int | None = Field(None, ge=0, description="How many calls may be answered by an error.")

    @model_validator(mode="after")
    def _states_something(self) -> ToolUse:
        if not (self.require or self.forbid or self.order or self.max_calls is not None or self.max_errors is not None):
            raise ValueError("tool_use needs at least one condition")
        return self

    def check(self, world: World, case: Mapping[str, JsonValue]) -> None:
        check_globs(world, self.require, place="require")
        check_globs(world, self.forbid, place="forbid")
        check_globs(world, self.order, place="order")

    async def grade(self, trajectory: Trajectory, world: FinishedWorld) -> Reward:
        conditions = list(self._conditions(trajectory.steps))
        broken = [name for name, held in conditions if not held]
        value = 1 - len(broken) / len(conditions)
        return score(value, broken=broken[:8]) if broken else score(1.0)

    def _conditions(self, steps: list[Step]) -> Iterator[tuple[str, bool]]:
        called = [step.action.tool for step in steps]
        done = [step.action.tool for step in steps if not step.observation.is_error]
        for glob in self.require:
            yield f"require {glob}", any(matches(tool, glob) for tool in done)
        for glob in self.forbid:
            yield f"forbid {glob}", not any(matches(tool, glob) for tool in called)
        if self.order:
            yield f"order {', '.join(self.order)}", _in_order(done, self.order)
        if self.max_calls is not None:
            yield f"max_calls {self.max_calls} ({len(called)} made)", len(called) <= self.max_calls
        if self.max_errors is not None:
            errors = len(called) - len(done)
            yield f"max_errors {self.max_errors} ({errors} seen)", errors <= self.max_errors


def _in_order(tools: list[str], globs: tuple[str, ...]) -> bool:
    # One iterator for all globs: each search goes on after the last hit, which makes it a test for a subsequence.
    rest = iter(tools)
    return all(any(matches(tool, glob) for tool in rest) for glob in globs)
