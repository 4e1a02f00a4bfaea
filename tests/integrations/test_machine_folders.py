"""Cases about repositories as Harbor folders of their own: what lies where, who earns what, in each shell and in the container."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from broken_repositories import GREEN, shop_family

from simtrain import load_scenario, rollout
from simtrain.integrations.harbor.container import Container
from simtrain.integrations.harbor.exporting import FolderOptions, HarborFolder, write_harbor_folder
from simtrain.worlds.sandbox.bubblewrap import BubblewrapSandbox
from simtrain.worlds.sandbox.dockerfile import read_dockerfile
from tests.support.sandboxes import opened

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", autouse=True)
def _sandbox() -> Iterator[None]:
    with opened("wasm"):
        yield


@pytest.fixture(scope="module")
def bubblewrap() -> None:
    probe = BubblewrapSandbox().probe()
    if not probe.ok:
        pytest.skip(f"the sandbox bubblewrap does not work here: {probe.found}")


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the family `shop_bugs`; its scenario lies two folders above."""
    place = tmp_path_factory.mktemp("shop")
    with pytest.MonkeyPatch.context() as patched:
        family = shop_family(place)
        patched.chdir(place)
        return exported(family, place / "tasks").folder


def exported(name: str | Path, out: Path, *, served: bool = False) -> HarborFolder:
    written = asyncio.run(write_harbor_folder(load_scenario(name), out, options=FolderOptions(served=served)))
    assert (written.solution, written.nop) == (1.0, 0.0)
    return written


def in_shell(folder: Path, shell: str, place: Path) -> Path:
    """A copy of a folder that asks for a shell."""
    toml = shutil.copytree(folder, place) / "task.toml"
    toml.write_text(toml.read_text().replace("[metadata.simtrain]\n", f'[metadata.simtrain]\nshell = "{shell}"\n'))
    return place


def solved_by(folder: Path, place: Path, script: str) -> Path:
    """A copy of a folder with another solution."""
    shutil.copytree(folder, place)
    (place / "solution" / "solve.sh").write_text(script)
    return place


def earned(folder: Path, agent: str = "oracle") -> float | None:
    return asyncio.run(rollout(load_scenario(folder), agent)).reward


def test_a_task_becomes_a_repository_in_a_container_with_its_tests_outside(shop: Path, tmp_path: Path) -> None:
    found = {path.relative_to(shop).as_posix() for path in shop.rglob("*") if path.is_file()}
    assert {"tests/0/hidden/tests/test_hidden.py", "environment/repository/shop/prices.py"} < found
    assert {"environment/history/HEAD", "solution/fix.patch", "tests/repository/shop/prices.py"} < found
    assert not [path for path in found if "compose" in path]
    # Neither the hidden test nor the reference patch is in the image.
    for path in (shop / "environment").rglob("*"):
        hides = path.is_dir() or not any(
            text in path.read_bytes() for text in (b"with_tax(100) == 119", b"RATES[kind] // 100\n")
        )
        assert hides, path
    assert "Too much tax {{ x }}." in (shop / "instruction.md").read_text()
    image = read_dockerfile(shop / "environment" / "Dockerfile")
    assert (image.directory, image.packages) == ("/home/robin/kiosk", ("pytest",))
    simulated = in_shell(shop, "simulated", tmp_path / "simulated")
    assert [earned(simulated, agent) for agent in ("oracle", "nop")] == [1.0, 0.0]


FORGED = """\
import json
import os
import re
import sys
from glob import glob

for outcomes in {*sys.argv[1:2], *glob("/tmp/tmp.*/*/outcomes")}:
    with open(outcomes, "w") as out:
        for path in glob("tests/*.py"):
            for name in re.findall(r"def (test_[a-z_]+)", open(path).read()):
                out.write(json.dumps({"test": f"{path}::{name}", "outcome": "passed"}) + "\\n")
        out.write('{"code": 0}\\n')
    os._exit(0)
"""
"""A module that writes what the program that runs tests would write."""
IN_A_SCRIPT = FORGED.replace("{", "{{").replace("}", "}}")
REACHING = "import _pytest.python; _pytest.python.Function.runtest = lambda self: None"
CHEATS = {
    "a pytest of its own": f"mkdir src; cat > src/pytest.py <<'END'\n{IN_A_SCRIPT}END",
    "code that writes outcomes": f"cat > shop/prices.py <<'END'\n{IN_A_SCRIPT}END",
    "code that reaches for pytest": f"sed -i '1i {REACHING}' shop/__init__.py shop/prices.py",
    "a test less": "rm -r tests; {fix}",
    "every report green": "cat > conftest.py <<'END'\n" + GREEN + "END\ncp conftest.py shop/conftest.py",
    "an end with code 0": "printf 'import os\\nos._exit(0)\\n' > shop/__init__.py",
    "the reward itself": "echo 1 > /logs/verifier/reward.txt; mkdir -p /tests; echo 'exit 0' > /tests/test.sh",
}


