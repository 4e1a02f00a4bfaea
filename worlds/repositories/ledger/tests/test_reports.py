from datetime import date

from ledger.accounts import Account
from ledger.money import Amount
from ledger.reports import income_statement, monthly, register, tree_balance, trial_balance
from ledger.text import read_journal

JOURNAL = read_journal(
    """\
2031-01-31 Salary
    assets:giro      2000.00 EUR
    income:salary
2031-02-01 Rent #home
    expenses:rent     800.00 EUR
    assets:giro
2031-02-03 Lunch
    expenses:food:lunch 12.50 EUR
    assets:giro
"""
)


def eur(units):
    return Amount(units, "EUR")


def test_the_trial_balance_adds_up_to_zero():
    lines = trial_balance(JOURNAL)
    assert [line.account.name for line in lines] == [
        "assets:giro",
        "expenses:food:lunch",
        "expenses:rent",
        "income:salary",
    ]
    assert sum(line.amount.units for line in lines) == 0


def test_a_tree_is_cut_at_a_depth():
    lines = tree_balance(JOURNAL, 1)
    assert [(line.account.name, line.amount.units) for line in lines] == [
        ("assets", 118750),
        ("expenses", 81250),
        ("income", -200000),
    ]


def test_income_is_positive():
    assert income_statement(JOURNAL, date(2031, 1, 1), date(2031, 3, 1)) == {"EUR": eur(118750)}


def test_a_register_has_running_balances():
    lines = list(register(JOURNAL, Account("assets"), "EUR"))
    assert [line.balance.units for line in lines] == [200000, 120000, 118750]


def test_months_are_summed():
    assert monthly(JOURNAL, Account("expenses"), "EUR") == {(2031, 2): eur(81250)}
