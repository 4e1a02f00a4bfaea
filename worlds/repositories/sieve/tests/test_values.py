import pytest

from sieve import QueryError, like, sort_key
from sieve.values import arithmetic, as_text, both, compare, either, opposite


@pytest.mark.parametrize(
    ("sign", "left", "right", "result"),
    [
        ("=", 1, 1.0, True),
        ("=", "a", "A", False),
        ("=", 1, "1", False),
        ("<>", 1, 2, True),
        ("<", 1, 1, False),
        ("<=", 1, 1, True),
        (">", "b", "a", True),
        (">=", "a", "b", False),
        ("=", None, None, None),
        ("<", 1, None, None),
    ],
)
def test_values_are_compared(sign, left, right, result):
    assert compare(sign, left, right) is result


def test_texts_and_numbers_have_no_order():
    with pytest.raises(QueryError, match="have no order"):
        compare("<", 1, "a")


def test_unknown_is_neither_true_nor_false():
    values = (True, False, None)
    assert [both(one, None) for one in values] == [None, False, None]
    assert [either(one, None) for one in values] == [True, None, None]
    assert [opposite(one) for one in values] == [False, True, None]
    assert both(True, True) is True
    assert either(False, False) is False


@pytest.mark.parametrize(
    ("value", "pattern", "fits"),
    [
        ("apple", "a%", True),
        ("apple", "%pl%", True),
        ("apple", "_____", True),
        ("apple", "____", False),
        ("apple", "A%", False),
        ("a.c", "a.c", True),
        ("abc", "a.c", False),
        ("a\nb", "a%b", True),
        ("", "%", True),
        (None, "%", None),
        ("a", None, None),
    ],
)
def test_texts_fit_patterns(value, pattern, fits):
    assert like(value, pattern) is fits


def test_only_texts_fit_patterns():
    with pytest.raises(QueryError, match="like compares texts"):
        like(5, "5")


@pytest.mark.parametrize(
    ("sign", "left", "right", "result"),
    [
        ("+", 1, 2, 3),
        ("-", 1, 2.5, -1.5),
        ("*", 3, 4, 12),
        ("/", 7, 2, 3),
        ("/", 7, 2.0, 3.5),
        ("%", 7, 3, 1),
        ("/", 1, 0, None),
        ("%", 1, 0, None),
        ("+", None, 1, None),
        ("||", "a", 1, "a1"),
        ("||", True, None, None),
        ("||", True, "!", "true!"),
    ],
)
def test_arithmetic(sign, left, right, result):
    found = arithmetic(sign, left, right)
    assert (found, type(found)) == (result, type(result))


def test_texts_cannot_be_added():
    with pytest.raises(QueryError, match="'a' \\+ 1 means nothing"):
        arithmetic("+", "a", 1)


def test_values_of_all_kinds_have_an_order():
    values = ["b", 2, None, "a", 1.5, True]
    assert sorted(values, key=sort_key) == [None, True, 1.5, 2, "a", "b"]
    assert [as_text(one) for one in (False, 1.5, "x")] == ["false", "1.5", "x"]
