"""Cron lines: minute, hour, day of the month, month, day of the week."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from rota.errors import CronError

MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
ALIASES = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
}
HORIZON = timedelta(days=366 * 8)

_RANGES = {"minute": (0, 59), "hour": (0, 23), "day": (1, 31), "month": (1, 12), "weekday": (0, 7)}


def parse_field(text: str, name: str) -> frozenset[int]:
    """Return the values that a field allows: `*/15`, `1-5`, `mon,wed`, `10-20/5`."""
    low, high = _RANGES[name]
    found: set[int] = set()
    for part in text.split(","):
        span, slash, step_text = part.partition("/")
        step = _number(step_text, name) if slash else 1
        if step < 1:
            raise CronError(f"step {step_text!r} of {name} is not positive")
        if span == "*":
            first, last = low, high
        elif "-" in span:
            first, last = (_number(one, name) for one in span.split("-", 1))
        else:
            first = _number(span, name)
            last = high if slash else first
        if not low <= first <= last <= high:
            raise CronError(f"{part!r} is out of range for {name}: {low} to {high}")
        found.update(range(first, last + 1, step))
    if name == "weekday" and 7 in found:
        found = (found - {7}) | {0}
    return frozenset(found)


def _number(text: str, name: str) -> int:
    word = text.strip().lower()
    if name == "month" and word in MONTHS:
        return MONTHS.index(word) + 1
    if name == "weekday" and word in DAYS:
        return DAYS.index(word)
    if not word.isdigit():
        raise CronError(f"{text!r} is no {name}")
    return int(word)


@dataclass(frozen=True)
class Cron:
    """A cron line, read. Where both days are restricted, one of them is enough, as in cron."""

    line: str
    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    either_day: bool

    @classmethod
    def parse(cls, line: str) -> "Cron":
        """Read a line, or an alias like `@daily`."""
        text = ALIASES.get(line.strip().lower(), line)
        fields = text.split()
        if len(fields) != len(_RANGES):
            raise CronError(f"{line!r} has {len(fields)} fields, not 5")
        values = [parse_field(field, name) for field, name in zip(fields, _RANGES, strict=True)]
        either = not fields[2].startswith("*") and not fields[4].startswith("*")
        return cls(line, *values, either)

    def matches(self, time: datetime) -> bool:
        """Return whether the line names this minute."""
        return time.minute in self.minutes and time.hour in self.hours and self.matches_date(time)

    def matches_date(self, time: datetime) -> bool:
        """Return whether the line names this day."""
        if time.month not in self.months:
            return False
        by_day = time.day in self.days
        by_weekday = time.isoweekday() % 7 in self.weekdays
        return by_day or by_weekday if self.either_day else by_day and by_weekday

    def next_after(self, time: datetime) -> datetime:
        """Return the first matching minute after a time."""
        found = time.replace(second=0, microsecond=0) + timedelta(minutes=1)
        end = time + HORIZON
        while found <= end:
            if not self.matches_date(found):
                found = found.replace(hour=0, minute=0) + timedelta(days=1)
            elif found.hour not in self.hours:
                found = found.replace(minute=0) + timedelta(hours=1)
            elif found.minute not in self.minutes:
                found += timedelta(minutes=1)
            else:
                return found
        raise CronError(f"{self.line!r} never matches")

    def between(self, start: datetime, end: datetime) -> list[datetime]:
        """Return all matching minutes from `start` on and before `end`."""
        found = []
        at = self.next_after(start - timedelta(minutes=1))
        while at < end:
            if at >= start:
                found.append(at)
            at = self.next_after(at)
        return found
