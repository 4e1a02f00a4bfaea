"""A repository in the tables of a machine world, and runs of its tests in the sandbox, from outside of the world.

The files are taken from SQL, so that nothing that the agent left on the machine has a part in how they are run.
"""

import ast
import sys
from base64 import b64decode
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from hashlib import blake2b

from simtrain.contracts.queried import Queried
from simtrain.files.templates import Text
from simtrain.values.errors import InputError
from simtrain.values.types import JsonValue
from simtrain.worlds.bugs.test_runs import TestRun, TestRunner
from simtrain.worlds.machine.python_sandbox import opened_sandbox

_FILES = "select path, content, base64 from files where kind = 'file' and path like :below order by path"
_ALIKE = frozenset({"wasm"})
_REMEMBERED = 64
_runs: dict[bytes, TestRun] = {}
_CACHES = ("__pycache__/", ".git/", ".pytest_cache/")
_OF_THE_RUN = sys.stdlib_module_names | {
    "pytest",
    "_pytest",
    "pluggy",
    "iniconfig",
    "packaging",
    "pygments",
    "reproducing",
}
STEERING = ("conftest.py", "**/conftest.py", "pyproject.toml", "pytest.ini", "tox.ini", "setup.cfg", "sitecustomize.py")
"""Files by which a test run can be steered. They are put back as they were before hidden tests run."""


def files_in(world: Queried, directory: str) -> dict[str, bytes]:
    """Return the files below a directory, by their paths in it, without caches and what belongs to git."""
    top = f"{directory.rstrip('/')}/"
    found: dict[str, bytes] = {}
    for row in world.query(_FILES, {"below": f"{top}%"}):
        path = str(row["path"])[len(top) :]
        if not any(f"/{path}".find(f"/{cache}") >= 0 for cache in _CACHES):
            found[path] = b64decode(row["base64"]) if row["base64"] else str(row["content"] or "").encode()
    return found


def placed(directory: str, case: Mapping[str, JsonValue]) -> str:
    """Return the directory of a case; a scenario may write it with {{ parameters }}."""
    return Text(directory).render(case) if "{" in directory else directory


def fits(path: str, globs: Sequence[str]) -> bool:
    """Return whether a path fits one of some globs; `*` goes over slashes too."""
    return any(fnmatchcase(path, glob) for glob in globs)


def put_back(files: Mapping[str, bytes], before: Mapping[str, bytes], globs: Sequence[str]) -> dict[str, bytes]:
    """Return files with those that fit some globs as they were before: new ones are left out."""
    kept = {path: content for path, content in files.items() if not fits(path, globs)}
    return {**kept, **{path: content for path, content in before.items() if fits(path, globs)}}


def without_shadows(files: Mapping[str, bytes], before: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return files without new ones at the top that hide a module of Python or of pytest from the run."""
    return {
        path: content
        for path, content in files.items()
        if path in before or path.partition("/")[0].removesuffix(".py") not in _OF_THE_RUN
    }


def differing(files: Mapping[str, bytes], before: Mapping[str, bytes], globs: Sequence[str]) -> list[str]:
    """Return the files that were there before, fit some globs, and are gone or changed."""
    return [path for path, content in before.items() if fits(path, globs) and files.get(path) != content]


def test_functions(path: str, content: bytes) -> list[str]:
    """Return the tests that a file defines, as `path::name` or `path::Class::name`, by its syntax alone. Raises InputError."""
    try:
        tree = ast.parse(content)
    except SyntaxError as error:
        raise InputError(f"{path}:{error.lineno}: is no Python: {error.msg}") from None
    found: list[str] = []
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test"):
            found.append(f"{path}::{node.name}")
        elif isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
            found += [
                f"{path}::{node.name}::{each.name}"
                for each in node.body
                if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef) and each.name.startswith("test")
            ]
    return found


def is_test_file(path: str) -> bool:
    """Return whether pytest looks for tests in a file."""
    name = path.rpartition("/")[2]
    return name.endswith(".py") and (name.startswith("test_") or name.endswith("_test.py"))


def run_tests(files: Mapping[str, bytes], *, sandbox: str, only: Sequence[str] | None = None) -> TestRun:
    """Run the tests of some files; `only` names files or tests. Raises InputError where the sandbox does not work.

    A sandbox in which the same files always end alike is asked once about them.
    """
    if sandbox not in _ALIKE:
        return TestRunner(opened_sandbox(sandbox)).tests(files, only, scripts=0)
    digest = blake2b(repr((sandbox, None if only is None else tuple(only))).encode(), digest_size=16)
    for path in sorted(files):
        digest.update(f"\0{path}\0{len(files[path])}\0".encode() + files[path])
    key = digest.digest()
    found = _runs.get(key)
    if found is None:
        found = TestRunner(opened_sandbox(sandbox)).tests(files, only, scripts=0)
        _runs[key] = found
        while len(_runs) > _REMEMBERED:
            # Another thread may have been quicker.
            _runs.pop(next(iter(_runs)), None)
    return found


def run_script(files: Mapping[str, bytes], script: str, *, sandbox: str) -> str:
    """Return what a script beside the files prints, or the last line of its error."""
    ran = TestRunner(opened_sandbox(sandbox)).script(files, script)
    return ran.error if ran.error or ran.ended_by else ran.printed


def not_passed(run: TestRun, due: Sequence[str]) -> list[str]:
    """Return those of the tests that are due which did not pass, each with what came of it."""
    lost: list[str] = []
    for test in due:
        outcomes = [outcome for name, outcome in run.outcomes.items() if name == test or name.startswith(f"{test}[")]
        if not outcomes or any(outcome != "passed" for outcome in outcomes):
            why = next((run.failures[name] for name in run.failures if name.partition("[")[0] == test), None)
            said = "" if why is None else why.message.strip().partition("\n")[0][:200]
            told = "did not run" if why is None else f"{why.error}: {said}" if said else why.error
            lost.append(f"{test} ({told})")
    return lost
