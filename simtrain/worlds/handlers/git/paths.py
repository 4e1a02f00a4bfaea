"""Paths as git quotes them, the patterns of .gitignore, and pathspecs."""

import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import translate
from functools import lru_cache
from itertools import groupby

_ESCAPES = {7: "a", 8: "b", 9: "t", 10: "n", 11: "v", 12: "f", 13: "r", 34: '"', 92: "\\"}
_ESCAPED = re.compile(r"\\(.)")
_GLOB = re.compile(r"[*?\[]")


def quoted(path: str) -> str:
    """Return a path as in git's messages: quoted, with octal escapes, if it holds more than printable ASCII."""
    raw = path.encode()
    if all(32 <= byte < 127 and byte not in _ESCAPES for byte in raw):
        return path
    return '"' + "".join(_escaped(byte) for byte in raw) + '"'


def _escaped(byte: int) -> str:
    if byte in _ESCAPES:
        return "\\" + _ESCAPES[byte]
    return chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}"


@lru_cache(maxsize=4096)
def _pattern(text: str) -> re.Pattern[str]:
    """Return a shell pattern as a regular expression. `translate` writes atomic groups, so it cannot be made to backtrack for long."""
    return re.compile(translate(text))


def _fits(pattern: Sequence[str], parts: Sequence[str]) -> bool:
    """True if a pattern matches a path, name by name; `**` matches any number of names."""
    if not pattern:
        return not parts
    if pattern[0] == "**":
        return any(_fits(pattern[1:], parts[skipped:]) for skipped in range(len(parts) + (len(pattern) > 1)))
    return bool(parts) and _pattern(pattern[0]).match(parts[0]) is not None and _fits(pattern[1:], parts[1:])


def _once(pattern: Iterable[str]) -> tuple[str, ...]:
    """Return the pattern with each run of `**` as one; a run would multiply the ways to match, to no effect."""
    return tuple(name for part, run in groupby(pattern) for name in (run if part != "**" else (part,)))


@dataclass(frozen=True, slots=True)
class _Rule:
    folder: str
    pattern: tuple[str, ...]
    folders_only: bool
    excludes: bool


class Ignored:
    """The rules of the .gitignore files in a working tree."""

    def __init__(self, worktree: Mapping[str, tuple[str, bytes]]) -> None:
        self._rules: list[_Rule] = []
        files = [path for path in worktree if posixpath.basename(path) == ".gitignore"]
        # The last rule that matches decides, so those of deeper folders come later (gitignore(5)).
        for path in sorted(files, key=lambda found: (found.count("/"), found)):
            for line in worktree[path][1].decode(errors="replace").splitlines():
                self._add(posixpath.dirname(path), line)

    def _add(self, folder: str, line: str) -> None:
        # Trailing spaces count only if they are escaped (gitignore(5)).
        text = re.sub(r"(?<!\\) +$", "", line)
        if text == "" or text.startswith("#"):
            return
        excludes = not text.startswith("!")
        text = _ESCAPED.sub(
            lambda found: f"[{found[1]}]" if found[1] in "*?[" else found[1], text if excludes else text[1:]
        )
        folders_only = text.endswith("/")
        text = text.rstrip("/") if folders_only else text
        # A pattern without a slash in it matches at any depth (gitignore(5)).
        anywhere = () if "/" in text else ("**",)
        pattern = (*anywhere, *text.removeprefix("/").split("/"))
        self._rules.append(_Rule(folder, _once(pattern), folders_only, excludes))

    def cause(self, path: str) -> str | None:
        """Return the file itself, or the outermost of its folders, that is excluded; None if nothing is."""
        parts = path.split("/")
        # From the outside in: nothing below an excluded folder can be included again (gitignore(5)).
        for depth in range(1, len(parts) + 1):
            here = "/".join(parts[:depth])
            if self._excluded(here, is_folder=depth < len(parts)):
                return here
        return None

    def _excluded(self, path: str, *, is_folder: bool) -> bool:
        for rule in reversed(self._rules):
            inside = path.removeprefix(f"{rule.folder}/") if rule.folder else path
            if (rule.folder and inside == path) or (rule.folders_only and not is_folder):
                continue
            if _fits(rule.pattern, inside.split("/")):
                return rule.excludes
        return False


@dataclass(frozen=True, slots=True)
class Pathspec:
    """A pathspec: a file, a folder or a pattern, from the root of the working tree."""

    written: str
    path: str
    folder_only: bool

    def chosen(self, paths: Iterable[str]) -> list[str]:
        """Return those of `paths` that the pathspec matches."""
        below = f"{self.path}/" if self.path else ""
        fits = _pattern(self.path).match if _GLOB.search(self.path) else None
        return [
            path
            for path in paths
            if path.startswith(below)
            or (path == self.path and not self.folder_only)
            or (fits is not None and fits(path) is not None)
        ]


def pathspec(written: str, root: str) -> Pathspec | None:
    """Return a pathspec from its text: relative, absolute, or `:/` from the root; None for one that leads out of `root`."""
    plain = written.removeprefix(":/") if written.startswith(":/") else written
    path = posixpath.normpath(posixpath.join(root, plain))
    if path != root and not path.startswith(root.rstrip("/") + "/"):
        return None
    return Pathspec(written, path[len(root) :].strip("/"), plain.endswith("/"))
