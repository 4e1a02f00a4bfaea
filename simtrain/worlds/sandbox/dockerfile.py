"""A Dockerfile read without Docker: FROM, COPY, WORKDIR, ENV and USER become files, folder, environment and user; the rest is refused.

Of RUN only `pip install` of what the sandbox's Python has is taken: it is there already.

The form is that of https://docs.docker.com/reference/dockerfile/ as of 2026.
"""

import os
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from posixpath import basename, join, normpath

from simtrain.contracts.sandbox_runs import Entry, Folder
from simtrain.files.file_bytes import file_text
from simtrain.values.errors import InputError
from simtrain.worlds.sandbox.host_folder import HostFolder
from simtrain.worlds.sandbox.packages import PACKAGES

BASES = ("python", "debian", "ubuntu")
"""Images in whose place this machine's own programs can stand."""
_ELSEWHERE = "bring what it makes with COPY, or play the folder where Docker is"
_VARIABLE = re.compile(r"\\\$|\$(?:\{(?P<braced>\w+)(?::(?P<sign>[-+])(?P<other>[^}]*))?\}|(?P<bare>\w+))")
_QUOTED_DOLLAR = re.compile(r"'[^']*\$[^']*'")
_INSTALL = re.compile(r"^(?:python3? -m )?pip3? install((?: --[a-z-]+)*)((?: [A-Za-z0-9_.-]+(?:[=~<>!]=?[0-9.*]+)?)+)$")
_ENV_PAIR = re.compile(r"^\w+=")


@dataclass(frozen=True, slots=True)
class ContainerImage:
    """What a Dockerfile makes: the image that it begins with, the files copied, and how commands begin."""

    base: str
    files: Mapping[str, Entry]
    environment: Mapping[str, str]
    directory: str
    user: str | None
    packages: tuple[str, ...] = ()
    """What pip installs into it, without versions: all of it packages of the sandbox."""
    built: bool = False
    """Whether Docker has it, under the name `base`."""

    @property
    def python(self) -> bool:
        """True if the image begins with one of Python."""
        return _plain(self.base) == "python"


def read_dockerfile(path: Path) -> ContainerImage:
    """Return what a Dockerfile makes of the folder that it lies in. Raises InputError, with the line, for what needs Docker."""
    ignored = path.parent / ".dockerignore"
    if ignored.exists():
        raise InputError(
            "a .dockerignore is not interpreted", remedy="remove it, and what it leaves out", file=ignored, line=1
        )
    reading = _Reading(path)
    for line, name, rest in _instructions(path):
        reading.take(line, name, rest)
    return reading.image()


