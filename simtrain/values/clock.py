"""Virtual time: an episode's clock, which moves only when the episode says so."""

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from simtrain.values.errors import InputError, SimulatorFault

DEFAULT_START = "2030-01-07T09:00:00Z"

LAST = 253_402_300_799.0
"""The last second of the year 9999: `datetime` has no later dates."""

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_EPOCH = datetime(1970, 1, 1)


def seconds(text: str | int | float) -> float:
    """Return the length of a duration in seconds: a number of seconds, or `1h30m`, `20s`, `250ms`, `2d`.

    Raises InputError when the text is not a duration.
    """
    if isinstance(text, int | float):
        return float(text)
    found = _DURATION.findall(text)
    # findall skips what it does not know, so the parts have to add up to the whole text.
    if not found or "".join(number + unit for number, unit in found) != text:
        raise InputError(f"{text!r} is not a duration", remedy="write it like 20s, 5m, 1h30m or 250ms")
    return sum(float(number) * _UNITS[unit] for number, unit in found)


def instant(text: str) -> float:
    """Return the Unix time of an ISO 8601 date or date-time; UTC if it has no zone. Raises InputError."""
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError:
        raise InputError(f"{text!r} is not a date", remedy="write it like 2031-03-03 or 2031-03-03T09:00:00Z") from None
    return (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp()


def stamp(moment: float) -> str:
    """Return a Unix time as `2031-03-03T09:00:20Z`; fractions of a second are cut."""
    return _written(int(moment))


# Cached: the episodes of a world start at the same time and take equal steps, so they format the same times.
@lru_cache(maxsize=4096)
def _written(moment: int) -> str:
    return f"{(_EPOCH + timedelta(seconds=moment)).isoformat()}Z"


class Clock:
    """The clock of one episode: starts at a given time and is advanced by steps and perturbations."""

    __slots__ = ("moment", "per_step")

    def __init__(self, *, start: float, per_step: float) -> None:
        self.moment = start
        self.per_step = per_step

    @property
    def now(self) -> str:
        """Return the current virtual time, such as `2031-03-03T09:00:20Z`."""
        return _written(int(self.moment))

    def tick(self) -> None:
        """Begin a step. Raises SimulatorFault when time runs out."""
        self.advance(self.per_step)

    def advance(self, amount: float) -> None:
        """Advance virtual time by `amount` seconds. Raises SimulatorFault when time runs out."""
        moment = self.moment + amount
        # datetime has no later dates: the next time stamp would raise in the middle of a tool call.
        if moment > LAST:
            raise SimulatorFault("virtual time runs past the year 9999")
        self.moment = moment
