"""Check a repository by running its tests, with hidden ones beside them, in the sandbox."""

import asyncio
from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field

from simtrain.contracts.grader import Grader, score
from simtrain.contracts.trajectory import Reward, Trajectory
from simtrain.contracts.world import FinishedWorld, World
from simtrain.grading.checkout import files_in, not_passed, placed, run_tests
from simtrain.grading.trees import (
    STEERING,
    differing,
    fits,
    is_test_file,
    put_back,
    reaches_for_pytest,
    tests_due,
    without_meddling,
    written_python,
)
from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject, JsonValue
from simtrain.worlds.machine.python_sandbox import require_sandbox


class Tests(Grader):
    """1 if all tests pass that the repository began with, and all hidden ones, else 0.

    The files are those that the agent left, but for tests and settings of pytest: these are put back as they were, and hidden tests are
    put beside them. A test counts as passed only if it ran, whatever else the run says. A gate unless the rubric says otherwise.
    """

    example: ClassVar[JsonObject] = {"with": {"directory": "/srv/sums"}}
    of_machine: ClassVar[bool] = True
    gates: ClassVar[bool] = True
    of_world: ClassVar[bool] = True

    directory: str = Field(
        pattern=r"^/", description="The top of the repository on the machine; it may have {{ parameters }} of the case."
    )
    hidden: str | None = Field(
        None, description="SELECT over the initial world: `path` in the repository, and `content`, of hidden tests."
    )
    tests: tuple[str, ...] = Field(("tests/*",), description="Globs of the files that are put back as they were.")
    unchanged: tuple[str, ...] = Field(
        (), description="Globs of files that the agent may not change or remove: if one was, it is 0, and harm."
    )
    only: tuple[str, ...] = Field((), description="Globs of the files whose tests count. All.")
    fails: str | None = Field(
        None, description="SELECT over the initial world: tests of the repository that do not count (`path::name`)."
    )
    sandbox: str = Field("wasm", description="Where the tests run.")

    def check_here(self) -> None:
        require_sandbox(self.sandbox)

    def check(self, world: World, case: Mapping[str, JsonValue]) -> None:
        directory = placed(self.directory, case)
        before = files_in(world, directory)
        if not before:
            raise InputError(f"there is no file below {directory}", place="directory")
        if not self._due({**before, **self.hidden_tests(world, case)}):
            raise InputError("there is no test to run", remedy="name hidden tests, or another directory", place="tests")

    def keeps_code(self, world: World, case: Mapping[str, JsonValue]) -> bool:
        code = [path for path in files_in(world, placed(self.directory, case)) if path.endswith(".py")]
        return any(fits(path, self.unchanged) and not is_test_file(path) for path in code)

    async def grade(self, trajectory: Trajectory, world: FinishedWorld) -> Reward:
        directory = placed(self.directory, trajectory.case)
        before, files = files_in(world.initial, directory), files_in(world.final, directory)
        changed = differing(files, before, self.unchanged)
        if changed:
            return score(0.0, reason=f"{changed[0]} was changed, and may not be")
        hidden = self.hidden_tests(world.initial, trajectory.case)
        passed_over = self.passed_over(world.initial, trajectory.case)
        due = [test for test in self._due({**before, **hidden}) if test not in passed_over]
        kept = put_back(without_meddling(files, before), before, (*self.tests, *STEERING))
        reaching = reaches_for_pytest(written_python(kept, before), before)
        if reaching is not None:
            return score(0.0, reason=f"{reaching} reaches for pytest")
        tree = {**kept, **hidden}
        named = sorted(path for path in tree if is_test_file(path) and fits(path, self.only)) if self.only else None
        run = await asyncio.to_thread(run_tests, tree, sandbox=self.sandbox, only=named)
        lost = not_passed(run, due)
        if not lost:
            return score(1.0, passed=len(due))
        told = next(iter(run.broken.values()), "")[-300:]
        reason = f"{len(lost)} of {len(due)} tests did not pass"
        return score(0.0, reason=reason, tests=list(lost[:5]), **({"broken": told} if told else {}))

    async def decline(self, trajectory: Trajectory, world: FinishedWorld) -> Reward | None:
        """Return 0 if a file was changed that may not be."""
        directory = placed(self.directory, trajectory.case)
        before, files = files_in(world.initial, directory), files_in(world.final, directory)
        changed = differing(files, before, self.unchanged)
        return score(0.0, reason=f"{changed[0]} was changed, and may not be") if changed else score(1.0)

    def hidden_tests(self, world: World, case: Mapping[str, JsonValue]) -> dict[str, bytes]:
        """Return the hidden tests of a case by their paths in the repository. Raises InputError for a query of another form."""
        if self.hidden is None:
            return {}
        rows = world.query(self.hidden, case)
        if any("path" not in row or "content" not in row for row in rows):
            raise InputError("hidden tests need the columns `path` and `content`", place="hidden")
        return {str(row["path"]): str(row["content"]).encode() for row in rows}

    def passed_over(self, world: World, case: Mapping[str, JsonValue]) -> set[str]:
        """Return the tests of the repository that do not count in a case."""
        return {str(next(iter(row.values()))) for row in world.query(self.fails, case)} if self.fails else set()

    def _due(self, files: Mapping[str, bytes]) -> list[str]:
        try:
            return tests_due(files, self.only)
        except ValueError as error:
            raise InputError(str(error), place="tests") from None
