"""Check that the agent declined when it had to, and changed nothing."""

from collections.abc import Mapping
from functools import cached_property

from pydantic import Field

from simtrain.contracts.grader import Grader, score
from simtrain.contracts.trajectory import Reward, Trajectory
from simtrain.contracts.world import FinishedWorld, World
from simtrain.values.types import JsonValue
from simtrain.worlds.sql_checks import AllowedChanges


class Abstention(Grader):
    """1 if the agent declined (with `expect: false`, answered) and changed nothing it should not, else 0."""

    expect: bool = Field(True, description="Whether the agent must decline; false asks for an answer.")
    changes_only: tuple[str, ...] | None = Field(
        None,
        description="Tables, or `table.column`, that may differ from the start; unset, none if the agent must "
        "decline, all if it must answer.",
    )

    @cached_property
    def _allowed(self) -> AllowedChanges | None:
        if self.changes_only is None:
            # Declining means that nothing was done; an answer may come with changes.
            return AllowedChanges(()) if self.expect else None
        return AllowedChanges(self.changes_only)

    def check(self, world: World, case: Mapping[str, JsonValue]) -> None:
        if self._allowed is not None:
            self._allowed.check(world, place="changes_only")

    def keeps_code(self, world: World, case: Mapping[str, JsonValue]) -> bool:
        return self._allowed is not None and not self._allowed.allows("files", "content")

    async def grade(self, trajectory: Trajectory, world: FinishedWorld) -> Reward:
        due = "abstained" if self.expect else "answered"
        if trajectory.stop.reason != due:
            return score(0.0, expected=due, found=trajectory.stop.reason)
        outside = self._allowed.outside(world.changes) if self._allowed is not None else None
        return score(1.0) if outside is None else score(0.0, reason=f"not allowed: {outside}")
