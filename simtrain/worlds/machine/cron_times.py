"""The times of a line of a crontab, as crontab(5) has them."""

import re
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

FIELDS = ("minute", "hour", "day-of-month", "month", "day-of-week")
WORDS = {
    "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0", "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
}  # fmt: skip
"""Words that stand for all five fields; beside them there is `@reboot`."""
_LIMITS = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))
_NAMES = {name: number for names, first in ((("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"), 1),
          (("sun", "mon", "tue", "wed", "thu", "fri", "sat"), 0)) for number, name in enumerate(names, first)}  # fmt: skip
_PART = re.compile(r"(\*|[a-z]{3}|\d+)(?:-([a-z]{3}|\d+))?(?:/(\d+))?")


@dataclass(frozen=True, slots=True)
class CronTimes:
    """The minutes at which a line runs. `either` says that both days are given, and one of them is enough."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    either: bool

    def has(self, moment: datetime) -> bool:
        """Return whether the line runs in the minute of a moment."""
        if moment.minute not in self.minutes or moment.hour not in self.hours or moment.month not in self.months:
            return False
        day, weekday = moment.day in self.days, moment.isoweekday() % 7 in self.weekdays
        return day or weekday if self.either else day and weekday


@lru_cache(maxsize=1024)
def cron_times(schedule: str) -> CronTimes | None:
    """Return the times of a schedule such as `*/5 9-17 * * mon-fri`; None for `@reboot`, and for what is none."""
    parts = WORDS.get(schedule, schedule).split()
    fields = [numbers(part, place) for place, part in enumerate(parts[:5])]
    if len(parts) != len(FIELDS) or any(field is None for field in fields):
        return None
    minutes, hours, days, months, weekdays = (field or frozenset() for field in fields)
    either = not parts[2].startswith("*") and not parts[4].startswith("*")
    return CronTimes(minutes, hours, days, months, frozenset(day % 7 for day in weekdays), either)


def numbers(text: str, place: int) -> frozenset[int] | None:
    """Return the numbers of a field, by its place among FIELDS; None if it is none."""
    low, high = _LIMITS[place]
    found = set[int]()
    for part in text.lower().split(","):
        read = _PART.fullmatch(part)
        if read is None or (read[3] is not None and int(read[3]) == 0):
            return None
        first = low if read[1] == "*" else _number(read[1])
        # `5/10` goes up to the end of the field, as Debian's cron reads it.
        last = high if read[1] == "*" or (read[3] and not read[2]) else _number(read[2] or read[1])
        if not low <= first <= last <= high or (read[1] == "*" and read[2]):
            return None
        found.update(range(first, last + 1, int(read[3] or 1)))
    return frozenset(found)


def _number(word: str) -> int:
    return _NAMES.get(word, int(word) if word.isdigit() else -1)