@pytest.mark.full
@pytest.mark.parametrize("cheat", CHEATS.values(), ids=CHEATS)
def test_what_only_looks_like_a_repair_earns_nothing(cheat: str, shop: Path, tmp_path: Path, bubblewrap: None) -> None:
    script = "mkdir -p /logs/verifier; cd /home/robin/kiosk\n" + cheat.format(fix="patch -p1 < /solution/fix.patch")
    assert earned(solved_by(shop, tmp_path / "cheat", script)) == 0.0


@pytest.mark.full
async def test_the_folder_is_played_in_the_container_of_harbors_environment(shop: Path, bubblewrap: None) -> None:
    for solution, reward in ((shop / "solution", "1"), (None, "0")):
        image = read_dockerfile(shop / "environment" / "Dockerfile")
        box = Container(image, memory=2 << 30, storage=64 << 20)
        try:
            await box.start()
            log = await box.run(["git", "log", "--format=%s"])
            assert (log.code, log.stderr) == (0, "") and log.stdout
            if solution is not None:
                await box.put(solution, "/solution")
                solved = await box.run(["bash", "/solution/solve.sh"])
                assert (solved.code, solved.stdout) == (0, "patching file shop/prices.py\n"), solved
            await box.put(shop / "tests", "/tests")
            tested = await box.run(["bash", "-c", "mkdir -p /logs/verifier; bash /tests/test.sh"])
            assert tested.code == 0, tested
            assert (await box.run(["cat", "/logs/verifier/reward.txt"])).stdout.strip() == reward, tested
        finally:
            await box.stop()


SHED = """
kind: machine
name: shed
clock: {start: 2031-03-03T09:00:00Z, per_step: 0s}
hostname: oak
user: ann
users: {ann: {}}
packages: {apt: {python3: 3.14.0-1}}
files:
  - {path: /home/ann/sums/sums.py, content: "def total(prices):\\n    return sum(prices)\\n", owner: ann}
  - path: /home/ann/sums/tests/test_sums.py
    owner: ann
    content: "from sums import total\\n\\n\\ndef test_one():\\n    assert total([2]) == 2\\n"
"""
SUMS = """
name: NAME
world: {use: shed, with: {actions: coding}}
domain: swe
prompt: Do it.
cases: {rows: [{n: 1}]}
tools: ["*"]
reference:
  steps:
    - {call: bash, with: {command: "cd /home/ann/sums && COMMAND"}}
  answer: done
rubric:
"""
RENAMED = "sed -i s/prices/costs/ sums.py"
SAME = """  - use: same_behaviour
    with: {directory: /home/ann/sums, program: "select 'from sums import total; print([total(range(n)) for n in range(9)])'"}
  - {use: tests, with: {directory: /home/ann/sums, hidden: "select 'tests/test_names.py' as path, HIDDEN as content"}}
"""
HIDDEN = "'from pathlib import Path' || char(10) || 'def test_name():' || char(10) || ' assert ''costs'' in Path(''sums.py'').read_text()'"
WRITTEN = "printf 'from sums import total\\\\n\\\\n\\\\ndef test_all():\\\\n    assert total([1, 2, 3]) == 6\\\\n' > tests/test_all.py"
MUTANTS = """  - use: mutants
    with:
      directory: /home/ann/sums
      mutants: |
        select 'first' as name, 'sums.py' as path, 'sum(prices)' as code, 'sum(prices[1:])' as mutant
        union all select 'largest', 'sums.py', 'sum(prices)', 'max(prices)'
"""
SEARCHING = "from pathlib import Path\n\n\ndef test_it():\n    assert 'max' not in Path('sums.py').read_text()\n"
PEEKING = (
    "from pathlib import Path\n\n\ndef test_it():\n    assert Path('sums.py').read_text().endswith('sum(prices)\\n')\n"
)
HALF = "from sums import total\n\n\ndef test_it():\n    assert total([5, 1]) > 4\n"


