"""Graders that run a repository's tests: what earns a reward, and what only looks as though it did."""

import asyncio
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from broken_repositories import GREEN
from containers import need_docker

from simtrain.contracts.grader import Grader
from simtrain.contracts.trajectory import Reward, Trajectory
from simtrain.contracts.world import FinishedWorld
from simtrain.files.yaml_files import parse_document
from simtrain.grading.graders import tests as by_tests
from simtrain.grading.graders.mutants import Mutants
from simtrain.grading.graders.same_behaviour import SameBehaviour
from simtrain.testing.example_worlds import play_example
from simtrain.values.errors import InputError, SimulatorFault
from simtrain.worlds.machine.source import MachineSource
from simtrain.worlds.machine.world import MachineWorld
from tests.support.sandboxes import opened

pytestmark = [pytest.mark.slow, pytest.mark.full]

FILE = """
kind: machine
name: shed
clock: {start: 2031-03-03T09:00:00Z, per_step: 0s}
hostname: oak
user: ann
users: {ann: {}}
schema: |
  create table hidden_tests (path text, content text);
  create table faults (name text, path text, code text, mutant text);
rows:
  hidden_tests:
    - path: tests/test_hidden.py
      content: |
        from sums import total


        def test_nothing_is_zero():
            assert total([]) == 0


        class TestOfMany:
            def test_all_count(self):
                assert total([1, 2, 3]) == 6
  faults:
    - {name: first_lost, path: sums.py, code: "sum(prices)", mutant: "sum(prices[1:])"}
    - {name: largest, path: sums.py, code: "sum(prices)", mutant: "max(prices, default=0)"}
files:
  - {path: /srv/sums/sums.py, content: "def total(prices):\\n    return sum(prices)\\n", owner: ann}
  - path: /srv/sums/tests/test_sums.py
    content: "from sums import total\\n\\n\\ndef test_one():\\n    assert total([2]) == 2\\n"
    owner: ann
"""
CODE, TEST = "/srv/sums/sums.py", "/srv/sums/tests/test_sums.py"
BROKEN = "def total(prices):\n    return sum(prices[1:])\n"
METADATA = "Metadata-Version: 2.1\nName: green\nVersion: 1\n"
ENTRY = "[pytest11]\ngreen = green\n"
REACHING = "import _pytest.python\n\n_pytest.python.Function.runtest = lambda self: None\n"
FORGED = """\
import os
import sys

if len(sys.argv) > 2:
    with open(sys.argv[2], "w") as out:
        out.write('{"started": true}\\n')
        for test in ("test_sums.py::test_one", "test_hidden.py::test_nothing_is_zero", "test_hidden.py::TestOfMany::test_all_count"):
            out.write('{"ended": "tests/%s", "outcome": "passed"}\\n' % test)
        out.write('{"code": 0}\\n')
    os._exit(0)
"""
"""A module that writes what the program that runs tests would write."""
HIDDEN = "select path, content from hidden_tests"


@pytest.fixture(scope="module", autouse=True)
def _sandbox() -> Iterator[None]:
    with opened("wasm"):
        yield


@cache
def _world() -> MachineWorld:
    built = MachineSource.load(parse_document(FILE, Path("shed.yaml"))).build()
    assert isinstance(built, MachineWorld)
    return built


@cache
def _trajectory() -> Trajectory:
    return asyncio.run(play_example(place="host"))


def _graded(grader: Grader, files: dict[str, str | None]) -> Reward:
    """Return the reward over a final state in which files have these contents; None: they are gone."""
    final = _world().open()
    for path, content in files.items():
        final.execute("delete from files where path = :path", {"path": path})
        if content is not None:
            values = {"path": path, "content": content, "size": len(content)}
            final.execute(
                "insert into files (host, path, kind, owner, size, modified, content) "
                "values ('oak', :path, 'file', 'ann', :size, '2031-03-03T09:10:00Z', :content)",
                values,
            )
    return asyncio.run(grader.grade(_trajectory(), FinishedWorld(_world(), final, final.changes())))


def test_the_tests_that_were_there_and_hidden_ones_have_to_pass() -> None:
    grader = by_tests.Tests(directory="/srv/sums", hidden=HIDDEN)
    kept = _graded(grader, {CODE: "def total(prices):\n    return sum(list(prices))\n"})
    assert (kept.value, kept.detail) == (1.0, {"passed": 3})
    broken = _graded(grader, {CODE: BROKEN})
    assert broken.value == 0.0
    assert broken.detail["reason"] == "2 of 3 tests did not pass"
    assert broken.detail["tests"][0].startswith("tests/test_hidden.py::TestOfMany::test_all_count (AssertionError")


