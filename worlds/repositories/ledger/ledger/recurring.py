"""Entries that come again each month."""

from calendar import monthrange
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date

from ledger.entries import Entry
from ledger.errors import PeriodError


@dataclass(frozen=True)
class Monthly:
    """An entry that comes each `every`th month on a day, or on the last one of a shorter month."""

    entry: Entry
    day: int
    every: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.day <= 31:
            raise PeriodError(f"no month has a day {self.day}")
        if self.every < 1:
            raise PeriodError(f"every {self.every} months is never")

    def due(self, start: date, end: date) -> Iterator[Entry]:
        """Yield its entries from `start` on and before `end`, beginning in its own month."""
        year, month = self.entry.day.year, self.entry.day.month
        while date(year, month, 1) < end:
            day = date(year, month, min(self.day, monthrange(year, month)[1]))
            if start <= day < end:
                yield replace(self.entry, day=day)
            year, month = divmod(year * 12 + month - 1 + self.every, 12)
            month += 1
