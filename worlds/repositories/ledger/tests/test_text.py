from datetime import date

import pytest

from ledger.errors import TextError
from ledger.money import Amount
from ledger.text import read_journal, write_journal

BOOKS = """\
; the household
2031-03-01 Rent  #home
    expenses:rent    800.00 EUR
    assets:giro

2031-03-04 Lunch
    expenses:food     12.50 EUR   ; with Kim
    assets:giro      -12.50 EUR
"""


def test_a_journal_is_read():
    rent, lunch = read_journal(BOOKS)
    assert (rent.day, rent.text, rent.tags) == (date(2031, 3, 1), "Rent", frozenset({"home"}))
    assert [posting.amount for posting in rent.postings] == [
        Amount(80000, "EUR"),
        Amount(-80000, "EUR"),
    ]
    assert lunch.text == "Lunch"


def test_what_is_written_is_read_the_same():
    entries = list(read_journal(BOOKS))
    assert list(read_journal(write_journal(entries))) == entries


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("    assets:giro 1 EUR\n", 1),
        ("2031-03-01 Rent\n    expenses:rent 1 EUR\n    assets:giro\n    assets:cash\n", 4),
        ("\nRent\n", 2),
        ("2031-02-30 Rent\n    expenses:rent 1 EUR\n    assets:giro\n", 1),
    ],
)
def test_an_error_names_its_line(text, line):
    with pytest.raises(TextError) as found:
        read_journal(text)
    assert found.value.line == line
