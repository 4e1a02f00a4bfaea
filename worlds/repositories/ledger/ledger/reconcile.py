"""Lines of a bank statement against the postings of an account."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from ledger.accounts import Account
from ledger.entries import Entry
from ledger.journal import Journal
from ledger.money import Amount


@dataclass(frozen=True)
class BankLine:
    """A line of a statement: positive what came in."""

    day: date
    text: str
    amount: Amount


@dataclass(frozen=True)
class Match:
    """A line with the entry that it belongs to; None if there is none."""

    line: BankLine
    entry: Entry | None


def reconcile(
    journal: Journal, account: Account, lines: Sequence[BankLine], *, days: int = 3
) -> tuple[list[Match], list[Entry]]:
    """Match each line with the nearest entry of its amount within `days`; each entry only once.

    Returns the matches in the order of the lines, and the entries that are left over between the
    first and the last line. Of two entries equally near the earlier one is taken.
    """
    left = [entry for entry in journal if entry.on(account)]
    matches: list[Match] = []
    for line in lines:
        near = [
            entry
            for entry in left
            if abs(entry.day - line.day) <= timedelta(days=days)
            and _amount(entry, account, line) == line.amount
        ]
        best = min(near, key=lambda entry: abs(entry.day - line.day), default=None)
        if best is not None:
            left.remove(best)
        matches.append(Match(line, best))
    if not lines:
        return matches, left
    first, last = min(line.day for line in lines), max(line.day for line in lines)
    return matches, [entry for entry in left if first <= entry.day <= last]


def _amount(entry: Entry, account: Account, line: BankLine) -> Amount:
    found = Amount(0, line.amount.currency)
    for posting in entry.on(account):
        if posting.amount.currency == found.currency:
            found = found + posting.amount
    return found
