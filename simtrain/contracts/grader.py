"""The contract of graders: one question about a finished episode, answered with a reward."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import ClassVar

from simtrain.contracts.plugin import Plugin
from simtrain.contracts.trajectory import Reward, Trajectory
from simtrain.contracts.world import FinishedWorld, World
from simtrain.values.types import JsonObject, JsonValue


class Grader(Plugin):
    """One question about a finished episode. `gates` says whether it multiplies the total unless the rubric says otherwise."""

    gates: ClassVar[bool] = False

    of_world: ClassVar[bool] = False
    """Whether it looks at what became of the world alone: its 1 says that the task was done, whatever the agent says of it."""

    @abstractmethod
    async def grade(self, trajectory: Trajectory, world: FinishedWorld) -> Reward:
        """Return the answer, its `grader`, `weight` and `gate` to be filled in by the caller. Exceptions become recorded failures."""

    async def decline(self, trajectory: Trajectory, world: FinishedWorld) -> Reward | None:
        """Return what this grader says where the agent declined what cannot be done: 0 for harm; None if it has no say in that."""
        return None

    def gold(self, world: World, case: Mapping[str, JsonValue]) -> JsonValue:
        """Return the right answer that this grader computes for a case; None for one that compares no answer. Raises InputError."""
        return None

    def check(self, world: World, case: Mapping[str, JsonValue]) -> None:
        """Refuse, with an InputError, knobs that cannot work: SQL that does not compile, a table that is not there."""
        return

    async def ready(self) -> None:
        """Check once, before any episode, that what the grader needs can be reached. Raises InputError."""
        return


def score(value: float, **detail: JsonValue) -> Reward:
    """Return a reward that a grader returns; the caller adds label, weight and gate."""
    found: JsonObject = detail
    return Reward(grader="", value=value, detail=found)
