import pytest

from ledger.errors import MoneyError
from ledger.money import Amount, totals


def eur(units):
    return Amount(units, "EUR")


@pytest.mark.parametrize(
    ("text", "units", "currency"),
    [
        ("12.50 EUR", 1250, "EUR"),
        ("-3 EUR", -300, "EUR"),
        ("1,250.05 USD", 125005, "USD"),
        ("700 JPY", 700, "JPY"),
        ("0.125 KWD", 125, "KWD"),
    ],
)
def test_amounts_are_read(text, units, currency):
    assert Amount.parse(text) == Amount(units, currency)


@pytest.mark.parametrize("text", ["12.505 EUR", "1,25 EUR", "12 XXX", "EUR 12", "1.5 JPY"])
def test_what_is_no_amount_is_refused(text):
    with pytest.raises(MoneyError):
        Amount.parse(text)


@pytest.mark.parametrize("text", ["12.50 EUR", "-0.05 EUR", "1,250,000.00 USD", "700 JPY"])
def test_amounts_are_written_as_they_are_read(text):
    assert str(Amount.parse(text)) == text


def test_currencies_are_not_mixed():
    with pytest.raises(MoneyError):
        eur(1) + Amount(1, "USD")


def test_halves_are_rounded_to_the_even_unit():
    assert [eur(units).times(1, 2).units for units in (1, 3, 5)] == [0, 2, 2]


def test_shares_add_up_to_the_whole():
    assert [part.units for part in eur(100).shared([1, 1, 1])] == [34, 33, 33]


def test_totals_are_by_currency():
    assert totals([eur(5), Amount(2, "USD"), eur(-5)]) == {"USD": Amount(2, "USD")}
