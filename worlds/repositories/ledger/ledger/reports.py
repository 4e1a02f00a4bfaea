"""Reports over a journal."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date

from ledger.accounts import Account, with_parents
from ledger.entries import Entry
from ledger.journal import Journal
from ledger.money import Amount, totals


@dataclass(frozen=True)
class Line:
    """An account with an amount."""

    account: Account
    amount: Amount


@dataclass(frozen=True)
class RegisterLine:
    """A posting with the balance after it."""

    day: date
    text: str
    amount: Amount
    balance: Amount


def trial_balance(journal: Journal, end: date | None = None) -> list[Line]:
    """Return the balance of each account before `end`, without those at zero."""
    return [
        Line(account, amount)
        for account in journal.accounts()
        for amount in _own(journal.between(end=end), account).values()
    ]


def tree_balance(journal: Journal, depth: int, end: date | None = None) -> list[Line]:
    """Return the balances of accounts down to a depth, each with all below it."""
    return [
        Line(account, amount)
        for account in with_parents(journal.accounts())
        if account.depth <= depth
        for amount in journal.balance(account, end).values()
    ]


def income_statement(journal: Journal, start: date, end: date) -> dict[str, Amount]:
    """Return by currency what was earned less what was spent, from `start` on and before `end`."""
    kinds = (Account("income"), Account("expenses"))
    postings = [
        posting
        for entry in journal.between(start, end)
        for kind in kinds
        for posting in entry.on(kind)
    ]
    # Income is a credit, which is negative.
    return totals(-posting.amount for posting in postings)


def register(
    journal: Journal, account: Account, currency: str, tag: str | None = None
) -> Iterator[RegisterLine]:
    """Yield the postings to an account in a currency, with the running balance.

    With `tag` only those of entries that have it; the balance is that of the account all the same.
    """
    balance = Amount(0, currency)
    for entry in journal:
        for posting in entry.on(account):
            if posting.amount.currency != currency:
                continue
            balance = balance + posting.amount
            if tag is None or tag in entry.tags:
                yield RegisterLine(entry.day, entry.text, posting.amount, balance)


def monthly(journal: Journal, account: Account, currency: str) -> dict[tuple[int, int], Amount]:
    """Return what was posted to an account by month, first to last; months without are zero."""
    found: dict[tuple[int, int], Amount] = {}
    for entry in journal:
        for posting in entry.on(account):
            if posting.amount.currency == currency:
                month = (entry.day.year, entry.day.month)
                found[month] = found.get(month, Amount(0, currency)) + posting.amount
    if not found:
        return {}
    month, last = min(found), max(found)
    filled: dict[tuple[int, int], Amount] = {}
    while month <= last:
        filled[month] = found.get(month, Amount(0, currency))
        month = (month[0], month[1] + 1) if month[1] < 12 else (month[0] + 1, 1)
    return filled


def _own(entries: Iterable[Entry], account: Account) -> dict[str, Amount]:
    return totals(
        posting.amount
        for entry in entries
        for posting in entry.postings
        if posting.account == account
    )
