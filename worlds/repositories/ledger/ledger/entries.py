"""Entries: postings to accounts that add up to zero."""

from dataclasses import dataclass, replace
from datetime import date

from ledger.accounts import Account
from ledger.errors import BalanceError
from ledger.money import Amount, totals


@dataclass(frozen=True)
class Posting:
    """An amount on an account: a debit if it is positive."""

    account: Account
    amount: Amount


@dataclass(frozen=True)
class Entry:
    """What happened on a day. `tags` are words that reports select by."""

    day: date
    text: str
    postings: tuple[Posting, ...]
    tags: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if len(self.postings) < 2:
            raise BalanceError(f"{self.text!r} has fewer than two postings")
        off = totals(posting.amount for posting in self.postings)
        if off:
            amounts = ", ".join(str(amount) for amount in off.values())
            raise BalanceError(f"{self.text!r} is off by {amounts}")

    def on(self, account: Account) -> list[Posting]:
        """Return the postings to an account or below it."""
        return [posting for posting in self.postings if account.contains(posting.account)]

    def reversed(self, day: date) -> "Entry":
        """Return the entry that undoes this one, on another day."""
        postings = tuple(replace(posting, amount=-posting.amount) for posting in self.postings)
        return replace(self, day=day, text=f"Reversal: {self.text}", postings=postings)


def transfer(day: date, text: str, source: Account, target: Account, amount: Amount) -> Entry:
    """Return the entry that moves an amount from one account to another."""
    return Entry(day, text, (Posting(target, amount), Posting(source, -amount)))


def split(
    day: date, text: str, source: Account, targets: dict[Account, int], amount: Amount
) -> Entry:
    """Return the entry that shares an amount over accounts by their weights."""
    parts = amount.shared(list(targets.values()))
    shared = [Posting(account, part) for account, part in zip(targets, parts, strict=True)]
    return Entry(
        day,
        text,
        (*[posting for posting in shared if posting.amount.units], Posting(source, -amount)),
    )
