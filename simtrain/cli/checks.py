"""The checks of `simtrain doctor`: each says what it found, and whether it is required."""

from __future__ import annotations

import os
import platform
import re
import shutil
import sqlite3
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from simtrain.values.errors import InputError, nearest
from simtrain.values.extras import lacks_extra

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

LEAST_DISK = 1_000_000_000

# A checkout that is not installed has no distribution metadata; pyproject.toml is then next to the package.
_REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)\s*(?:\[[^\]]*\])?\s*([^;]*)(;.*)?")
_FEATURES = {
    "JSON": "select value from json_each('[1]')",
    "window functions": "select row_number() over () from (select 1)",
    "RETURNING": "insert into t values (1) returning a",
    "upsert": "insert into t values (2) on conflict do nothing",
}


@dataclass(frozen=True)
class Check:
    """One finding. `needed`: simtrain does not work without it."""

    name: str
    ok: bool
    needed: bool
    found: str


def all_checks(on_world: Callable[[], None]) -> list[Check]:
    """Return every check, most important first; worlds are left out if packages that build them are missing.

    `on_world` is called after each of the `shipped_worlds`.
    """
    packages = [_python(), *_packages(), _sqlite()]
    # Without a package these would fail with a traceback that says less than the missing package.
    files = [*_plugins(), *_roots(), *_worlds(on_world), *_sandboxes()] if all(check.ok for check in packages) else []
    return [*packages, *files, *_variables(), _disk()]


def _python() -> Check:
    wanted, _ = _wanted()
    return Check(
        "python",
        _satisfies(platform.python_version(), wanted),
        True,
        f"{platform.python_version()} (needs {wanted}) at {sys.executable}",
    )


def _packages() -> Iterator[Check]:
    from importlib.metadata import PackageNotFoundError, version

    for name, bounds in _wanted()[1]:
        try:
            found = version(name)
        except PackageNotFoundError:
            yield Check(name, False, True, f"not installed (needs {bounds}); pip install '{name}{bounds}'")
            continue
        yield Check(name, _satisfies(found, bounds), True, f"{found} (tested with {bounds})")


def _wanted() -> tuple[str, list[tuple[str, str]]]:
    """Return the version bounds of Python and of every core package, from the installed metadata, else from the checkout."""
    from importlib.metadata import PackageNotFoundError, metadata

    try:
        facts = metadata("simtrain")
        python, lines = facts["Requires-Python"], facts.get_all("Requires-Dist") or []
    except PackageNotFoundError:
        import tomllib

        import simtrain

        project = tomllib.loads((Path(simtrain.__file__).parents[1] / "pyproject.toml").read_text("utf-8"))["project"]
        python, lines = project["requires-python"], project["dependencies"]
    parts = [match for line in lines if (match := _REQUIREMENT.match(line)) and "extra" not in (match[3] or "")]
    return python, [(part[1], _sorted_bounds(part[2])) for part in parts]


def _sorted_bounds(bounds: str) -> str:
    """`<4,>=3.52` with the lower bound first."""
    return ",".join(sorted((bound.strip() for bound in bounds.split(",")), key=lambda bound: not bound.startswith(">")))


def _satisfies(version: str, bounds: str) -> bool:
    """True if a version is within `>=` and `<` bounds."""
    found = _numbers(version)
    for bound in bounds.split(","):
        at_least, below = bound.startswith(">="), bound.startswith("<") and not bound.startswith("<=")
        if (at_least and found < _numbers(bound)) or (below and found >= _numbers(bound)):
            return False
    return True


def _numbers(version: str) -> tuple[int, ...]:
    found = re.search(r"\d+(?:\.\d+)*", version)
    return tuple(int(part) for part in found[0].split(".")) if found else ()


def _sqlite() -> Check:
    connection = sqlite3.connect(":memory:")
    missing = [name for name in ("serialize", "deserialize", "setlimit") if not hasattr(connection, name)]
    connection.execute("create table t (a integer primary key)")
    for name, sql in _FEATURES.items():
        try:
            connection.execute(sql).fetchall()
        except sqlite3.Error:
            missing.append(name)
    connection.close()
    features = ", ".join(("serialize", *_FEATURES))
    return Check(
        "sqlite",
        not missing,
        True,
        f"{sqlite3.sqlite_version}, " + (f"without {', '.join(missing)}" if missing else f"with {features}"),
    )


