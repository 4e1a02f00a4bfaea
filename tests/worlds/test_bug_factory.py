"""The bug factory: its tasks are proven by git and a native pytest, its shares hold, and repositories that are no start are refused."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from broken_repositories import SHOP, prove, written
from sandboxes import opened

from simtrain.contracts.sandbox import OpenSandbox
from simtrain.scenarios.repositories import repository_folder
from simtrain.values.errors import InputError
from simtrain.worlds.bugs.factory import FUNCTION_TASKS, OPERATOR_SHARE
from simtrain.worlds.bugs.hiding import without_tests
from simtrain.worlds.bugs.making import open_factory
from simtrain.worlds.bugs.operators import OPERATORS
from simtrain.worlds.bugs.options import without_options, without_unknown_options
from simtrain.worlds.bugs.source import SourceFile
from simtrain.worlds.bugs.task import BugTask, read_tasks, task_lines
from simtrain.worlds.bugs.test_runs import TestRunner
from simtrain.worlds.repositories.folder import read_folder

pytestmark = pytest.mark.slow

SHIPPED = ("confit", "inkwell", "ledger", "rota", "sieve", "trellis")
MANY, PROVEN = (10, 3) if os.environ.get("SIMTRAIN_FULL") else (5, 1)


@pytest.fixture(scope="module")
def box() -> Iterator[OpenSandbox]:
    with opened("wasm") as running:
        yield running


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("shop") / "shop", SHOP)


@pytest.fixture(scope="module")
def tasks(box: OpenSandbox, shop: Path) -> list[BugTask]:
    return open_factory(shop, box, seed=3).make(5).tasks


def hints(task: BugTask) -> list[str]:
    """The lines of code that the reference patch writes or removes."""
    changed = [
        line[1:].strip() for line in task.fix.splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")
    ]
    return [line for line in changed if len(line) > 12]


def test_tasks_are_proven_by_git_and_a_native_pytest(tasks: list[BugTask], tmp_path: Path) -> None:
    assert len(tasks) == 5
    assert len({task.operator for task in tasks}) == 5
    assert len({task.id for task in tasks}) == 5
    for task in tasks[:1]:
        prove(task, written(tmp_path / task.id, SHOP))


def test_reports_tell_the_symptom_and_never_the_line(tasks: list[BugTask]) -> None:
    for task in tasks:
        assert task.report.startswith("# ")
        assert "```python\n" in task.report
        assert "print(" in task.report or "raise" in task.report or "error" in task.report
        assert not any(line in task.report for line in hints(task))
        assert task.function.partition("::")[0] not in task.report
        assert task.operator not in task.report


def test_tasks_are_written_and_read_back(tasks: list[BugTask], tmp_path: Path) -> None:
    file = tmp_path / "tasks.jsonl"
    file.write_bytes(task_lines(tasks))
    assert read_tasks(file) == tasks
    file.write_bytes(task_lines(tasks[:1]) + b'{"id": 5}\n')
    with pytest.raises(InputError) as raised:
        read_tasks(file)
    assert (raised.value.line, raised.value.file) == (2, str(file))


def test_a_task_for_other_files_is_refused(tasks: list[BugTask]) -> None:
    with pytest.raises(InputError, match=f"setup of {tasks[0].id}: the patch does not apply"):
        tasks[0].broken(dict.fromkeys(SHOP, "other\n"))


@pytest.mark.parametrize("name", sorted(OPERATORS))
def test_an_operator_changes_code_and_leaves_it_readable(name: str) -> None:
    found = 0
    places = (
        "rota/rota/reports.py",
        "rota/rota/durations.py",
        "inkwell/inkwell/history.py",
        "trellis/trellis/app.py",
        "confit/confit/merge.py",
    )
    for path in places:
        source = SourceFile(path, (repository_folder("rota").parent / path).read_bytes())
        for splices in list(OPERATORS[name](source))[:12]:
            changed = source.spliced(splices)
            assert changed != source.content
            ast.parse(changed)
            found += 1
    assert found


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        ({"a.py": "x = 1\n"}, "there are no tests"),
        ({"README.md": "x\n"}, "there is no Python file"),
        (
            {"test_a.py": "def test_one():\n    assert 1 == 2\n"},
            r"test_a\.py: test_one: fails already \(AssertionError",
        ),
        (
            {"a.py": "def f(:\n", "test_a.py": "import a\n\ndef test_one():\n    pass\n"},
            r"a\.py:1: Python 3\.14 of the sandbox cannot read it: invalid syntax",
        ),
        (
            {"test_a.py": "import numpy\n\ndef test_one():\n    pass\n"},
            r"test_a\.py: the tests cannot be collected: ModuleNotFoundError: No module named 'numpy'",
        ),
        (
            {
                "test_a.py": "def test_big(tmp_path):\n    with open(tmp_path / 'x', 'w') as file:\n"
                "        for _ in range(1000):\n            file.write('x' * (1 << 20))\n"
            },
            r"the tests write more than 64 MiB to disk|test_a\.py: test_big: fails already",
        ),
        (
            {"test_a.py": "def test_loop():\n    while True:\n        pass\n"},
            r"test_a\.py: test_loop: the tests compute for more than 0.6 s",
        ),
    ],
)
def test_a_repository_that_is_no_start_is_refused_in_one_line(
    box: OpenSandbox, tmp_path: Path, files: dict[str, str], problem: str
) -> None:
    with pytest.raises(InputError, match=problem) as raised:
        open_factory(written(tmp_path, files), box, work=0.6)
    assert "\n" not in str(raised.value)
    assert raised.value.remedy or "no Python" not in problem


def test_the_command_says_what_is_wrong_and_ends_with_two(tmp_path: Path) -> None:
    written(tmp_path, {"test_a.py": "def test_one():\n    assert False\n"})
    command = [sys.executable, "-m", "simtrain", "world", "bugs"]
    done = subprocess.run([*command, str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert f"error: {tmp_path}/test_a.py: test_one: fails already" in done.stderr


def test_hidden_tests_are_taken_out_of_their_files() -> None:
    text = (
        "import pytest\n\n\ndef test_a():\n    pass\n\n\n@pytest.mark.x\n@pytest.mark.y\ndef test_b():\n    pass\n\n\n"
        "class TestC:\n    def test_d(self):\n        pass\n\n    def test_e(self):\n        pass\n\n\nclass TestF:\n"
        "    def test_g(self):\n        pass\n"
    )
    files = {"t.py": text.encode()}
    found = without_tests(files, ["t.py::test_b", "t.py::TestC::test_d", "t.py::TestF::test_g"])
    assert found is not None
    assert found["t.py"].decode() == (
        "import pytest\n\n\ndef test_a():\n    pass\n\n\nclass TestC:\n    def test_e(self):\n        pass\n"
    )
    assert without_tests(files, ["t.py::test_none"]) is None


UNFIT = {
    **SHOP,
    "tests/test_cart.py": SHOP["tests/test_cart.py"] + "\n\ndef test_dear(cart):\n    assert cart.total() == 1\n",
    "tests/test_deep.py": "import sys\n\n\ndef deep(_=None):\n    return max([1], key=deep)\n\n\n"
    "def test_deep():\n    sys.setrecursionlimit(10**9)\n    deep()\n",
    "tests/test_first.py": "from pathlib import Path\n\n\nclass First:\n    def test_none(self):\n        assert False\n\n\n"
    "class TestFirst(First):\n    pass\n",
    "tests/test_web.py": "import no_such_library\n\n\ndef test_page():\n    no_such_library.page()\n",
}


def test_tests_that_do_not_pass_are_left_out_and_named(box: OpenSandbox, tmp_path: Path) -> None:
    place = written(tmp_path / "shop", UNFIT)
    made = open_factory(place, box, seed=3).make(2)
    assert sorted(made.left_out) == [
        "tests/test_cart.py::test_dear",
        "tests/test_deep.py::test_deep",
        "tests/test_first.py::TestFirst::test_none",
        "tests/test_web.py",
    ]
    assert made.left_out["tests/test_web.py"].endswith("No module named 'no_such_library'")
    assert len(made.tasks) == 2
    for task in made.tasks:
        agents = task.broken(UNFIT)
        assert not {"tests/test_first.py", "tests/test_web.py"} & {*agents}
        assert "test_deep" not in agents["tests/test_deep.py"]
        assert "test_dear" not in task.tested(agents)["tests/test_cart.py"]
    prove(made.tasks[0], written(tmp_path / "native", UNFIT))


OPTIONS = 'addopts = [\n    "-ra",\n    "--cover=shop",\n]\n'
SETTINGS = {
    "pyproject.toml": f'[tool.pytest.ini_options]\ntestpaths = ["tests"]\n{OPTIONS}\n[tool.other]\naddopts = "1"\n',
    "pytest.toml": '[pytest]\naddopts = ["--cover=shop"]\n',
    "pytest.ini": "[pytest]\naddopts =\n    -ra\n    --cover=shop\ntestpaths = tests\n",
    "tox.ini": "[tox]\naddopts = 1\n[pytest]\naddopts = --cover=shop\n",
    "setup.cfg": "[tool:pytest]\ntestpaths = tests\naddopts = --cover=shop\n",
}
LEFT = {
    "pyproject.toml": '[tool.pytest.ini_options]\ntestpaths = ["tests"]\n\n[tool.other]\naddopts = "1"\n',
    "pytest.toml": "[pytest]\n",
    "pytest.ini": "[pytest]\ntestpaths = tests\n",
    "tox.ini": "[tox]\naddopts = 1\n[pytest]\n",
    "setup.cfg": "[tool:pytest]\ntestpaths = tests\n",
}


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_lose_their_options_and_nothing_else(name: str) -> None:
    assert without_options(name, SETTINGS[name].encode()) == LEFT[name].encode()
    assert without_options(name, LEFT[name].encode()) is None


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("pyproject.toml", b"[tool.pytest"),
        ("pyproject.toml", b"tool = 3\npytest = 4\n"),
        ("pyproject.toml", b'[tool.pytest.ini_options]\naddopts = "\xff"\n'),
        ("setup.cfg", b"[pytest]\n[pytest]\naddopts = -q\n"),
    ],
)
def test_settings_that_cannot_be_read_stay(name: str, content: bytes) -> None:
    assert without_options(name, content) is None


def test_options_of_plugins_that_are_missing_are_left_out_of_the_settings(box: OpenSandbox, tmp_path: Path) -> None:
    files = {**SHOP, "pyproject.toml": SETTINGS["pyproject.toml"]}
    made = open_factory(written(tmp_path / "shop", files), box, seed=3).make(1)
    assert made.left_out == {"pyproject.toml": "its addopts ask for --cover=shop, which pytest does not know here"}
    assert made.tasks[0].broken(files)["pyproject.toml"] == LEFT["pyproject.toml"]
    prove(made.tasks[0], written(tmp_path / "native", files))


def test_options_that_pytest_knows_stay(box: OpenSandbox, tmp_path: Path) -> None:
    folder = read_folder(written(tmp_path / "shop", {**SHOP, "pytest.ini": "[pytest]\naddopts = -ra\n"}))
    assert without_unknown_options(folder, TestRunner(box)) == (folder, {})


@pytest.mark.full
def test_a_family_lacks_the_tests_that_are_left_out(tmp_path: Path) -> None:
    later = "import pytest\n\n\n@pytest.mark.skip\ndef test_later():\n    pass\n"
    plugins = "[tool:pytest]\naddopts = --cov=shop\n"
    written(tmp_path / "shop", {**UNFIT, "tests/test_later.py": later, "setup.cfg": plugins})
    for words in (
        ["world", "bugs", "shop", "--count", "2", "--family", "shop_bugs"],
        ["validate", "shop_bugs", "--cases", "1"],
        ["export", "shop_bugs", "--format", "harbor", "--out", "tasks", "--with", "case=0"],
        ["validate", "tasks"],
    ):
        done = subprocess.run(
            [sys.executable, "-m", "simtrain", *words], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.full
@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_repositories_give_distinct_tasks_within_their_shares(
    box: OpenSandbox, tmp_path: Path, name: str
) -> None:
    place = repository_folder(name)
    made = open_factory(place, box, seed=11).make(MANY)
    assert len(made.tasks) == MANY
    assert max(Counter(task.operator for task in made.tasks).values()) <= MANY // OPERATOR_SHARE
    assert max(Counter(task.function for task in made.tasks).values()) <= FUNCTION_TASKS
    assert len({task.setup for task in made.tasks}) == len({task.report for task in made.tasks}) == MANY
    texts = read_folder(place).texts
    for task in made.tasks[:PROVEN]:
        assert not any(line in task.report for line in hints(task))
        prove(task, written(tmp_path / task.id, texts))


@pytest.mark.full
def test_the_same_seed_gives_the_same_bytes_whatever_runs_at_the_same_time(
    box: OpenSandbox, shop: Path, tasks: list[BugTask]
) -> None:
    first, second = (open_factory(shop, box, seed=5, jobs=jobs).make(1).tasks for jobs in (1, 4))
    assert task_lines(first) == task_lines(second)
    assert task_lines(first) != task_lines(tasks[:1])


@pytest.mark.full
def test_the_yield_adds_up(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "simtrain", "world", "bugs", "rota", "--count", "5", "--json"]
    out = tmp_path / "tasks.jsonl"
    done = subprocess.run([*command, "--out", str(out)], capture_output=True, text=True, check=True)
    told = json.loads(done.stdout)
    tasks = read_tasks(out)
    assert told["tasks"] == len(tasks) == 5
    assert Counter(task.operator for task in tasks) == {
        name: row["kept"] for name, row in told["operators"].items() if row["kept"]
    }
    for row in told["operators"].values():
        assert sum(count for fate, count in row.items() if fate != "candidates") <= row["candidates"]
