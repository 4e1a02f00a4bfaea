"""Names for shell completion; unreadable files are ignored here, since errors would garble the prompt."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from simtrain.values.errors import SimtrainError

if TYPE_CHECKING:
    from simtrain.scenarios.find import Kind


def _of(kind: Kind) -> list[str]:
    from simtrain.scenarios.find import names

    return list(names(kind))


def _beginning(found: Callable[[], Iterable[str]], incomplete: str) -> list[str]:
    try:
        return sorted({name for name in found() if name.startswith(incomplete)})
    # While a user types, a broken file elsewhere must not print into the line.
    except (SimtrainError, OSError):
        return []


def scenario_names(incomplete: str) -> list[str]:
    """Return the names of families and their suites."""
    return _beginning(
        lambda: (part for name in _of("scenarios") for part in (name, name.partition("/")[0])), incomplete
    )


def pack_names(incomplete: str) -> list[str]:
    """Return the names of packs of perturbations."""
    return _beginning(lambda: _of("perturbations"), incomplete)


def world_names(incomplete: str) -> list[str]:
    """Return the names of worlds."""
    return _beginning(lambda: _of("worlds"), incomplete)


def agent_names(incomplete: str) -> list[str]:
    """Return the names of agents."""
    from simtrain.contracts.registry import known

    return _beginning(lambda: known("agents"), incomplete)
