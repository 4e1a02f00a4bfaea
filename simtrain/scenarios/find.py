"""Names of scenarios, worlds and packs, and the files that they name."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, TypeAlias

from simtrain.values.errors import InputError, nearest

HARBOR_TASK = "task.toml"
"""The file by which a Harbor folder is known."""
REPOSITORIES = "repositories"
"""The folder of worlds/ with repositories of code."""

Kind: TypeAlias = Literal["scenarios", "worlds", "perturbations"]


def shipped_root() -> Path:
    """Return the folder that holds the shipped scenarios/, worlds/ and perturbations/: the checkout's own, else the wheel's."""
    package = Path(__file__).resolve().parents[1]
    # In a checkout its own files count, so that edits take effect without a new installation.
    checkout = package.parent
    return (
        checkout
        if (checkout / "pyproject.toml").is_file() and (checkout / "scenarios").is_dir()
        else package / "shipped"
    )


def roots() -> list[Path]:
    """Return the folders where names are looked up, in order: the working folder, SIMTRAIN_PATH, the built-in files."""
    extra = [Path(part) for part in os.environ.get("SIMTRAIN_PATH", "").split(os.pathsep) if part]
    found: list[Path] = []
    for root in (Path.cwd(), *extra, shipped_root()):
        # The working folder may be the checkout itself.
        if root.resolve() not in [known.resolve() for known in found]:
            found.append(root)
    return found


def names(kind: Kind) -> dict[str, Path]:
    """Return every name of a kind and its file, sorted by name; an earlier root hides a later one."""
    found: dict[str, Path] = {}
    for root in roots():
        for path in _files(root / kind):
            found.setdefault(_name(path, root / kind), path)
    return dict(sorted(found.items()))


def shipped_scenarios() -> dict[str, Path]:
    """Return every built-in family, by name."""
    folder = shipped_root() / "scenarios"
    return {_name(path, folder): path for path in _files(folder)}


def find(kind: Kind, name: str, *, beside: Path | None = None) -> Path:
    """Return the file of one name, or of a path (relative to the folder `beside`, when given). Raises InputError with the nearest name."""
    if name.endswith((".yaml", ".yml")):
        path = Path(name) if beside is None or Path(name).is_absolute() else beside / name
        if not path.is_file():
            raise InputError(f"there is no file {name}")
        return path
    known = names(kind)
    if name not in known:
        raise InputError(f"unknown {kind.rstrip('s')} {name!r}", remedy=nearest(name, known))
    return known[name]


def find_scenarios(name: str) -> dict[str, Path]:
    """Return the families for a command-line argument: a family, a suite (all families in a folder), a file or a folder.

    Raises InputError, with the nearest name, for an unknown one.
    """
    path = Path(name)
    if path.name == HARBOR_TASK and path.is_file():
        return {path.resolve().parent.name: path}
    if path.suffix in (".yaml", ".yml"):
        return {_standing(path): find("scenarios", name)}
    known = names("scenarios")
    if name in known:
        return {name: known[name]}
    suite = {family: file for family, file in known.items() if family.startswith(f"{name.rstrip('/')}/")}
    if suite:
        return suite
    if path.is_dir():
        tasks = _harbor_tasks(path)
        if tasks:
            return tasks
        inside = {_standing(file): file for file in _files(path)}
        if inside:
            return inside
        raise InputError(f"the folder {name} holds no scenario file and no {HARBOR_TASK} of Harbor")
    suites = {family.partition("/")[0] for family in known if "/" in family}
    raise InputError(f"unknown scenario {name!r}", remedy=nearest(name, [*known, *suites]))


def _harbor_tasks(folder: Path) -> dict[str, Path]:
    """Return the tasks of a Harbor folder, or of a folder of such: name of the folder -> its task.toml."""
    if (folder / HARBOR_TASK).is_file():
        return {folder.resolve().name: folder / HARBOR_TASK}
    return {path.parent.name: path for path in sorted(folder.glob(f"*/{HARBOR_TASK}"))}


def _files(folder: Path) -> Iterator[Path]:
    found = (path for path in folder.rglob("*") if path.suffix in (".yaml", ".yml") and path.is_file())
    # What lies in a repository of a world is code of that world.
    yield from sorted(path for path in found if REPOSITORIES not in path.relative_to(folder).parts)


def _name(path: Path, folder: Path) -> str:
    return path.relative_to(folder).with_suffix("").as_posix()


def _standing(path: Path) -> str:
    """Return the name of a file given by path: from its scenarios/ folder down if it is in one, else its stem."""
    parts = path.resolve().with_suffix("").parts
    # The innermost folder of this name: the checkout may lie in another one.
    if "scenarios" in parts[:-1]:
        last = len(parts) - 1 - parts[::-1].index("scenarios", 1)
        return "/".join(parts[last + 1 :])
    return path.stem