class _Reading:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._context = path.parent
        self._base: str | None = None
        self._gathered = HostFolder()
        self._environment: dict[str, str] = {}
        self._directory = "/"
        self._user: str | None = None
        self._packages: list[str] = []
        self._line = 1

    def image(self) -> ContainerImage:
        if self._base is None:
            raise self._error("there is no FROM", "begin with one, such as FROM python:3.12-slim")
        packages = tuple(dict.fromkeys(self._packages))
        return ContainerImage(
            self._base, self._gathered.entries, self._environment, self._directory, self._user, packages
        )

    def take(self, line: int, name: str, rest: str) -> None:
        """Carry out one instruction. Raises InputError."""
        self._line = line
        carry_out = {
            "FROM": self._begin,
            "COPY": self._copy,
            "WORKDIR": self._enter,
            "ENV": self._set,
            "USER": self._become,
        }.get(name)
        if name == "RUN" and self._base is not None and self._installs(rest):
            return
        if carry_out is None:
            raise self._error(f"{name} is not interpreted without Docker", _ELSEWHERE)
        if self._base is None and name != "FROM":
            raise self._error(f"{name} comes before FROM", "begin with FROM")
        carry_out(self._words(name, rest))

    def _error(self, problem: str, remedy: str | None) -> InputError:
        return InputError(problem, remedy=remedy, file=self._path, line=self._line)

    def _words(self, name: str, rest: str) -> list[str]:
        if rest.startswith("["):
            raise self._error(f"{name} with a JSON list is not interpreted", "write its words apart by spaces")
        if _QUOTED_DOLLAR.search(rest):
            raise self._error(f"{name} with $ in single quotes is not interpreted", "write \\$ without quotes")
        try:
            words = shlex.split(rest, posix=True) if name != "WORKDIR" else [rest.strip().strip("\"'")]
        except ValueError as error:
            raise self._error(f"{name} cannot be read: {error}", "close the quotation mark") from None
        return [_VARIABLE.sub(self._value, word) for word in words]

    def _value(self, found: re.Match[str]) -> str:
        if found[0] == "\\$":
            return "$"
        value = self._environment.get(found["braced"] or found["bare"], "")
        if found["sign"] == "+":
            return found["other"] if value else ""
        return value or found["other"] or ""

    def _installs(self, line: str) -> bool:
        """Take a line that installs what the sandbox's Python has anyway; return whether it was one."""
        found = _INSTALL.match(" ".join(line.split()))
        names = [re.split("[=~<>!]", word)[0].lower() for word in found[2].split()] if found is not None else []
        if not names or not {*names} <= {*PACKAGES} or self._base is None or _plain(self._base) != "python":
            return False
        self._packages += names
        return True

    def _begin(self, words: list[str]) -> None:
        if self._base is not None:
            raise self._error("a second FROM is not interpreted without Docker", _ELSEWHERE)
        if words and words[0].startswith("--"):
            words = words[1:]
        if len(words) not in (1, 3):
            raise self._error("FROM names one image", "write it like FROM python:3.12-slim")
        if _plain(words[0]) not in BASES:
            remedy = f"begin with one of {', '.join(BASES)}, or play the folder where Docker is"
            raise self._error(f"nothing here can stand in for the image {words[0]!r}", remedy)
        self._base = words[0]

    def _enter(self, words: list[str]) -> None:
        if not words[0]:
            raise self._error("WORKDIR names no folder", "write it like WORKDIR /app")
        self._directory = normpath(join(self._directory, words[0]))
        self._gathered.entries.setdefault(self._directory, Folder())

    def _set(self, words: list[str]) -> None:
        if len(words) >= 2 and not _ENV_PAIR.match(words[0]):
            # The old form: the rest of the line is the value.
            self._environment[words[0]] = " ".join(words[1:])
            return
        for word in words:
            if not _ENV_PAIR.match(word):
                raise self._error(f"ENV {word!r} gives no value", "write it like ENV NAME=value")
            name, _, value = word.partition("=")
            self._environment[name] = value

    def _become(self, words: list[str]) -> None:
        if len(words) != 1:
            raise self._error("USER names one user", "write it like USER app")
        self._user = words[0].partition(":")[0]

    def _copy(self, words: list[str]) -> None:
        options = [word for word in words if word.startswith("--")]
        *sources, target = [word for word in words if not word.startswith("--")] or [""]
        mode: int | None = None
        for option in options:
            name, _, value = option.partition("=")
            if name == "--chmod" and re.fullmatch("[0-7]{3,4}", value):
                mode = int(value, 8)
            elif name != "--chown":
                raise self._error(f"COPY {option} is not interpreted without Docker", _ELSEWHERE)
        if not sources:
            raise self._error("COPY names a source and a target", "write it like COPY src/ /app/")
        found = [path for source in sources for path in self._sources(source)]
        goal = normpath(join(self._directory, target))
        into = target.endswith("/") or target in (".", "..") or len(found) > 1
        into = into or isinstance(self._gathered.entries.get(goal), Folder)
        for path in found:
            whole = path.is_dir() and not path.is_symlink()
            self._gathered.add(path, f"{goal.rstrip('/')}/{path.name}" if into and not whole else goal, mode=mode)

    def _sources(self, source: str) -> list[Path]:
        pattern = normpath(source.lstrip("/")) if source.strip("/") else "."
        if pattern.startswith(".."):
            raise self._error(f"COPY {source}: is outside of {self._context.name}/", "move it into that folder")
        if pattern == ".":
            return [self._context]
        found = sorted(self._context.glob(pattern)) if set(pattern) & set("*?[") else [self._context / pattern]
        if not found or not os.path.lexists(found[0]):
            raise self._error(f"COPY {source}: there is no such file in {self._context.name}/", "add it")
        return found


def _plain(image: str) -> str:
    """Return the name of an image without registry, tag and digest."""
    return basename(image.partition("@")[0]).partition(":")[0]


def _instructions(path: Path) -> Iterator[tuple[int, str, str]]:
    """Yield the instructions of a Dockerfile: the number of the first line, the name in capitals, the rest."""
    pending, first = "", 0
    for number, line in enumerate(file_text(path).splitlines(), 1):
        bare = line.strip()
        if not bare or bare.startswith("#"):
            continue
        first = first or number
        pending += bare.removesuffix("\\")
        if bare.endswith("\\"):
            continue
        name, _, rest = pending.partition(" ")
        yield first, name.upper(), rest.strip()
        pending, first = "", 0
    if pending:
        raise InputError("the last line is not finished", remedy="remove the backslash", file=path, line=first)
