"""Glob patterns over paths with the rules of npm's minimatch, names that begin with a dot included."""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import TypeAlias

from simtrain.worlds.handlers.filesystem.braces import expand
from simtrain.worlds.handlers.filesystem.glob_names import Items, fits_name, read_items

# minimatch's own limit.
LONGEST = 65_536

Test: TypeAlias = Callable[[str], bool]
Segment: TypeAlias = "Items | None"
"""The part between two slashes: items that one name must fit, or None for `**`."""

_SLASHES = re.compile(r"/+")
_BRACES = re.compile(r"\{(?:(?!\{).)*\}")


@lru_cache(maxsize=512)
def glob(pattern: str) -> Test:
    """Return a test of relative paths, without a slash at the end, against a pattern. Takes polynomial time for any pattern."""
    # For minimatch such a pattern is a comment, and matches nothing.
    if pattern.startswith("#") or len(pattern) > LONGEST:
        return lambda path: False
    bare = pattern.lstrip("!")
    # Each leading `!` negates again.
    wanted = (len(pattern) - len(bare)) % 2 == 0
    if not bare:
        return lambda path: (path == "") is wanted
    expanded = expand(bare) if _BRACES.search(bare) else [bare]
    alternatives = [tuple(map(_segment, _SLASHES.split(one))) for one in expanded]

    def fits(path: str) -> bool:
        names = path.split("/")
        return any(_fits(segments, names) for segments in alternatives) is wanted

    return fits


def _segment(text: str) -> Segment:
    return None if text == "**" else read_items(text)


def _fits(segments: tuple[Segment, ...], names: list[str]) -> bool:
    """True if all names fit the segments. All segments that can be reached are followed at once, so several `**` never backtrack."""
    end = len(segments)
    reached = _with_skips({0}, segments)
    for name in names:
        following: set[int] = set()
        for place in reached - {end}:
            segment = segments[place]
            if segment is None:
                # `**` takes any number of names; at the end of a pattern it takes at least one.
                following |= {place, end} if place == end - 1 else {place}
            elif fits_name(segment, name):
                following.add(place + 1)
        reached = _with_skips(following, segments)
    return end in reached


def _with_skips(places: set[int], segments: tuple[Segment, ...]) -> set[int]:
    """Return the places, and those after a `**` that takes no name."""
    reached = set(places)
    for place in sorted(places):
        while place < len(segments) - 1 and segments[place] is None:
            place += 1
            reached.add(place)
    return reached
