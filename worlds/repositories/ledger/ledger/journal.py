"""The journal: all entries in order of time, and what follows from them."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from datetime import date

from ledger.accounts import Account
from ledger.entries import Entry
from ledger.errors import PeriodError
from ledger.money import Amount, totals


class Journal:
    """Entries by date. Nothing is added before `closed_until`, the first day that is open."""

    def __init__(self, entries: Iterable[Entry] = (), closed_until: date | None = None) -> None:
        self.closed_until: date | None = None
        self._entries: list[Entry] = []
        for entry in entries:
            self.add(entry)
        self.closed_until = closed_until

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, entry: Entry) -> None:
        """Add an entry behind those of the same day. Raises PeriodError in a closed period."""
        self._require_open(entry.day)
        self._entries.insert(
            bisect_right(self._entries, entry.day, key=lambda each: each.day), entry
        )

    def close(self, until: date) -> None:
        """Close all days before `until`. What is closed is never opened again."""
        if self.closed_until is not None and until < self.closed_until:
            raise PeriodError(f"closed until {self.closed_until}, which is after {until}")
        self.closed_until = until

    def between(self, start: date | None = None, end: date | None = None) -> list[Entry]:
        """Return the entries from `start` on and before `end`."""
        return [
            entry
            for entry in self._entries
            if (start is None or entry.day >= start) and (end is None or entry.day < end)
        ]

    def accounts(self) -> list[Account]:
        """Return all accounts that are used."""
        return sorted({posting.account for entry in self for posting in entry.postings})

    def balance(self, account: Account, end: date | None = None) -> dict[str, Amount]:
        """Return the balance by currency of an account with all below it, before `end`."""
        return totals(
            posting.amount for entry in self.between(end=end) for posting in entry.on(account)
        )

    def correct(self, wrong: Entry, right: Entry, day: date) -> None:
        """Undo an entry and add another one instead, on a day that is open."""
        if wrong not in self._entries:
            raise PeriodError(f"there is no entry {wrong.text!r} on {wrong.day}")
        self._require_open(day)
        self._require_open(right.day)
        self.add(wrong.reversed(day))
        self.add(right)

    def _require_open(self, day: date) -> None:
        if self.closed_until is not None and day < self.closed_until:
            raise PeriodError(f"{day} is closed: the first open day is {self.closed_until}")
