from datetime import date

import pytest

from ledger.accounts import Account
from ledger.entries import transfer
from ledger.errors import PeriodError
from ledger.money import Amount
from ledger.recurring import Monthly

RENT = transfer(
    date(2031, 1, 31), "Rent", Account("assets:giro"), Account("expenses:rent"), Amount(800, "EUR")
)


def test_it_comes_on_the_last_day_of_a_shorter_month():
    days = [entry.day for entry in Monthly(RENT, 31).due(date(2031, 1, 1), date(2031, 4, 1))]
    assert days == [date(2031, 1, 31), date(2031, 2, 28), date(2031, 3, 31)]


def test_a_day_that_no_month_has_is_refused():
    with pytest.raises(PeriodError):
        Monthly(RENT, 32)