def test_only_the_tests_of_named_files_count_and_the_directory_may_be_that_of_a_case() -> None:
    grader = by_tests.Tests(directory="/srv/{{ 'sums' }}", hidden=HIDDEN, only=("tests/test_sums.py",))
    # One is enough for the visible test, and wrong for a hidden one.
    assert _graded(grader, {CODE: "def total(prices):\n    return prices[0]\n"}).detail == {"passed": 1}
    broken = _graded(grader, {CODE: "def total(prices):\n    return 0\n"})
    assert broken.value == 0.0 and broken.detail["reason"] == "1 of 1 tests did not pass"


@pytest.mark.parametrize(
    "files",
    [
        {TEST: None},
        {TEST: "def test_one():\n    pass\n"},
        {"/srv/sums/conftest.py": GREEN},
        {"/srv/sums/tests/conftest.py": GREEN},
        {"/srv/sums/pytest.py": "def main(*_, **__):\n    return 0\n"},
        {"/srv/sums/pytest.ini": "[pytest]\naddopts = --collect-only\n"},
        {"/srv/sums/pytest.toml": '[pytest]\naddopts = ["-p", "green"]\n', "/srv/sums/green.py": GREEN},
        {"/srv/sums/.pytest.ini": "[pytest]\naddopts = -p green\n", "/srv/sums/green.py": GREEN},
        {"/srv/sums/.pytest.toml": '[pytest]\naddopts = ["-p", "green"]\n', "/srv/sums/green.py": GREEN},
        {
            "/srv/sums/green.dist-info/METADATA": METADATA,
            "/srv/sums/green.dist-info/entry_points.txt": ENTRY,
            "/srv/sums/green.py": GREEN,
        },
        {
            "/srv/sums/src/green.egg-info/PKG-INFO": METADATA,
            "/srv/sums/src/green.egg-info/entry_points.txt": ENTRY,
            "/srv/sums/green.py": GREEN,
        },
        {"/srv/sums/test_all.py": REACHING},
        {"/srv/sums/src/pytest.py": FORGED},
        {"/srv/sums/src/json.py": FORGED},
        {"/srv/sums/src/sitecustomize.py": FORGED},
        {"/srv/sums/usercustomize.py": FORGED},
    ],
    ids=[
        *(
            "deleted",
            "emptied",
            "conftest",
            "inner_conftest",
            "own_pytest",
            "settings",
            "toml",
            "hidden_ini",
            "hidden_toml",
        ),
        *("dist_info", "egg_info_in_src", "test_at_the_top"),
        *("pytest_in_src", "json_in_src", "sitecustomize_in_src", "usercustomize"),
    ],
)
def test_nothing_beside_the_code_makes_a_broken_repository_pass(files: dict[str, str | None]) -> None:
    assert _graded(by_tests.Tests(directory="/srv/sums", hidden=HIDDEN), {CODE: BROKEN, **files}).value == 0.0


def test_code_that_ends_the_run_or_cannot_be_imported_earns_nothing() -> None:
    grader = by_tests.Tests(directory="/srv/sums", hidden=HIDDEN)
    assert _graded(grader, {CODE: "import os\nos._exit(0)\n"}).value == 0.0
    found = _graded(grader, {CODE: "def total(:\n"})
    assert found.value == 0.0 and "SyntaxError" in str(found.detail["broken"])


CODE_THAT_WRITES = """\
import glob
import json
import os
import re

for path in glob.glob("/factory/*.jsonl"):
    with open(path, "a") as out:
        for test in glob.glob("tests/*.py"):
            held = ""
            for kind, name in re.findall(r"^ *(class|def) (\\w+)", open(test).read(), re.M):
                held = f"{name}::" if kind == "class" else held
                ended = f"{test}::{held}{name}"
                out.write(json.dumps({"ended": ended, "outcome": "passed"}) + "\\n")
        out.write('{"code": 0}\\n')
os._exit(0)
"""


def test_a_new_test_anywhere_is_no_harm() -> None:
    new = {"/srv/sums/test_more.py": "import pytest\n\n\ndef test_more():\n    pytest.fail('not yet')\n"}
    assert _graded(by_tests.Tests(directory="/srv/sums", hidden=HIDDEN), new).detail == {"passed": 3}


def test_code_that_writes_what_came_of_the_tests_itself_earns_nothing() -> None:
    grader = by_tests.Tests(directory="/srv/sums", hidden=HIDDEN)
    assert _graded(grader, {CODE: CODE_THAT_WRITES}).value == 0.0
    found = _graded(grader, {CODE: REACHING + BROKEN})
    assert (found.value, found.detail["reason"]) == (0.0, "sums.py:1 reaches for pytest")
    deep = _graded(grader, {CODE: f"import _pytest\nx = {'(' * 4000}1{')' * 4000}\n"})
    assert deep.value == 0.0 and "did not pass" in str(deep.detail["reason"])