def _plugins() -> Iterator[Check]:
    """Yield the plug-ins of other packages; an unusable one with the reason."""
    from simtrain.contracts.registry import foreign

    for point in foreign():
        kind = point.group.partition(".")[2]
        package = point.dist.name if point.dist is not None else "an unknown package"
        wrong = _wrong(kind, point)
        what = f"{point.value}, of the package {package}"
        yield Check(
            f"{kind} {point.name}", wrong is None, False, what if wrong is None else f"{what}, cannot be used: {wrong}"
        )


def _wrong(kind: str, point: EntryPoint) -> str | None:
    """Return why an entry point is not a plug-in of its kind; None for one that is."""
    from simtrain.contracts.registry import foreign
    from simtrain.plugins import PLUGINS

    if kind not in PLUGINS:
        return f"there is no kind of plug-in {kind!r}; {nearest(kind, PLUGINS)}"
    if point.name in PLUGINS[kind]:
        return "a plug-in that ships has this name, and is taken"
    if sum((other.group, other.name) == (point.group, point.name) for other in foreign()) > 1:
        return "another entry point has the same name"
    try:
        found = point.load()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    # These two kinds are functions; all others are classes.
    if kind in ("handlers", "argument_styles"):
        return None if callable(found) else "it is not a function"
    return None if isinstance(found, type) else "it is not a class"


def _roots() -> Iterator[Check]:
    """Yield the folders where names are looked up, and how many files each has."""
    from simtrain.scenarios.find import roots, shipped_root

    shipped = shipped_root().resolve()
    for root in roots():
        counts = [
            f"{_count(root / kind)} {kind}"
            for kind in ("scenarios", "worlds", "perturbations")
            if (root / kind).is_dir()
        ]
        own = root.resolve() == shipped
        yield Check("shipped files" if own else "names", bool(counts), own, f"{root}: {', '.join(counts) or 'nothing'}")


def _count(folder: Path) -> int:
    return sum(path.suffix in (".yaml", ".yml") for path in folder.rglob("*"))


def shipped_worlds() -> list[Path]:
    """Return the files of the built-in worlds."""
    from simtrain.scenarios.find import shipped_root

    return sorted((shipped_root() / "worlds").glob("*.yaml"))


def _worlds(on_world: Callable[[], None]) -> Iterator[Check]:
    for path in shipped_worlds():
        yield _world(path)
        on_world()


def _world(path: Path) -> Check:
    from simtrain.scenarios.load import load_world

    try:
        world = load_world(path).build()
    except InputError as error:
        return Check(f"world {path.stem}", False, not lacks_extra(error), str(error))
    return Check(f"world {world.name}", True, True, f"{len(world.tools)} tools")


def _sandboxes() -> Iterator[Check]:
    """Yield the sandboxes: which of them works here, or what would make it work."""
    from simtrain.contracts.registry import known, resolve

    for name in known("sandboxes"):
        probe = resolve("sandboxes", name)().probe()
        yield Check(f"sandbox {name}", probe.ok, False, probe.found)


def _variables() -> Iterator[Check]:
    for name, use in (
        ("OPENAI_BASE_URL", "model servers other than OpenAI"),
        ("OPENAI_API_KEY", "model servers that ask for a key"),
    ):
        # Only whether it is set: the report is pasted into bug reports.
        given = bool(os.environ.get(name))
        yield Check(name, given, False, "set" if given else f"not set; only for {use}")


def _disk() -> Check:
    runs = Path("runs").resolve()
    # runs/ may not exist yet; its nearest existing parent is on the same disk.
    there = next(path for path in (runs, *runs.parents) if path.exists())
    free = shutil.disk_usage(there).free
    return Check("disk", free >= LEAST_DISK, False, f"{free / 1e9:.1f} GB free for {runs}")
