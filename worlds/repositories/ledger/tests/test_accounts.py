import pytest

from ledger.accounts import Account, with_parents
from ledger.errors import AccountError


def test_an_account_has_a_kind_and_a_parent():
    account = Account("expenses:food:lunch")
    assert (account.kind, account.parent, account.depth) == (
        "expenses",
        Account("expenses:food"),
        3,
    )
    assert Account("assets").parent is None


@pytest.mark.parametrize("name", ["", "cash", "assets:", "assets:Cash", "assets::cash"])
def test_what_is_no_account_is_refused(name):
    with pytest.raises(AccountError):
        Account(name)


def test_an_account_contains_itself_and_those_below():
    food = Account("expenses:food")
    assert food.contains(food) and food.contains(Account("expenses:food:lunch"))
    assert not food.contains(Account("expenses"))


def test_parents_are_added_once():
    found = with_parents([Account("assets:bank:giro"), Account("assets:bank:savings")])
    assert [account.name for account in found] == [
        "assets",
        "assets:bank",
        "assets:bank:giro",
        "assets:bank:savings",
    ]
