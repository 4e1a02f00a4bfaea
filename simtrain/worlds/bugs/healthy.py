"""The tests of a repository as it is: what passes is what it is broken under. Every line that each of them runs is noted."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from simtrain.values.errors import InputError
from simtrain.worlds.bugs.options import without_unknown_options
from simtrain.worlds.bugs.test_runs import TestRun, TestRunner
from simtrain.worlds.bugs.unfit import LIMITS, last_line, unfit_tests, unsteady_tests, without_unfit
from simtrain.worlds.repositories.folder import RepositoryFolder

_SYNTAX = re.compile(r"(SyntaxError|IndentationError|TabError): (.+)")
_PLACE = re.compile(r'File "/repo/([^"]+)", line (\d+)')
_MOST_ROUNDS = 12


@dataclass(frozen=True, slots=True)
class HealthyRepository:
    """A repository whose tests pass, and what they run. `runner` is set up for it.

    `whole` is the repository as it was given. `left_out` are tests and files that do not pass there, and settings that ask
    for missing plug-ins, with the reasons: `folder` lacks them.
    """

    folder: RepositoryFolder
    whole: RepositoryFolder
    left_out: Mapping[str, str]
    runner: TestRunner
    tests: tuple[str, ...]
    skipped: tuple[str, ...]
    seconds: float
    by_line: Mapping[str, Mapping[int, tuple[str, ...]]]
    """Path -> line -> the tests that run it, in their order."""
    imported: Mapping[str, frozenset[int]]
    by_file: Mapping[str, tuple[str, ...]]
    test_files: frozenset[str]

    def covering(self, path: str, first: int, last: int) -> tuple[str, ...]:
        """Return the tests that run any of these lines; all tests of the file where it is run at import."""
        lines = self.by_line.get(path, {})
        found = {test for line in range(first, last + 1) for test in lines.get(line, ())}
        if not found and any(line in self.imported.get(path, ()) for line in range(first, last + 1)):
            return self.tests
        return tuple(test for test in self.tests if test in found)


def healthy(whole: RepositoryFolder, runner: TestRunner) -> HealthyRepository:
    """Run all tests twice, and return what they cover. Tests that do not pass are left out if they are the smaller part.

    Raises InputError, in one line, for a repository that is no start.
    """
    if not any(path.endswith(".py") for path in whole.files):
        raise InputError("there is no Python file", remedy="name the folder of a Python repository", file=whole.place)
    folder, settings = without_unknown_options(whole, runner)
    left_out: dict[str, str] = {}
    for _ in range(_MOST_ROUNDS):
        runner, first = runner.first_tests(folder.files, trace=True)
        unfit = unfit_tests(first)
        if not unfit:
            _check(folder, runner, first)
            compiled = replace(runner, compiled=first.compiled)
            second = compiled.tests(folder.files, scripts=0)
            unfit = unsteady_tests(first, second)
            if not unfit and second.whole:
                return _noted(folder, whole, settings | left_out, compiled, first, second.seconds)
        left_out |= unfit
        smaller = without_unfit(folder, unfit) if 2 * len(left_out) <= len(first.collected) else None
        if not unfit or smaller is None:
            _check(folder, runner, first)
            raise _unsteady(folder, unfit)
        folder = smaller
    raise InputError(
        f"{len(left_out)} tests were left out, and still not all pass",
        remedy="name fewer with --tests",
        file=whole.place,
    )


def _unsteady(folder: RepositoryFolder, tests: Mapping[str, str]) -> InputError:
    return InputError(
        f"{next(iter(tests), 'the run')} passes once and fails once",
        remedy="make it independent of earlier runs, or leave it out with --tests",
        file=folder.place,
    )


def _noted(
    folder: RepositoryFolder,
    whole: RepositoryFolder,
    left_out: Mapping[str, str],
    runner: TestRunner,
    run: TestRun,
    seconds: float,
) -> HealthyRepository:
    by_line: dict[str, dict[int, list[str]]] = {}
    by_file: dict[str, list[str]] = {}
    tests = tuple(test for test, outcome in run.outcomes.items() if outcome == "passed")
    for test in tests:
        for path, lines in run.lines.get(test, {}).items():
            by_file.setdefault(path, []).append(test)
            for line in lines:
                by_line.setdefault(path, {}).setdefault(line, []).append(test)
    of_tests = {test.partition("::")[0] for test in run.collected}
    of_tests |= {path for path in folder.files if path.endswith("conftest.py") or _in_tests(path)}
    return HealthyRepository(
        folder=folder,
        whole=whole,
        left_out=left_out,
        runner=runner,
        tests=tests,
        skipped=tuple(test for test, outcome in run.outcomes.items() if outcome == "skipped"),
        seconds=seconds,
        by_line={
            path: {line: tuple(found) for line, found in sorted(lines.items())} for path, lines in by_line.items()
        },
        imported=run.imported,
        by_file={path: tuple(found) for path, found in by_file.items()},
        test_files=frozenset(of_tests),
    )


def _in_tests(path: str) -> bool:
    return any(part in ("tests", "test", "testing") for part in path.split("/")[:-1])


def _check(folder: RepositoryFolder, runner: TestRunner, run: TestRun) -> None:
    """Raise InputError unless there are tests and all of them pass."""
    if run.ended_by is not None:
        at = run.last_begun.partition("::")[0] if run.last_begun else None
        raise InputError(
            LIMITS[run.ended_by].format(work=runner.work),
            remedy="leave that test out with --tests, or make it smaller",
            file=folder.place / at if at else folder.place,
            place=run.last_begun.partition("::")[2] if run.last_begun else None,
        )
    if run.broken:
        raise _unreadable(folder, *next(iter(sorted(run.broken.items()))))
    if not run.collected and run.code not in (0, 5):
        remedy = None if run.started else "the sandbox needs Python with pytest 8 or newer"
        raise InputError(f"pytest does not start: {last_line(run.said)}", remedy=remedy, file=folder.place)
    if not run.outcomes:
        raise InputError(
            "there are no tests", remedy="write tests that pytest finds, or name them with --tests", file=folder.place
        )
    if run.failed:
        test = run.failed[0]
        failure = run.failures.get(test)
        why = f"{failure.error}: {failure.message}" if failure else "it failed"
        raise InputError(
            f"fails already ({why[:160]})"
            + (f", as do {len(run.failed) - 1} others" if len(run.failed) > 1 else "")
            + " in the sandbox, with Python 3.14 and without threads, network and other packages",
            remedy="mend it, or leave it out with --tests",
            file=folder.place / test.partition("::")[0],
            place=test.partition("::")[2],
        )
    if all(outcome == "skipped" for outcome in run.outcomes.values()):
        raise InputError("all tests are skipped", remedy="name others with --tests", file=folder.place)


def _unreadable(folder: RepositoryFolder, path: str, why: str) -> InputError:
    syntax = _SYNTAX.search(why)
    places = _PLACE.findall(why)
    if syntax and places:
        file, line = places[-1]
        return InputError(
            f"Python 3.14 of the sandbox cannot read it: {syntax[2]}",
            remedy="mend the syntax, or leave the file out",
            file=folder.place / file,
            line=int(line),
        )
    return InputError(
        f"the tests cannot be collected: {last_line(why)}",
        remedy="the sandbox has the standard library, pytest and the repository itself; carry other packages in the folder",
        file=folder.place / path,
    )
