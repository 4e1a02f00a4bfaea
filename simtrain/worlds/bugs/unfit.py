"""Tests of a repository that do not pass as it is: they are left out of it before it is broken."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from simtrain.worlds.bugs.hiding import function_of, without_tests
from simtrain.worlds.bugs.test_runs import TestRun
from simtrain.worlds.repositories.folder import RepositoryFolder

LIMITS = {
    "work": "the tests compute for more than {work:g} s",
    "seconds": "the tests wait for more than ten minutes of virtual time",
    "wall": "the tests do not end within two minutes",
    "memory": "the tests need more than 256 MiB of memory",
    "output": "the tests print more than 1 MiB",
    "scratch": "the tests write more than 64 MiB to disk",
    "crash": "the interpreter fails while the tests run",
}
"""What ended a run of all tests, by the name of the limit."""
_OF_ONE_TEST = ("seconds", "memory", "scratch", "crash")


def unfit_tests(run: TestRun) -> dict[str, str]:
    """Return the tests, and the files that cannot be collected, which do not pass, each with the reason."""
    if run.ended_by is not None:
        return {run.last_begun: LIMITS[run.ended_by]} if run.ended_by in _OF_ONE_TEST and run.last_begun else {}
    if run.broken:
        return {path: last_line(why) for path, why in sorted(run.broken.items())}
    return {test: _why(run, test) for test in run.failed}


def unsteady_tests(first: TestRun, second: TestRun) -> dict[str, str]:
    """Return the tests that ended otherwise in the second run."""
    found = sorted(test for test in first.outcomes if second.outcomes.get(test) != first.outcomes[test])
    return dict.fromkeys(found, "passes once and fails once")


def without_unfit(folder: RepositoryFolder, unfit: Iterable[str]) -> RepositoryFolder | None:
    """Return a repository without these tests and files; None where one of them is in no file of it.

    A test that cannot be taken out of its file, for instance since its class inherits it, goes with the whole file.
    """
    files = dict(folder.files)
    by_path: dict[str, set[str]] = {}
    for name in unfit:
        by_path.setdefault(name.partition("::")[0], set()).add(name)
    for path, names in by_path.items():
        if path not in files:
            return None
        kept = None if path in names else without_tests(files, {function_of(name) for name in names})
        if kept is None:
            del files[path]
        else:
            files |= kept
    return replace(folder, files=files)


def texts_left_out(whole: RepositoryFolder, folder: RepositoryFolder) -> tuple[dict[str, str], dict[str, str]]:
    """Return the files in which the two differ: as they are in the whole repository, and as they are without unfit tests."""
    changed = [path for path, content in whole.files.items() if folder.files.get(path) != content]
    return _texts(whole.files, changed), _texts(folder.files, changed)


def last_line(text: str) -> str:
    """Return the line of an error that says what it is."""
    lines = [line.removeprefix("E ").strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if "Error" in line or "error" in line]
    return (errors or lines or ["no reason given"])[-1][:200]


def _texts(files: Mapping[str, bytes], paths: Iterable[str]) -> dict[str, str]:
    return {path: files[path].decode() for path in paths if path in files}


def _why(run: TestRun, test: str) -> str:
    failure = run.failures.get(test)
    return f"{failure.error}: {failure.message}"[:160] if failure else "it failed"
