"""Opening hours and holidays."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from rota.errors import RotaError

WEEK = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


@dataclass(frozen=True, order=True)
class Hours:
    """Open from one time of the day until another, which is not open any more."""

    opens: time
    closes: time

    @classmethod
    def parse(cls, text: str) -> "Hours":
        """Read `09:00-17:30`; `24:00` is the end of the day."""
        first, dash, last = text.partition("-")
        if not dash:
            raise RotaError(f"{text!r} is no span of hours")
        opens, closes = _time(first), _time(last)
        if opens >= closes:
            raise RotaError(f"{text!r} closes before it opens")
        return cls(opens, closes)

    def contains(self, moment: time) -> bool:
        """Return whether it is open then."""
        return self.opens <= moment < self.closes

    @property
    def seconds(self) -> float:
        """How long it is open."""
        return _seconds(self.closes) - _seconds(self.opens)


def _time(text: str) -> time:
    word = text.strip()
    if word == "24:00":
        return time.max
    hour, _, minute = word.partition(":")
    try:
        return time(int(hour), int(minute or 0))
    except ValueError:
        raise RotaError(f"{text!r} is no time of the day") from None


def _seconds(moment: time) -> float:
    if moment == time.max:
        return 86_400.0
    return moment.hour * 3_600.0 + moment.minute * 60 + moment.second


class Calendar:
    """The hours of each day of the week, without holidays."""

    def __init__(self, week: Mapping[str, Iterable[str]], holidays: Iterable[date] = ()) -> None:
        unknown = sorted(set(week) - set(WEEK))
        if unknown:
            raise RotaError(f"{unknown[0]!r} is no day of the week")
        self._week = [sorted(map(Hours.parse, week.get(day, ()))) for day in WEEK]
        self._holidays = set(holidays)

    def add_holiday(self, day: date) -> None:
        """Close on a day."""
        self._holidays.add(day)

    def hours_on(self, day: date) -> list[Hours]:
        """Return the hours of a day, in order."""
        if day in self._holidays:
            return []
        return list(self._week[day.weekday()])

    def is_open(self, moment: datetime) -> bool:
        """Return whether it is open then."""
        return any(hours.contains(moment.time()) for hours in self.hours_on(moment.date()))

    def next_open(self, moment: datetime) -> datetime:
        """Return this moment if it is open, else the next opening."""
        if self.is_open(moment):
            return moment
        day = moment.date()
        for _ in range(366):
            for hours in self.hours_on(day):
                opening = datetime.combine(day, hours.opens)
                if opening >= moment:
                    return opening
            day += timedelta(days=1)
        raise RotaError("the calendar is never open")

    def open_seconds(self, start: datetime, end: datetime) -> float:
        """Return for how long it is open between two moments."""
        total, day = 0.0, start.date()
        while day <= end.date():
            midnight = datetime.combine(day, time())
            for hours in self.hours_on(day):
                opens = midnight + timedelta(seconds=_seconds(hours.opens))
                closes = midnight + timedelta(seconds=_seconds(hours.closes))
                shared = (min(closes, end) - max(opens, start)).total_seconds()
                total += max(0.0, shared)
            day += timedelta(days=1)
        return total

    def add_open(self, moment: datetime, seconds: float) -> datetime:
        """Return the moment at which it was open for so long."""
        left, at = seconds, self.next_open(moment)
        while True:
            hours = next(one for one in self.hours_on(at.date()) if one.contains(at.time()))
            room = _seconds(hours.closes) - _seconds(at.time())
            if left <= room:
                return at + timedelta(seconds=left)
            left -= room
            at = self.next_open(at + timedelta(seconds=room))
