"""The syntax of bounds: `now-5y`, `2140-01-31`, `station.opened+30d`."""

import re
from datetime import date
from functools import cache

from simtrain.values.errors import InputError
from simtrain.worlds.search.spec.parts import days

_BOUND = re.compile(r"([a-z_][a-z0-9_.]*)(?:\s*([+-])\s*(\S+))?")


@cache
def split_bound(bound: str) -> tuple[str, int]:
    """Return the path, `now` or date of a bound, and the days to add (`station.opened+30d`: 30). Raises InputError."""
    try:
        return date.fromisoformat(bound).isoformat(), 0
    except ValueError:
        found = _BOUND.fullmatch(bound)
    if found is None:
        raise InputError(f"{bound!r} is not a bound", remedy="write it like 2140-01-31, now-5y or station.opened+30d")
    shift = days(found[3]) if found[3] else 0
    return found[1], -shift if found[2] == "-" else shift
