"""The repository keeps its own rules: sizes, who imports what, nothing of a machine in it, a table of contents that holds."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from itertools import chain
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from samples import refund

from simtrain.contracts.exporter import Exporter

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "simtrain"
SOURCES = sorted(PACKAGE.rglob("*.py"))
LONGEST = 400

# Package -> the only places that may import it.
RESERVED = {
    "langgraph": ("agents/", "integrations/"),
    "langchain": ("agents/", "integrations/"),
    "langchain_core": ("agents/", "integrations/"),
    "openai": ("llm/",),
    "mcp": ("mcp_wire/",),
}

# Put together here, so that this file passes its own test.
MACHINE = re.compile("|".join(("/" + "work/", "/" + "Users/")))
HOMES = re.compile("|".join(("/" + "root/", "/" + "home/")))
INDEX = re.compile("|".join(("--(?:extra-)?index" + "-url", "--find" + "-links", "files.python" + "hosted")))


def imports_of(path: Path) -> set[str]:
    """The top-level packages that a file imports, anywhere in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found.add(node.module.partition(".")[0])
    return found


def tracked_files() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if listed.returncode != 0:
        pytest.skip("not a git checkout")
    paths = [ROOT / name for name in listed.stdout.decode().split("\0") if name]
    return [path for path in paths if path.is_file()]


def loaded_after(statements: str) -> set[str]:
    """The top-level modules that a fresh interpreter holds after running `statements`."""
    code = f"{statements}\nimport sys\nsys.stderr.write(' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    return {name.partition(".")[0] for name in done.stderr.split()}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_of_the_package_is_short_and_says_what_it_is(path: Path) -> None:
    text = path.read_text()
    assert text.count("\n") <= LONGEST
    assert not text.strip() or ast.get_docstring(ast.parse(text)), "a module without a docstring"


@pytest.mark.parametrize("package", sorted(RESERVED))
def test_a_heavy_package_is_imported_in_its_own_place_only(package: str) -> None:
    allowed = RESERVED[package]
    importers = [str(path.relative_to(PACKAGE)) for path in SOURCES if package in imports_of(path)]
    assert [name for name in importers if not name.startswith(allowed)] == []


@pytest.mark.parametrize(
    "statements",
    [
        "import simtrain",
        "import sys\nsys.argv = ['simtrain', '--help']\nfrom simtrain.cli import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code",
    ],
    ids=["import simtrain", "simtrain --help"],
)
def test_the_front_door_opens_without_the_heavy_packages(statements: str) -> None:
    loaded = loaded_after(statements)
    assert "simtrain" in loaded
    assert loaded.isdisjoint({"langgraph", "langchain", "langchain_core", "openai", "mcp"})


def test_no_tracked_file_names_a_path_of_a_machine_or_an_index() -> None:
    found: list[str] = []
    for path in tracked_files():
        text = path.read_bytes().decode("utf-8", errors="replace")
        # Simulated machines have homes of their own, wherever the code, the tests and the docs speak of them.
        parts = path.relative_to(ROOT).parts
        fiction = not {"worlds", "scenarios"}.isdisjoint(parts) or any(
            "machine" in part or "terminal" in part or part.startswith("swe") for part in parts
        )
        lines = enumerate(text.splitlines(), start=1)
        found += [
            f"{path.relative_to(ROOT)}:{number}"
            for number, line in lines
            if INDEX.search(line) or MACHINE.search(line) or (HOMES.search(line) and not fiction)
        ]
    assert found == []


def test_the_tested_versions_cover_every_dependency_and_hold_no_address() -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = [line for line in lines if not line.startswith("#")]
    assert [line for line in pins if not re.fullmatch(r"[A-Za-z0-9_.-]+==[A-Za-z0-9_.!+-]+", line)] == []
    tested = {normal(name): version for name, _, version in (line.partition("==") for line in pins)}
    for wanted in requirements():
        assert wanted.specifier.contains(tested[normal(wanted.name)]), f"{wanted} is not what was tested"


def requirements() -> list[Requirement]:
    """What pyproject.toml asks for: the core, the extras and the groups."""
    document = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras = document["project"]["optional-dependencies"].values()
    groups = document["dependency-groups"].values()
    named = [*document["project"]["dependencies"], *chain.from_iterable([*groups, *extras])]
    return [Requirement(text) for text in named]


def normal(name: str) -> str:
    """A distribution's name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def test_the_plugin_of_the_contributing_guide_works_as_written() -> None:
    guide = (ROOT / "CONTRIBUTING.md").read_text()
    code = guide.partition("```python\n")[2].partition("```")[0]
    names: dict[str, type[Exporter]] = {}
    exec(compile(code, "CONTRIBUTING.md", "exec", dont_inherit=True), names)
    trajectory = refund()
    assert list(names["Prompts"]().rows(trajectory)) == [{"prompt": trajectory.prompt, "reward": 1.0}]
