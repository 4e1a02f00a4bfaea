"""Find a plug-in by kind and name: first in the built-in table, then among entry points of other packages."""

from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, distributions, entry_points
from typing import Any

from simtrain.plugins import PLUGINS
from simtrain.values.errors import InputError, nearest


def known(kind: str) -> list[str]:
    """Return the names of all plug-ins of a kind, sorted."""
    return sorted({*PLUGINS[kind], *_installed(kind)})


@cache
def resolve(kind: str, name: str) -> Callable[..., Any]:
    """Return the plug-in class (or, for handlers, the function) registered under `name`.

    Raises InputError, with the nearest name, when there is none, and when another package's plug-in cannot be imported.
    """
    shipped = PLUGINS[kind].get(name)
    # Shipped names first, so that an installed package cannot replace a plug-in unnoticed.
    if shipped is not None:
        module, _, attribute = shipped.partition(":")
        return getattr(import_module(module), attribute)
    installed = _installed(kind).get(name)
    if installed is None:
        singular = "sandbox" if kind == "sandboxes" else kind.rstrip("s").replace("_", " ")
        raise InputError(f"unknown {singular} {name!r}", remedy=nearest(name, known(kind)))
    try:
        return installed.load()
    # Importing another package may raise anything.
    except Exception as error:
        raise InputError(f"the plug-in {name!r} ({installed.value}) cannot be imported: {error}") from error


def foreign() -> list[EntryPoint]:
    """Return the entry points of other packages in simtrain's groups, whatever kind they claim."""
    points = {
        (point.group, point.name, point.value): point
        for package in distributions()
        for point in package.entry_points
        if point.group.startswith("simtrain.")
    }
    return [points[key] for key in sorted(points)]


@cache
def _installed(kind: str) -> dict[str, Any]:
    return {point.name: point for point in entry_points(group=f"simtrain.{kind}")}
