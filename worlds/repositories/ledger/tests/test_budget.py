from datetime import date

from ledger.accounts import Account
from ledger.budget import month_of, spent_in
from ledger.entries import transfer
from ledger.journal import Journal
from ledger.money import Amount

GIRO, FOOD = Account("assets:giro"), Account("expenses:food")


def test_a_month_ends_on_the_first_day_after_it():
    assert month_of(2031, 12) == (date(2031, 12, 1), date(2032, 1, 1))


def test_what_was_spent_is_compared_with_the_plan():
    journal = Journal([transfer(date(2031, 3, 4), "Lunch", GIRO, FOOD, Amount(1250, "EUR"))])
    (spent,) = spent_in(journal, {FOOD: Amount(5000, "EUR")}, 2031, 3)
    assert (spent.spent.units, spent.left.units, spent.share) == (1250, 3750, 25)
