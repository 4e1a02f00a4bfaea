"""Virtual time: an episode's clock, which moves only when the episode says so."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from simtrain.values.errors import InputError, SimulatorFault

DEFAULT_START = "2030-01-07T09:00:00Z"

LAST = 253_402_300_799.0
"""The last second of the year 9999, beyond which no date can be written."""

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
    if not found or "".join(number + unit for number, unit in found) != text:
        raise InputError(f"{text!r} is no duration", remedy="write it like 20s, 5m, 1h30m or 250ms")
    return sum(float(number) * _UNITS[unit] for number, unit in found)


def instant(text: str) -> float:
    """Return seconds since 1970 of an ISO 8601 date or date and time; without a zone it is UTC. Raises InputError."""
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError:
        raise InputError(f"{text!r} is no date", remedy="write it like 2031-03-03 or 2031-03-03T09:00:00Z") from None
    return (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp()


def stamp(moment: float) -> str:
    """Return an instant (seconds since 1970) as `2031-03-03T09:00:20Z`; fractions of a second are cut."""
    return _written(int(moment))


# The episodes of a world begin together and take equal steps, so that they pass through the same instants.
@lru_cache(maxsize=4096)
def _written(moment: int) -> str:
    return f"{(_EPOCH + timedelta(seconds=moment)).isoformat()}Z"


class Clock:
    """The clock of one episode: starts at an instant and is moved forward by steps and by perturbations."""

    __slots__ = ("moment", "per_step")

    def __init__(self, *, start: float, per_step: float) -> None:
        self.moment = start
        self.per_step = per_step

    @property
    def now(self) -> str:
        """The current virtual time, `2031-03-03T09:00:20Z`."""
        return _written(int(self.moment))

    def tick(self) -> None:
        """Begin a step. Raises SimulatorFault when time runs out."""
        self.advance(self.per_step)

    def advance(self, amount: float) -> None:
        """Let `amount` seconds of virtual time go by. Raises SimulatorFault when time runs out."""
        moment = self.moment + amount
        if moment > LAST:
            raise SimulatorFault("virtual time runs past the year 9999")
        self.moment = moment
