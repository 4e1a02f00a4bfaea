"""Durations as people write them."""

import re

from rota.errors import DurationError

UNITS = {"w": 604_800, "d": 86_400, "h": 3_600, "m": 60, "s": 1}

_PART = re.compile(r"(\d+(?:\.\d+)?)([wdhms])")


def parse_duration(text: str) -> float:
    """Return the seconds of a text like `1h30m`; units from large to small, each once."""
    rest = text.strip().lower().replace(" ", "")
    if not rest:
        raise DurationError("a duration is empty")
    total, last = 0.0, ""
    order = "".join(UNITS)
    while rest:
        match = _PART.match(rest)
        if match is None:
            raise DurationError(f"{text!r} is no duration")
        number, unit = match.groups()
        if last and order.index(unit) <= order.index(last):
            raise DurationError(f"{text!r} has its units in the wrong order")
        total += float(number) * UNITS[unit]
        last, rest = unit, rest[match.end() :]
    return total


def format_duration(seconds: float, *, parts: int = 2) -> str:
    """Return seconds as text, rounded down to so many parts: 5400 is `1h30m`."""
    if seconds < 0:
        return "-" + format_duration(-seconds, parts=parts)
    left, found = int(seconds), []
    for unit, size in UNITS.items():
        count, left = divmod(left, size)
        if count:
            found.append(f"{count}{unit}")
        if len(found) == parts:
            break
    return "".join(found) or "0s"
