"""The files of a repository's folder, read without following a link out of it."""

import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from simtrain.values.errors import InputError

LEFT_BY_TOOLS = frozenset({"__pycache__", ".pytest_cache", ".ruff_cache", ".mypy_cache", ".hypothesis"})
"""Caches that tools leave wherever they run."""

LEFT_OUT = LEFT_BY_TOOLS | {
    *(".git", ".hg", ".svn", ".venv", "venv", "env", "node_modules", ".tox", ".nox", "build", "dist", ".eggs"),
}
"""Folders that are no part of the code."""

_READMES = ("readme.md", "readme.rst", "readme.txt", "readme")

MOST_BYTES = 48 << 20
MOST_FILES = 10_000


def own_files(place: Path) -> list[Path]:
    """Return the files of a folder and of all below it, in order, without those in caches: what a tool leaves there is no part of it."""
    found = sorted(path for path in place.rglob("*") if not path.is_dir())
    return [path for path in found if LEFT_BY_TOOLS.isdisjoint(path.relative_to(place).parts)]


def readme_of(paths: Iterable[str]) -> str | None:
    """Return the README at the top of a repository; None if there is none."""
    found = {path.lower(): path for path in paths}
    return next((found[name] for name in _READMES if name in found), None)


@dataclass(frozen=True, slots=True)
class RepositoryFolder:
    """A repository: its name, where it lies, and its files by their paths in it."""

    name: str
    place: Path
    files: dict[str, bytes]

    def text(self, path: str) -> str:
        """Return a file as text. Raises InputError, with the line, for what is no UTF-8."""
        content = self.files[path]
        try:
            text = content.decode("utf-8")
        except UnicodeDecodeError as error:
            line = content.count(b"\n", 0, error.start) + 1
            raise InputError(
                f"byte {content[error.start]:#04x} is no UTF-8",
                remedy="save the file as UTF-8, or move it out of the repository",
                file=self.place / path,
                line=line,
            ) from None
        if "\0" in text:
            raise InputError(
                "is a binary file with the name of a Python file",
                remedy="move it out of the repository",
                file=self.place / path,
            )
        return text

    @property
    def texts(self) -> dict[str, str]:
        """The files that are text."""
        found: dict[str, str] = {}
        for path, content in self.files.items():
            try:
                found[path] = content.decode("utf-8")
            except UnicodeDecodeError:
                continue
        return found


def read_folder(place: Path) -> RepositoryFolder:
    """Read a repository. Links, sockets and the folders of LEFT_OUT are left out. Raises InputError."""
    if not place.is_dir():
        raise InputError("is no folder", remedy="name the folder of a repository", file=place)
    files: dict[str, bytes] = {}
    size = 0
    for folder, names, found in os.walk(place, followlinks=False):
        names[:] = sorted(name for name in names if name not in LEFT_OUT and not name.endswith(".egg-info"))
        for name in sorted(found):
            real = Path(folder) / name
            status = real.lstat()
            if not stat.S_ISREG(status.st_mode) or name.endswith(".pyc"):
                continue
            size += status.st_size
            if size > MOST_BYTES or len(files) >= MOST_FILES:
                raise InputError(
                    f"the repository has more than {MOST_BYTES >> 20} MiB or {MOST_FILES:,} files up to here",
                    remedy="give a copy with the code and its tests alone",
                    file=real,
                )
            try:
                files[real.relative_to(place).as_posix()] = real.read_bytes()
            except OSError as error:
                raise InputError(f"cannot be read: {error.strerror}", file=real) from None
    return RepositoryFolder(place.resolve().name, place, files)
