"""Globs that name tools of a world, checked before anything is played."""

from __future__ import annotations

from collections.abc import Sequence

from simtrain.errors import InputError, nearest
from simtrain.triggers import matches
from simtrain.world import World


def check_globs(world: World, globs: Sequence[str], *, place: str) -> None:
    """Refuse, with an InputError, a glob that matches no tool of the world."""
    names = [tool.name for tool in world.tools]
    for index, glob in enumerate(globs):
        if not any(matches(name, glob) for name in names):
            problem = f"no tool of the world {world.name!r} matches {glob!r}"
            raise InputError(problem, remedy=nearest(glob, names), place=f"{place}[{index}]")
