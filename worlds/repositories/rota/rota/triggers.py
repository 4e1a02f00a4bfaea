"""What gives a job its times."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Protocol

from rota.calendars import Calendar
from rota.cron import Cron
from rota.durations import parse_duration


class Trigger(Protocol):
    """Gives the times of a job one after the other."""

    def first(self, now: datetime) -> datetime | None:
        """Return the first time, seen from `now`."""

    def following(self, last: datetime, now: datetime) -> datetime | None:
        """Return the time after `last` that is not before `now`; None if there is no other."""


@dataclass(frozen=True)
class Every:
    """At equal distances; times that were missed are left out."""

    distance: str
    delay: str = "0s"

    def first(self, now: datetime) -> datetime:
        """Return now, or later by the delay."""
        return now + timedelta(seconds=parse_duration(self.delay))

    def following(self, last: datetime, now: datetime) -> datetime:
        """Return the next time of the grid."""
        seconds = parse_duration(self.distance)
        behind = max(0.0, (now - last).total_seconds())
        steps = max(1, -int(-behind // seconds))
        return last + timedelta(seconds=seconds * steps)


@dataclass(frozen=True)
class At:
    """Once."""

    time: datetime

    def first(self, now: datetime) -> datetime:
        """Return the time, or now if that is past."""
        return max(self.time, now)

    def following(self, last: datetime, now: datetime) -> None:
        """There is no other."""
        return


@dataclass(frozen=True)
class CronTrigger:
    """At the minutes that a cron line names."""

    line: str
    cron: Cron = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "cron", Cron.parse(self.line))

    def first(self, now: datetime) -> datetime:
        """Return this minute if it has just begun and matches, else the next one."""
        if now.second == 0 and now.microsecond == 0 and self.cron.matches(now):
            return now
        return self.cron.next_after(now)

    def following(self, last: datetime, now: datetime) -> datetime:
        """Return the next matching minute."""
        after = self.cron.next_after(last)
        return after if after >= now else self.first(now)


@dataclass(frozen=True)
class WorkingHours:
    """The times of another trigger, moved to the next opening."""

    inner: Trigger
    calendar: Calendar

    def first(self, now: datetime) -> datetime | None:
        """Return the first time at which it is open."""
        return self._moved(self.inner.first(now))

    def following(self, last: datetime, now: datetime) -> datetime | None:
        """Return the next time at which it is open."""
        found = self._moved(self.inner.following(last, now))
        while found is not None and found <= last:
            found = self._moved(self.inner.following(found, now))
        return found

    def _moved(self, time: datetime | None) -> datetime | None:
        return None if time is None else self.calendar.next_open(time)
