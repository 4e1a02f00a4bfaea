"""The names of repositories, and their folders: `worlds/repositories/NAME` where names are looked up."""

from pathlib import Path

from simtrain.scenarios.find import REPOSITORIES, roots
from simtrain.values.errors import InputError, nearest


def repository_names() -> dict[str, Path]:
    """Return every repository by its name; an earlier root hides a later one."""
    found: dict[str, Path] = {}
    for root in roots():
        folder = root / "worlds" / REPOSITORIES
        for path in sorted(folder.iterdir()) if folder.is_dir() else ():
            if path.is_dir() and not path.name.startswith((".", "_")):
                found.setdefault(path.name, path)
    return dict(sorted(found.items()))


def repository_folder(name: str) -> Path:
    """Return the folder of a path or a name. Raises InputError with the nearest name."""
    path = Path(name)
    if path.is_dir():
        return path
    known = repository_names()
    if name not in known:
        raise InputError(f"there is no folder and no repository {name!r}", remedy=nearest(name, known), place="REPO")
    return known[name]
