"""Globs over tool names: test for a match, and for whether one matches anything in a world."""

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache

from simtrain.contracts.request import FILL, READ
from simtrain.contracts.world import World
from simtrain.values.errors import InputError, nearest
from simtrain.values.types import ToolSpec


# Asked for every perturbation on every call, with few different names.
@lru_cache(maxsize=65536)
def matches(name: str, globs: str | tuple[str, ...]) -> bool:
    """True if a tool name matches a glob, or one of several."""
    # fnmatchcase, since fnmatch folds case on some platforms and not on others.
    return any(fnmatchcase(name, glob) for glob in ((globs,) if isinstance(globs, str) else globs))


def named_by(globs: str | Sequence[str], tools: Iterable[ToolSpec]) -> frozenset[str]:
    """Return the names of the tools that a glob, or one of several, matches."""
    wanted = globs if isinstance(globs, str) else tuple(globs)
    return frozenset(tool.name for tool in tools if matches(tool.name, wanted))


def step_names(world: World) -> list[str]:
    """Return the tool names that the steps of an episode may have: the tools, and the reads of every server."""
    servers = dict.fromkeys(["", *(tool.server for tool in world.tools)])
    reads = [f"{server}.{read}" if server else read for server in servers for read in (READ, FILL)]
    return [*(tool.name for tool in world.tools), *reads]


def check_globs(world: World, globs: Sequence[str], *, place: str) -> None:
    """Raise InputError for a glob that matches no tool of the world."""
    names = [tool.name for tool in world.tools]
    for index, glob in enumerate(globs):
        if not any(matches(name, glob) for name in names):
            problem = f"no tool of the world {world.name!r} matches {glob!r}"
            raise InputError(problem, remedy=nearest(glob, names), place=f"{place}[{index}]")
