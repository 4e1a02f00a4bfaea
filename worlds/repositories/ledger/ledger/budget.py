"""What may be spent on an account in a month."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from ledger.accounts import Account
from ledger.errors import MoneyError
from ledger.journal import Journal
from ledger.money import Amount


@dataclass(frozen=True)
class Spent:
    """What was planned for an account, what was spent, and what is left."""

    account: Account
    planned: Amount
    spent: Amount

    @property
    def left(self) -> Amount:
        """What may still be spent; negative if it was too much."""
        return self.planned - self.spent

    @property
    def share(self) -> int:
        """The share that was spent, in whole per cent, rounded down."""
        if self.planned.units == 0:
            return 0 if self.spent.units == 0 else 100
        return self.spent.units * 100 // self.planned.units


def month_of(year: int, month: int) -> tuple[date, date]:
    """Return the first day of a month and the first day after it."""
    following = date(year + 1, 1, 1) if month == 12 else date(year, month + 1, 1)
    return date(year, month, 1), following


def spent_in(
    journal: Journal, plan: Mapping[Account, Amount], year: int, month: int
) -> list[Spent]:
    """Return what was spent of a plan in a month.

    An account of the plan that lies below another one counts for itself alone.
    """
    start, end = month_of(year, month)
    found: list[Spent] = []
    for account, planned in sorted(plan.items()):
        if planned.units < 0:
            raise MoneyError(f"{planned} cannot be planned for {account}")
        spent = Amount(0, planned.currency)
        for entry in journal.between(start, end):
            for posting in entry.on(account):
                nearest = max(
                    (each for each in plan if each.contains(posting.account)),
                    key=lambda each: each.depth,
                )
                if nearest == account and posting.amount.currency == planned.currency:
                    spent = spent + posting.amount
        found.append(Spent(account, planned, spent))
    return found