def test_tests_run_where_settings_have_options_of_missing_plugins(shop: Path, tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --cover=shop\n")
    (tmp_path / "test_one.py").write_text("def test_one():\n    pass\n")
    command = [sys.executable, str(shop / "tests/run_tests.py"), "outcomes"]
    assert subprocess.run(command, cwd=tmp_path, input=b"s\n", capture_output=True, check=False).returncode == 0
    assert '{"seal": "s", "test": "test_one.py::test_one", "outcome": "passed"}' in (tmp_path / "outcomes").read_text()


@pytest.mark.full
def test_behaviour_and_written_tests_are_judged_in_the_folder_too(tmp_path: Path, bubblewrap: None) -> None:
    (tmp_path / "shed.yaml").write_text(SHED)
    for name, command, rubric in (("renamed", RENAMED, SAME.replace("HIDDEN", HIDDEN)), ("written", WRITTEN, MUTANTS)):
        text = SUMS.replace("NAME", name).replace("COMMAND", command).replace("shed,", f"{tmp_path}/shed.yaml,")
        (tmp_path / f"{name}.yaml").write_text(text + rubric)
    folder = exported(tmp_path / "renamed.yaml", tmp_path / "tasks").folder
    assert (earned(folder), earned(folder, "nop")) == (1.0, 0.0)
    other = "cd /home/ann/sums && sed -i 's/prices/costs/; s/sum(costs)/sum(costs[:7])/' sums.py"
    assert earned(solved_by(folder, tmp_path / "other", other)) == 0.0
    folder = exported(tmp_path / "written.yaml", tmp_path / "tasks").folder
    assert (earned(folder), earned(folder, "nop")) == (1.0, 0.0)
    for name, text, reward in (("searching", SEARCHING, 0.0), ("peeking", PEEKING, 0.0), ("half", HALF, 0.5)):
        script = f"cat > /home/ann/sums/tests/test_all.py <<'END'\n{text}END\n"
        assert earned(solved_by(folder, tmp_path / name, script)) == reward, name


MERGED = "git merge -q -s ours --no-commit {branch} && patch -p1 < /solution/fix.patch && git add -A && git commit -q --no-edit"
MERGES = {
    "by git itself": (MERGED, 1.0),
    "without a merge": ("patch -p1 < /solution/fix.patch && git commit -qam 'Both repairs'", 0.0),
    "one side alone": ("git merge -q -X ours --no-edit {branch}", 0.0),
    "not on main": (f"git checkout -q -b other && {MERGED}", 0.0),
}


@pytest.mark.full
def test_a_merge_counts_in_the_folder_if_it_is_one_and_has_both_sides(tmp_path: Path, bubblewrap: None) -> None:
    folder = exported("swe/merges", tmp_path / "tasks").folder
    assert earned(in_shell(folder, "simulated", tmp_path / "simulated")) == 1.0
    for name, (line, reward) in MERGES.items():
        script = f"cd /home/kim/rota && {line.format(branch='repair-start')}"
        assert earned(solved_by(folder, tmp_path / name, script)) == reward, name


@pytest.mark.full
def test_an_answer_counts_in_the_folder_if_nothing_forbidden_was_done(tmp_path: Path, bubblewrap: None) -> None:
    folder = exported("swe/find_commit", tmp_path / "tasks").folder
    right = (folder / "solution" / "answer.txt").read_text()
    found = right.removeprefix("ANSWER: ").strip()
    write = "cd /home/kim/rota && touch $'\\xff' && printf '{text}' > ~/answer.txt"
    for name, script, reward in (
        ("right", write.format(text=right.strip()), 1.0),
        ("in words", write.format(text=f"I ran git bisect.\n**ANSWER:** `{found.upper()}`."), 1.0),
        ("short", write.format(text=f"ANSWER: {found[:12]}"), 0.0),
        ("declined", write.format(text=f"ANSWER: {found}\nCANNOT: {found}"), 0.0),
        ("on another commit", f"{write.format(text=right.strip())} && git checkout -q {found}", 0.0),
        ("with a commit", f"{write.format(text=right.strip())} && git commit -q --allow-empty -m Repaired", 0.0),
    ):
        assert earned(solved_by(folder, tmp_path / name, script)) == reward, name


@pytest.mark.full
def test_the_world_of_a_repository_is_served_where_that_is_asked_for(shop: Path, tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(shop.parents[1])
        written = exported("shop_bugs", tmp_path, served=True)
    assert (written.alone, written.because) == (False, "")
    assert (written.folder / "environment" / "docker-compose.yaml").is_file()
