"""Options of pytest in a repository's settings that ask for plug-ins which the sandbox lacks, such as `--cov`: they are left out of it."""

import re
import tomllib
from collections.abc import Callable
from configparser import ConfigParser
from configparser import Error as IniError
from dataclasses import replace
from typing import Any, cast

from simtrain.worlds.bugs.test_runs import TestRunner
from simtrain.worlds.repositories.folder import RepositoryFolder

_OPTIONS = re.compile(r"\s*addopts\s*=")
_UNKNOWN = re.compile(r"unrecognized arguments: (.+)")


def without_unknown_options(folder: RepositoryFolder, runner: TestRunner) -> tuple[RepositoryFolder, dict[str, str]]:
    """Return a repository that pytest starts in, without `addopts` if need be, and the files changed for it, each with the reason.

    A file stays as it is where it cannot be told where its `addopts` end.
    """
    shorter = {path: without_options(path, folder.files[path]) for path in _SETTINGS if path in folder.files}
    changed = {path: content for path, content in shorter.items() if content is not None}
    if not changed:
        return folder, {}
    run = replace(runner, arguments=(*runner.arguments, "--collect-only")).tests(folder.files, scripts=0)
    unknown = _UNKNOWN.search(run.said)
    if not run.lacks_plugins or unknown is None:
        return folder, {}
    reason = f"its addopts ask for {unknown[1].strip()}, which pytest does not know here"
    return replace(folder, files=folder.files | changed), dict.fromkeys(changed, reason)


def without_options(path: str, content: bytes) -> bytes | None:
    """Return a file of pytest's settings without its `addopts`; None where it has none, or where it cannot be told where they end."""
    read = _SETTINGS[path]
    try:
        lines = content.decode().splitlines(keepends=True)
    except UnicodeDecodeError:
        return None
    says, found = read("".join(lines)) or (None, False)
    for first in (number for number, line in enumerate(lines) if found and _OPTIONS.match(line)):
        for end in range(first + 1, len(lines) + 1):
            shorter = "".join(lines[:first] + lines[end:])
            if read(shorter) == (says, False):
                return shorter.encode()
    return None


def _toml(text: str) -> tuple[Any, bool] | None:
    """Return what a file says beside its `addopts`, and whether it has some; None for one that cannot be read."""
    try:
        document: Any = tomllib.loads(text)
    except ValueError:
        return None
    places = (("pytest",), ("tool", "pytest"), ("tool", "pytest", "ini_options"))
    found = [_table(document, place).pop("addopts", None) for place in places]
    return document, found != [None] * len(places)


def _table(document: Any, place: tuple[str, ...]) -> dict[str, Any]:
    """Return a table of a document, empty where there is none."""
    found: Any = document
    for name in place:
        found = cast("dict[str, Any]", found).get(name) if isinstance(found, dict) else None
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def _ini(text: str) -> tuple[Any, bool] | None:
    """Return what a file says beside its `addopts`, and whether it has some; None for one that cannot be read."""
    parser = ConfigParser(interpolation=None)
    try:
        parser.read_string(text)
    except IniError:
        return None
    found = [parser.remove_option(name, "addopts") for name in ("pytest", "tool:pytest") if parser.has_section(name)]
    return {name: dict(parser[name]) for name in parser.sections()}, any(found)


_Reader = Callable[[str], tuple[Any, bool] | None]
_SETTINGS: dict[str, _Reader] = {
    **dict.fromkeys(("pytest.toml", ".pytest.toml", "pyproject.toml"), _toml),
    **dict.fromkeys(("pytest.ini", ".pytest.ini", "tox.ini", "setup.cfg"), _ini),
}