def test_a_sandbox_whose_pytest_is_too_old_says_nothing_about_the_agent() -> None:
    grader = by_tests.Tests(directory="/srv/sums", sandbox=f"docker:{need_docker()}")
    with pytest.raises(SimulatorFault, match=r"pytest does not start in .*: pytest 8 or newer is needed, and 7"):
        _graded(grader, {})


def test_a_file_that_may_not_change_is_named() -> None:
    grader = by_tests.Tests(directory="/srv/sums", unchanged=("tests/*",))
    assert _graded(grader, {TEST: None}).detail == {"reason": "tests/test_sums.py was changed, and may not be"}
    assert _graded(grader, {"/srv/sums/tests/test_new.py": "def test_new():\n    assert True\n"}).value == 1.0


def test_mutants_are_killed_by_tests_that_fail_on_them() -> None:
    grader = Mutants(directory="/srv/sums", mutants="select * from faults")
    new = "/srv/sums/tests/test_more.py"
    head = "from sums import total\n\n\ndef test_more():\n    "
    assert _graded(grader, {new: f"{head}assert total([1, 2]) == 3\n"}).value == 1.0
    weak = _graded(grader, {new: f"{head}assert total([0, 2]) == 2\n"})
    assert (weak.value, weak.detail) == (0.0, {"killed": [], "alive": ["first_lost", "largest"]})
    half = _graded(grader, {new: f"{head}assert total([2, 1]) != 1\n"})
    assert (half.value, half.detail) == (0.5, {"killed": ["first_lost"], "alive": ["largest"]})


def test_tests_that_fail_on_the_code_or_read_it_as_text_kill_nothing() -> None:
    grader = Mutants(directory="/srv/sums", mutants="select * from faults")
    new = "/srv/sums/tests/test_more.py"
    text = "import os\n\n\ndef test_more():\n    assert os.path.getsize('su' + 'ms.py') == 43\n"
    assert "does not pass" in str(_graded(grader, {new: text}).detail["reason"])
    assert "does not pass" in str(_graded(grader, {new: "def test_more():\n    assert False\n"}).detail["reason"])
    assert _graded(grader, {}).detail == {"reason": "no test was written"}
    # Words as such are no look at the code.
    words = "from sums import total\n\n\ndef test_more():\n    assert {'inspect': total([1, 2]), 'ast': 1}['inspect'] == 3\n"
    assert _graded(grader, {new: words}).value == 1.0


@pytest.mark.parametrize(
    "look",
    [
        "assert 'sum(prices)' in open('sums.py').read()",
        "import inspect; assert 'sum(prices)' in inspect.getsource(total)",
        "assert 'sum' in total.__code__.co_names and len(total.__code__.co_consts) == 1",
        "import sums; assert 'sum(prices)' in open(sums.__file__).read()",
        "from pathlib import Path; assert 'sum(prices)' in ''.join(p.read_text() for p in Path().glob('*.py'))",
        "assert open('su' + 'ms.py').read().endswith('# As it was.\\n')",
    ],
)
def test_tests_that_look_at_the_code_itself_kill_nothing(look: str) -> None:
    grader = Mutants(directory="/srv/sums", mutants="select * from faults")
    found = _graded(
        grader, {"/srv/sums/tests/test_more.py": f"from sums import total\n\n\ndef test_more():\n    {look}\n"}
    )
    assert found.value == 0.0


def test_behaviour_is_compared_by_what_a_program_prints() -> None:
    program = "select 'from sums import total; print([total(range(n)) for n in range(9)])'"
    grader = SameBehaviour(directory="/srv/sums", program=program)
    assert (
        _graded(grader, {CODE: "from math import fsum\n\n\ndef total(prices):\n    return int(fsum(prices))\n"}).value
        == 1.0
    )
    lost = _graded(grader, {CODE: "def total(prices):\n    return sum(prices[:-1])\n"})
    assert lost.value == 0.0 and "before it printed '[0, 0, 1, 3" in str(lost.detail["reason"])


def test_knobs_that_cannot_work_are_refused() -> None:
    with pytest.raises(InputError, match="there is no file below /srv/nothing"):
        by_tests.Tests(directory="/srv/nothing").check(_world(), {})
    with pytest.raises(InputError, match=r"the code of the mutant 'x' is not in sums.py"):
        Mutants(
            directory="/srv/sums", mutants="select 'x' as name, 'sums.py' as path, 'nope' as code, '' as mutant"
        ).check(_world(), {})
