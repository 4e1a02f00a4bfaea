"""The contract of graders: one question about a finished episode, answered with a reward."""

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
    """True if it reads only the final world: a 1 then means that the task was done, whatever the agent says."""

    of_machine: ClassVar[bool] = False
    """True if it grades what was left on a machine: its example is then tried on one."""

    @abstractmethod
    async def grade(self, trajectory: Trajectory, world: FinishedWorld) -> Reward:
        """Return the reward; the caller fills in `grader`, `weight` and `gate`. Exceptions are recorded as failures of the grader."""

    async def decline(self, trajectory: Trajectory, world: FinishedWorld) -> Reward | None:
        """Return the reward if the agent declined an impossible task: 0 for harm; None if this grader does not judge that."""
        return None

    def gold(self, world: World, case: Mapping[str, JsonValue]) -> JsonValue:
        """Return the right answer that this grader computes for a case; None if it compares no answer. Raises InputError."""
        return None

    def check(self, world: World, case: Mapping[str, JsonValue]) -> None:
        """Raise InputError for knobs that cannot work: SQL that does not compile, a missing table."""
        return

    def check_here(self) -> None:
        """Raise InputError where what it runs programs in does not work here. Not asked for episodes that nothing is run for."""
        return

    def keeps_code(self, world: World, case: Mapping[str, JsonValue]) -> bool:
        """Return whether it earns nothing where a file of code on the machine is another one at the end, whoever changed it."""
        return False

    async def ready(self) -> None:
        """Check once, before any episode, that what the grader needs can be reached. Raises InputError."""
        return


def score(value: float, **detail: JsonValue) -> Reward:
    """Return a reward with this value; the caller adds label, weight and gate."""
    found: JsonObject = detail
    return Reward(grader="", value=value, detail=found)
