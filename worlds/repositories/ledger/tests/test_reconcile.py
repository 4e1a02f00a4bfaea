from datetime import date

from ledger.accounts import Account
from ledger.entries import transfer
from ledger.journal import Journal
from ledger.money import Amount
from ledger.reconcile import BankLine, reconcile

GIRO, FOOD = Account("assets:giro"), Account("expenses:food")


def spent(day, units, text="Lunch"):
    return transfer(date(2031, 3, day), text, GIRO, FOOD, Amount(units, "EUR"))


def line(day, units):
    return BankLine(date(2031, 3, day), "card", Amount(-units, "EUR"))


def test_a_line_is_matched_with_the_nearest_entry():
    journal = Journal([spent(2, 1250, "first"), spent(4, 1250, "second")])
    matches, left = reconcile(journal, GIRO, [line(5, 1250)])
    assert matches[0].entry.text == "second"
    assert left == []


def test_an_entry_is_used_once():
    matches, _ = reconcile(Journal([spent(2, 1250)]), GIRO, [line(2, 1250), line(3, 1250)])
    assert [match.entry is None for match in matches] == [False, True]
