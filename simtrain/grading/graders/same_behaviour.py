"""Check that a repository does the same as before, by running one program over it before and after."""

import asyncio
from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field

from simtrain.contracts.grader import Grader, score
from simtrain.contracts.trajectory import Reward, Trajectory
from simtrain.contracts.world import FinishedWorld, World
from simtrain.grading.checkout import files_in, placed, run_script
from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject, JsonValue
from simtrain.worlds.machine.python_sandbox import require_sandbox


class SameBehaviour(Grader):
    """1 if a hidden program prints the same over the repository as it began and as it ended, else 0.

    The program calls the repository with generated inputs, and runs in the sandbox. A gate unless the rubric says otherwise.
    """

    example: ClassVar[JsonObject] = {
        "with": {
            "directory": "/srv/sums",
            "program": "select 'from sums import total; print([total(range(n)) for n in range(9)])'",
        }
    }
    of_machine: ClassVar[bool] = True
    gates: ClassVar[bool] = True
    of_world: ClassVar[bool] = True

    directory: str = Field(
        pattern=r"^/", description="The top of the repository on the machine; it may have {{ parameters }} of the case."
    )
    program: str = Field(description="SELECT over the initial world: one row with the text of the program.")
    sandbox: str = Field("wasm", description="Where it runs.")

    def check_here(self) -> None:
        require_sandbox(self.sandbox)

    def check(self, world: World, case: Mapping[str, JsonValue]) -> None:
        self.text(world, case)

    async def grade(self, trajectory: Trajectory, world: FinishedWorld) -> Reward:
        text = self.text(world.initial, trajectory.case)
        before, after = [
            await asyncio.to_thread(
                run_script, files_in(each, placed(self.directory, trajectory.case)), text, sandbox=self.sandbox
            )
            for each in (world.initial, world.final)
        ]
        if before == after:
            return score(1.0, lines=before.count("\n"))
        pairs = zip(before.splitlines(), after.splitlines(), strict=False)
        first = next(((one, other) for one, other in pairs if one != other), (before[-200:], after[-200:]))
        return score(0.0, reason=f"before it printed {first[0][:200]!r}, and now {first[1][:200]!r}")

    def text(self, world: World, case: Mapping[str, JsonValue]) -> str:
        """Return the program of a case. Raises InputError unless the query gives one."""
        rows = world.query(self.program, case)
        if len(rows) != 1 or len(rows[0]) != 1:
            raise InputError("the query must give one row with one column", place="program")
        return str(next(iter(rows[0].values())))
