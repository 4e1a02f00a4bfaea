"""What graders do with the files of a repository before its tests run over them, and which tests are due.

The standard library alone: a Harbor folder that is written of a repository holds a copy of this file, so that both judge alike.
"""

import ast
import sys
from collections.abc import Container, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase

try:
    from simtrain.values.python_source import parsed_python
except ModuleNotFoundError:
    # In a Harbor folder, where one thread alone parses.
    from ast import parse as parsed_python

_CACHES = ("__pycache__/", ".git/", ".pytest_cache/")
_OF_THE_RUN = sys.stdlib_module_names | {
    "pytest",
    "_pytest",
    "pluggy",
    "iniconfig",
    "packaging",
    "pygments",
    "reproducing",
}
_SETTINGS = (
    *("conftest.py", "sitecustomize.py", "usercustomize.py", "pyproject.toml", "tox.ini", "setup.cfg"),
    *("pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml"),
)
STEERING = (*_SETTINGS, *(f"**/{name}" for name in _SETTINGS))
"""Files by which a test run can be steered. They are put back as they were before hidden tests run."""
_MODULES = (".py", ".pyc", ".so")
_LOOKING = frozenset(
    {
        *("inspect", "dis", "ast", "tokenize", "linecache", "pkgutil", "get_data"),
        *("__code__", "__file__", "__loader__", "__spec__"),
    }
)
"""Modules and attributes by which a test gets at the code itself."""
_PYTEST = frozenset({"pytest", "_pytest", "pluggy"})


def is_cached(path: str) -> bool:
    """Return whether a file belongs to a cache or to git, so that it is no part of the code."""
    return any(f"/{path}".find(f"/{cache}") >= 0 for cache in _CACHES)


def fits(path: str, globs: Sequence[str]) -> bool:
    """Return whether a path fits one of some globs; `*` goes over slashes too."""
    return any(fnmatchcase(path, glob) for glob in globs)


def put_back(files: Mapping[str, bytes], before: Mapping[str, bytes], globs: Sequence[str]) -> dict[str, bytes]:
    """Return files with those that fit some globs as they were before: new ones are left out."""
    kept = {path: content for path, content in files.items() if not fits(path, globs)}
    return {**kept, **{path: content for path, content in before.items() if fits(path, globs)}}


def without_meddling(files: Mapping[str, bytes], before: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return files without new tests, and without new ones at the top or in `src` that hide a module of Python or of pytest, or name
    pytest a plug-in."""
    return {path: content for path, content in files.items() if path in before or not _meddles(path)}


def _meddles(path: str) -> bool:
    name, _, within = path.removeprefix("src/").partition("/")
    if is_test_file(path) or name.endswith((".dist-info", ".egg-info")):
        return True
    return name.partition(".")[0] in _OF_THE_RUN and bool(within or name.endswith(_MODULES))


def differing(files: Mapping[str, bytes], before: Mapping[str, bytes], globs: Sequence[str]) -> list[str]:
    """Return the files that were there before, fit some globs, and are gone or changed."""
    return [path for path, content in before.items() if fits(path, globs) and files.get(path) != content]


def written_tests(files: Mapping[str, bytes], before: Mapping[str, bytes], globs: Sequence[str]) -> dict[str, bytes]:
    """Return the files of Python that fit some globs and are new or changed."""
    return {path: content for path, content in written_python(files, before).items() if fits(path, globs)}


def written_python(files: Mapping[str, bytes], before: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the files of Python that are new or changed, sorted by path."""
    return {
        path: content for path, content in sorted(files.items()) if path.endswith(".py") and before.get(path) != content
    }


def remarked(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return files with a remark at the end: tests that take them for known by their length or a checksum fail on them."""
    return {path: content + b"\n# As it was.\n" for path, content in files.items()}


def look_at_code(written: Mapping[str, bytes], before: Mapping[str, bytes], code: Iterable[str]) -> str | None:
    """Return where tests that were written look at the text or the byte code of what they test, as `path:line`; None if none does.

    It is told by their syntax. `code` are the paths of the files that are not to be looked at. A file that did so before, may.
    """
    files = {f"/{one}".rpartition("/")[2] for one in code}
    return _new_mention(written, before, _LOOKING, {*files, "*.py", "__code__", "__file__"})


def reaches_for_pytest(written: Mapping[str, bytes], before: Mapping[str, bytes]) -> str | None:
    """Return where code that was written names pytest, by which its tests run, as `path:line`; None if it does not."""
    return _new_mention(written, before, _PYTEST, _PYTEST)


def _new_mention(
    written: Mapping[str, bytes], before: Mapping[str, bytes], names: Container[str], texts: Container[str]
) -> str | None:
    """Return where a file names one of these modules or attributes, or has one of these texts, as `path:line`, unless it did before."""
    for path, content in written.items():
        line = _first_mention(content, names, texts)
        if line is not None and _first_mention(before.get(path, b""), names, texts) is None:
            return f"{path}:{line}"
    return None


def _first_mention(content: bytes, names: Container[str], texts: Container[str]) -> int | None:
    try:
        tree = parsed_python(content)
    # What is no Python, or nested too deeply, names nothing.
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    for node in ast.walk(tree):
        told: list[str] = []
        if isinstance(node, ast.Import):
            told = [alias.name.partition(".")[0] for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            told = [(node.module or "").partition(".")[0], *(alias.name for alias in node.names)]
        elif isinstance(node, ast.Attribute):
            told = [node.attr]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
            if text.rpartition("/")[2] in texts or text.partition(".")[0] in texts:
                return node.lineno
        if any(one in names for one in told):
            return getattr(node, "lineno", 1)
    return None


def test_functions(path: str, content: bytes) -> list[str]:
    """Return the tests that a file defines, as `path::name` or `path::Class::name`, by its syntax alone.

    Raises ValueError for a file that is no Python.
    """
    try:
        tree = parsed_python(content)
    except SyntaxError as error:
        raise ValueError(f"{path}:{error.lineno}: is no Python: {error.msg}") from None
    found: list[str] = []
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test"):
            found.append(f"{path}::{node.name}")
        elif isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
            found += [
                f"{path}::{node.name}::{each.name}"
                for each in node.body
                if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef) and each.name.startswith("test")
            ]
    return found


def is_test_file(path: str) -> bool:
    """Return whether pytest looks for tests in a file."""
    name = path.rpartition("/")[2]
    return name.endswith(".py") and (name.startswith("test_") or name.endswith("_test.py"))


def tests_due(files: Mapping[str, bytes], only: Sequence[str]) -> list[str]:
    """Return the tests in some files that count: all, or those of the files that globs name. Raises ValueError."""
    counted = [path for path in sorted(files) if is_test_file(path) and (not only or fits(path, only))]
    return [test for path in counted for test in test_functions(path, files[path])]


def lost_tests(outcomes: Mapping[str, str], due: Sequence[str]) -> list[str]:
    """Return those of the tests that are due which did not run, or did not pass in all their cases."""
    lost: list[str] = []
    for test in due:
        found = [outcome for name, outcome in outcomes.items() if name == test or name.startswith(f"{test}[")]
        if not found or any(outcome != "passed" for outcome in found):
            lost.append(test)
    return lost
