from datetime import date

import pytest

from ledger.accounts import Account
from ledger.entries import transfer
from ledger.errors import PeriodError
from ledger.journal import Journal
from ledger.money import Amount

GIRO, RENT, FOOD = Account("assets:giro"), Account("expenses:rent"), Account("expenses:food")


def entry(day, text="Rent", units=100, target=RENT):
    return transfer(day, text, GIRO, target, Amount(units, "EUR"))


def test_entries_are_kept_by_date():
    journal = Journal([entry(date(2031, 3, 2), "b"), entry(date(2031, 3, 1), "a")])
    assert [each.text for each in journal] == ["a", "b"]


def test_balances_contain_what_lies_below():
    journal = Journal([entry(date(2031, 3, 1)), entry(date(2031, 3, 2), target=FOOD)])
    assert journal.balance(Account("expenses")) == {"EUR": Amount(200, "EUR")}
    assert journal.balance(RENT) == {"EUR": Amount(100, "EUR")}


def test_nothing_is_added_to_a_closed_period():
    journal = Journal([entry(date(2031, 3, 1))])
    journal.close(date(2031, 4, 1))
    with pytest.raises(PeriodError):
        journal.add(entry(date(2031, 3, 31)))


def test_a_correction_undoes_an_entry():
    wrong = entry(date(2031, 3, 1))
    journal = Journal([wrong])
    journal.correct(wrong, entry(date(2031, 4, 2), units=90), date(2031, 4, 2))
    assert journal.balance(RENT) == {"EUR": Amount(90, "EUR")}
