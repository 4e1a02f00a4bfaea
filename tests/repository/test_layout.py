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
