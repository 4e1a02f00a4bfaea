"""A plug-in costs one file and one line: tried in a copy of the repository, with the tests that range over all plug-ins."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.full

ROOT = Path(__file__).parents[2]
ADDED = {
    "perturbation": "perturbations",
    "grader": "graders",
    "exporter": "exporters",
    "domain": "domains",
    "agent": "agents",
}
FOLDERS = {
    "perturbation": "perturbations",
    "grader": "grading/graders",
    "exporter": "runs/exporters",
    "domain": "world_models/domains",
    "agent": "agents",
}
RANGING = (
    "tests/testing/test_plugin_contracts.py",
    "tests/perturbations/test_catalogue.py",
    "tests/runs/test_exporters.py",
    "tests/repository/test_docs.py",
    "tests/repository/test_layout.py",
)
CHOSEN = "added or plug_in or tables or catalogue_tells or all_agree or relay_takes or test_layout"

BROKEN = '''\
"""A perturbation that never acts."""

from __future__ import annotations

from typing import ClassVar

from simtrain.contracts.perturbation import Perturbation, Traits


class Idle(Perturbation):
    """Nothing happens. An agent should go on."""

    traits: ClassVar[Traits] = Traits(side="reply", layer="P", effect="after", recoverable_by=("retry",))
'''


def run(copy: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """What a fresh process says that sees the copy alone."""
    environment = {**os.environ, "PYTHONPATH": str(copy), "SIMTRAIN_QUICK": ""}
    return subprocess.run([sys.executable, *words], cwd=copy, env=environment, capture_output=True, text=True)


def contents(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text()
        for path in folder.rglob("*")
        if path.suffix in (".py", ".md", ".yaml", ".toml") and ".git" not in path.parts
    }


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The repository as it is tracked, without its history."""
    folder = tmp_path_factory.mktemp("copied") / "simtrain"
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout")
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    # Else each process below compiles all that it imports, where PYTHONDONTWRITEBYTECODE is set.
    run(folder, "-m", "compileall", "-q", "simtrain", "tests")
    assert run(folder, "-c", "import simtrain; print(simtrain.__file__)").stdout.startswith(str(folder))
    return folder


def test_one_file_and_one_line_are_enough(copy: Path) -> None:
    before = contents(copy)
    for kind in ADDED:
        done = run(copy, "-m", "simtrain", "new", "plugin", kind, f"added_{kind}", "--in-tree")
        assert done.returncode == 0, done.stderr
    after = contents(copy)
    files = {name for name in after if before.get(name) != after[name]} - {"simtrain/plugins.py"}
    assert files == {f"simtrain/{folder}/added_{kind}.py" for kind, folder in FOLDERS.items()}
    lines = set(after["simtrain/plugins.py"].split("\n")) - set(before["simtrain/plugins.py"].split("\n"))
    assert {line.split('"')[1] for line in lines} == {f"added_{kind}" for kind in ADDED}
    assert len(after["simtrain/plugins.py"].split("\n")) == len(before["simtrain/plugins.py"].split("\n")) + len(ADDED)

    stale = run(copy, "-m", "pytest", "-p", "no:cacheprovider", "tests/repository/test_docs.py", "-k", "tables_of_plug")
    assert "docs/catalogue.md is out of date: run `make tables`" in stale.stdout
    recipe = re.search(r"^tables:.*\n\t\$\(BIN\)/python (.+)$", (copy / "Makefile").read_text(), re.MULTILINE)
    assert recipe is not None and run(copy, recipe[1]).returncode == 0
    assert all(f"`added_{kind}`" in (copy / "docs" / "catalogue.md").read_text() for kind in ADDED)

    tried = run(copy, "-m", "pytest", "-p", "no:cacheprovider", "-rp", *RANGING, "-k", CHOSEN)
    assert tried.returncode == 0, tried.stdout[-6000:]
    for kind, plural in ADDED.items():
        assert f"test_a_plug_in_keeps_the_contract_of_its_kind[{plural}-added_{kind}]" in tried.stdout
    for sentence in ("test_it_fires_and_says_so", "test_one_that_cannot_fire_leaves_the_same_bytes"):
        assert f"{sentence}[added_perturbation]" in tried.stdout
    for kind, plural in ADDED.items():
        assert f"added_{kind}" in run(copy, "-m", "simtrain", "list", plural).stdout


def test_a_bad_one_is_told_what_it_lacks(copy: Path) -> None:
    (copy / "simtrain" / "perturbations" / "idle.py").write_text(BROKEN)
    table = copy / "simtrain" / "plugins.py"
    before = table.read_text()
    line = '        "idle": "simtrain.perturbations.idle:Idle",\n'
    table.write_text(before.replace('    "perturbations": {\n', '    "perturbations": {\n' + line))
    tried = run(copy, "-m", "pytest", "-p", "no:cacheprovider", "tests/testing/test_plugin_contracts.py", "-k", "idle")
    table.write_text(before)
    assert tried.returncode == 1
    assert "perturbation simtrain.perturbations.idle:Idle: its example {} never fires" in tried.stdout
