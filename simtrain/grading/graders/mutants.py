"""Check the tests that an agent wrote by the faults that they find."""

import asyncio
from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field

from simtrain.contracts.grader import Grader, score
from simtrain.contracts.trajectory import Reward, Trajectory
from simtrain.contracts.world import FinishedWorld, World
from simtrain.grading.checkout import files_in, placed, run_tests
from simtrain.grading.trees import STEERING, fits, look_at_code, remarked, test_functions, written_tests
from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject, JsonValue
from simtrain.worlds.machine.python_sandbox import require_sandbox


class Mutants(Grader):
    """The share of mutants that the agent's tests kill: one fails on the mutant. 0 if one fails on the code itself.

    The tests are those that the agent left; all else in the repository is as it was. A mutant is the code with one text replaced.
    Tests that look at the code itself earn nothing: those that get at its text or byte code by a module, an attribute or its file name,
    and those that know its length or a checksum, since code and mutants have a remark at their end.
    """

    example: ClassVar[JsonObject] = {
        "with": {
            "directory": "/srv/sums",
            "mutants": "select 'most' as name, 'sums.py' as path, 'sum(prices)' as code, 'max(prices)' as mutant",
        }
    }
    of_machine: ClassVar[bool] = True

    directory: str = Field(
        pattern=r"^/", description="The top of the repository on the machine; it may have {{ parameters }} of the case."
    )
    mutants: str = Field(
        description="SELECT over the initial world: `name`, `path`, `code` that is there, and `mutant` for it."
    )
    tests: tuple[str, ...] = Field(("tests/*",), description="Globs of the files with the agent's tests.")
    sandbox: str = Field("wasm", description="Where the tests run.")

    def check_here(self) -> None:
        require_sandbox(self.sandbox)

    def check(self, world: World, case: Mapping[str, JsonValue]) -> None:
        if not self.made(world, case):
            raise InputError("the query yields no mutant", place="mutants")

    async def grade(self, trajectory: Trajectory, world: FinishedWorld) -> Reward:
        directory = placed(self.directory, trajectory.case)
        before, files = files_in(world.initial, directory), files_in(world.final, directory)
        written = written_tests(files, before, self.tests)
        changed = list(written)
        if not changed:
            return score(0.0, reason="no test was written")
        tested = {**before, **{path: written[path] for path in changed if not fits(path, STEERING)}}
        mutants = self.made(world.initial, trajectory.case)
        mutated = sorted({path for made in mutants.values() for path in made})
        try:
            new = [test for path in changed for test in test_functions(path, written[path])]
            looks = look_at_code(written, before, mutated)
        except ValueError as error:
            return score(0.0, reason=str(error))
        if not new:
            return score(0.0, reason="no test was written")
        if looks is not None:
            return score(0.0, reason=f"{looks} looks at the code itself, not at what it does")
        code = remarked({path: before[path] for path in mutated})
        run = await asyncio.to_thread(run_tests, {**tested, **code}, sandbox=self.sandbox, only=changed)
        if not run.whole or run.failed or set(run.outcomes.values()) != {"passed"}:
            lost = next(iter(run.failed or run.broken), "the run")
            return score(0.0, reason=f"{lost} does not pass on the code as it is")
        killed: list[JsonValue] = []
        alive: list[JsonValue] = []
        for name, changes in mutants.items():
            found = await asyncio.to_thread(
                run_tests, {**tested, **code, **remarked(changes)}, sandbox=self.sandbox, only=changed
            )
            (alive if found.whole and not found.failed else killed).append(name)
        return score(len(killed) / (len(killed) + len(alive)), killed=killed, alive=alive)

    def made(self, world: World, case: Mapping[str, JsonValue]) -> dict[str, dict[str, bytes]]:
        """Return the changed file of each mutant. Raises InputError for one whose code is not there."""
        before = files_in(world, placed(self.directory, case))
        made: dict[str, dict[str, bytes]] = {}
        for row in world.query(self.mutants, case):
            path, code, mutant = str(row["path"]), str(row["code"]).encode(), str(row["mutant"]).encode()
            if code not in before.get(path, b""):
                raise InputError(f"the code of the mutant {row['name']!r} is not in {path}", place="mutants")
            made[str(row["name"])] = {path: before[path].replace(code, mutant)}
        return made
