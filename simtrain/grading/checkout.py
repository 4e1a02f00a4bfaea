"""A repository in the tables of a machine world, and runs of its tests in the sandbox, from outside of the world.

The files are taken from SQL, so that nothing that the agent left on the machine has a part in how they are run.
"""

from base64 import b64decode
from collections.abc import Mapping, Sequence
from hashlib import blake2b

from simtrain.contracts.queried import Queried
from simtrain.files.templates import Text
from simtrain.grading.trees import is_cached, lost_tests
from simtrain.values.errors import SimulatorFault
from simtrain.values.types import JsonValue
from simtrain.worlds.bugs.test_runs import TestRun, TestRunner
from simtrain.worlds.bugs.unfit import last_line
from simtrain.worlds.machine.python_sandbox import opened_sandbox

_FILES = "select path, content, base64 from files where kind = 'file' and path like :below order by path"
_ALIKE = frozenset({"wasm"})
_REMEMBERED = 64
_runs: dict[bytes, TestRun] = {}


def files_in(world: Queried, directory: str) -> dict[str, bytes]:
    """Return the files below a directory, by their paths in it, without caches and what belongs to git."""
    top = f"{directory.rstrip('/')}/"
    found: dict[str, bytes] = {}
    for row in world.query(_FILES, {"below": f"{top}%"}):
        path = str(row["path"])[len(top) :]
        if not is_cached(path):
            found[path] = b64decode(row["base64"]) if row["base64"] else str(row["content"] or "").encode()
    return found


def placed(directory: str, case: Mapping[str, JsonValue]) -> str:
    """Return the directory of a case; a scenario may write it with {{ parameters }}."""
    return Text(directory).render(case) if "{" in directory else directory


def run_tests(files: Mapping[str, bytes], *, sandbox: str, only: Sequence[str] | None = None) -> TestRun:
    """Run the tests of some files; `only` names files or tests.

    A sandbox in which the same files always end alike is asked once about them. Raises InputError where the sandbox does not work,
    SimulatorFault where it has no pytest that serves.
    """
    if sandbox not in _ALIKE:
        return _ran(files, sandbox, only)
    digest = blake2b(repr((sandbox, None if only is None else tuple(only))).encode(), digest_size=16)
    for path in sorted(files):
        digest.update(f"\0{path}\0{len(files[path])}\0".encode() + files[path])
    key = digest.digest()
    found = _runs.get(key)
    if found is None:
        found = _ran(files, sandbox, only)
        _runs[key] = found
        while len(_runs) > _REMEMBERED:
            # Another thread may have been quicker.
            _runs.pop(next(iter(_runs)), None)
    return found


def _ran(files: Mapping[str, bytes], sandbox: str, only: Sequence[str] | None) -> TestRun:
    run = TestRunner(opened_sandbox(sandbox)).first_tests(files, only)[1]
    if not run.started and run.ended_by is None:
        raise SimulatorFault(f"pytest does not start in the sandbox `{sandbox}`: {last_line(run.said)}")
    return run


def run_script(files: Mapping[str, bytes], script: str, *, sandbox: str) -> str:
    """Return what a script beside the files prints, or the last line of its error."""
    ran = TestRunner(opened_sandbox(sandbox)).script(files, script)
    return ran.error if ran.error or ran.ended_by else ran.printed


def not_passed(run: TestRun, due: Sequence[str]) -> list[str]:
    """Return those of the tests that are due which did not pass, each with what came of it."""
    lost: list[str] = []
    for test in lost_tests(run.outcomes, due):
        why = next((run.failures[name] for name in run.failures if name.partition("[")[0] == test), None)
        said = "" if why is None else why.message.strip().partition("\n")[0][:200]
        told = "did not run" if why is None else f"{why.error}: {said}" if said else why.error
        lost.append(f"{test} ({told})")
    return lost
