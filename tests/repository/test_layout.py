"""The layout of the package: a root that is a table of contents, no import circle, no class name twice, a map that holds."""

from __future__ import annotations

import ast
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from functools import lru_cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "simtrain"
MAP = (ROOT / "docs" / "map.md").read_text()
FOLDERS = sorted(path.name for path in PACKAGE.iterdir() if (path / "__init__.py").is_file())
NOT_MIRRORED = {"support", "repository", "fuzz", "mutation", "real"}


@lru_cache
def modules() -> dict[str, ast.Module]:
    """Every module of the package by its dotted name, parsed; a folder with a pyproject.toml of its own is another package."""
    found: dict[str, ast.Module] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        if (path.parent / "pyproject.toml").exists():
            continue
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = ast.parse(path.read_text())
    return found


def imported(tree: ast.Module, known: set[str]) -> Iterator[str]:
    """What a module imports of the package, lazily and for types alone as well."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom) and node.module in known:
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                yield full if full in known else node.module


@lru_cache
def imports() -> dict[str, set[str]]:
    known = set(modules())
    return {name: set(imported(tree, known)) - {name} for name, tree in modules().items()}


def test_the_root_is_a_table_of_contents() -> None:
    files = {path.name for path in PACKAGE.iterdir() if path.is_file()}
    assert files <= {"__init__.py", "__main__.py", "public.py", "plugins.py", "py.typed"}
    assert len(FOLDERS) <= 22
    assert [name for name in FOLDERS if re.search(r"util|helper|common|base|core|manager", name)] == []


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_folder_says_what_is_in_it_and_what_it_may_import(folder: str) -> None:
    said = ast.get_docstring(modules()[f"simtrain.{folder}"])
    assert said and re.search(r"\b[Ii]mports? ", said), f"{folder}/__init__.py does not say what it imports"


def test_no_import_goes_round() -> None:
    # The package itself is left out: it offers the public face lazily.
    graph = {name: found - {"simtrain"} for name, found in imports().items() if name != "simtrain"}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def layers() -> list[list[str]]:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    first = next(one for one in contracts if one["containers"] == ["simtrain"])
    return [[name.strip() for name in line.split("|")] for line in first["layers"]]


def test_the_layers_can_be_recited_and_the_map_shows_them() -> None:
    assert len(layers()) <= 16
    picture = MAP.partition("```text\n")[2].partition("```")[0].splitlines()
    assert len(picture) <= 25
    names = {"__main__", "public", "plugins", *FOLDERS}
    shown = [sorted(set(line[:43].split()) & names) for line in picture]
    assert shown == [sorted(line) for line in layers()]


def test_imports_point_down() -> None:
    level = {name: number for number, line in enumerate(layers()) for name in line}
    wrong: set[str] = set()
    for name, found in imports().items():
        for other in found - {"simtrain"}:
            here, there = name.split(".")[1:2], other.split(".")[1:2]
            if here and here != there and level[here[0]] >= level[there[0]]:
                wrong.add(f"{name} -> {other}")
    assert sorted(wrong) == []


def test_no_public_class_name_stands_twice() -> None:
    places: defaultdict[str, list[str]] = defaultdict(list)
    for name, tree in modules().items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(name)
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_every_place_on_the_map_exists() -> None:
    named = re.findall(r"`(simtrain/[\w/.]+)`", MAP)
    assert len(named) > 20
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_tests_mirror_the_folders() -> None:
    folders = {path.name for path in (ROOT / "tests").iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders - NOT_MIRRORED <= set(FOLDERS)
    assert sorted(path.name for path in (ROOT / "tests").glob("test_*.py")) == []


def defined(body: list[ast.stmt], *, for_types: bool = False) -> Iterator[tuple[str, float]]:
    """The names of a module with the line from which each is known; infinite for names that only type checkers know."""
    for node in body:
        known = float("inf") if for_types else node.end_lineno or 0
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            yield node.name, known
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from ((name.asname or name.name, known) for name in node.names)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from ((target.id, known) for target in targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.If):
            yield from defined(node.body, for_types="TYPE_CHECKING" in ast.unparse(node.test))


def annotations(tree: ast.Module) -> Iterator[ast.expr]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found = node.returns
        else:
            found = node.annotation if isinstance(node, ast.AnnAssign | ast.arg) else None
        if found is not None:
            yield found


def refers_forward(tree: ast.Module) -> bool:
    """True if an annotation could not be evaluated where it stands; before Python 3.12 `array[int]` never can."""
    known = dict(defined(tree.body))
    names = [node for annotation in annotations(tree) for node in ast.walk(annotation) if isinstance(node, ast.Name)]
    return any(node.id == "array" or known.get(node.id, 0) >= node.lineno for node in names)


def test_annotations_are_postponed_only_where_one_refers_forward() -> None:
    postponing = [
        name
        for name, tree in modules().items()
        if any(isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in tree.body)
    ]
    assert len(postponing) > 10
    assert [name for name in postponing if not refers_forward(modules()[name])] == []
