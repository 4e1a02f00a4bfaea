from datetime import date

import pytest

from ledger.accounts import Account
from ledger.entries import Entry, Posting, split, transfer
from ledger.errors import BalanceError
from ledger.money import Amount

GIRO, RENT, FOOD = Account("assets:giro"), Account("expenses:rent"), Account("expenses:food")
DAY = date(2031, 3, 1)


def test_an_entry_balances():
    with pytest.raises(BalanceError, match="off by 1.00 EUR"):
        Entry(DAY, "Rent", (Posting(RENT, Amount(800, "EUR")), Posting(GIRO, Amount(-700, "EUR"))))


def test_a_transfer_credits_its_source():
    entry = transfer(DAY, "Rent", GIRO, RENT, Amount(800, "EUR"))
    assert entry.on(GIRO) == [Posting(GIRO, Amount(-800, "EUR"))]


def test_a_reversal_has_the_opposite_postings():
    entry = transfer(DAY, "Rent", GIRO, RENT, Amount(800, "EUR")).reversed(date(2031, 4, 1))
    assert entry.on(GIRO) == [Posting(GIRO, Amount(800, "EUR"))]
    assert entry.text == "Reversal: Rent"


def test_an_amount_is_split_by_weights():
    entry = split(DAY, "Shopping", GIRO, {FOOD: 2, RENT: 1}, Amount(100, "EUR"))
    assert [posting.amount.units for posting in entry.postings] == [67, 33, -100]
