import pytest

from sieve import HashIndex, QueryError, SortedIndex


def test_rows_are_found_by_value():
    index = HashIndex("a")
    for row, value in enumerate(["x", "y", "x", None]):
        index.add(value, row)
    assert index.find("x") == [0, 2]
    assert index.find("z") == []
    assert index.find(None) == []
    index.remove("x", 0)
    assert index.find("x") == [2]
    index.remove("y", 1)
    assert len(index) == 2


def test_rows_come_in_order():
    index = HashIndex("a")
    index.add(1, 5)
    index.add(1, 2)
    assert index.find(1) == [2, 5]


def test_a_unique_value_stands_once():
    index = HashIndex("a", unique=True)
    index.add("x", 0)
    index.add(None, 1)
    index.add(None, 2)
    with pytest.raises(QueryError, match="a 'x' is there already"):
        index.add("x", 3)
    index.remove("x", 0)
    index.add("x", 4)


@pytest.fixture
def ordered():
    index = SortedIndex("a")
    for row, value in enumerate([30, 10, None, 20, 20]):
        index.add(value, row)
    return index


@pytest.mark.parametrize(
    ("borders", "rows"),
    [
        ({}, [0, 1, 3, 4]),
        ({"low": 20}, [0, 3, 4]),
        ({"low": 20, "low_open": True}, [0]),
        ({"high": 20}, [1, 3, 4]),
        ({"high": 20, "high_open": True}, [1]),
        ({"low": 15, "high": 25}, [3, 4]),
        ({"low": 20, "high": 20}, [3, 4]),
        ({"low": 40}, []),
        ({"low": 30, "high": 10}, []),
    ],
)
def test_rows_are_found_between_borders(ordered, borders, rows):
    assert ordered.between(**borders) == rows


def test_rows_are_taken_away(ordered):
    ordered.remove(20, 3)
    assert ordered.between(20, 20) == [4]
    assert len(ordered) == 4
    with pytest.raises(ValueError, match="row 3 is not in the index"):
        ordered.remove(20, 3)
