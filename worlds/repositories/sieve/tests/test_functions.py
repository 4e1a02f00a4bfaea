import pytest

from sieve import QueryError
from sieve.functions import aggregate, call_scalar, check_call


@pytest.mark.parametrize(
    ("name", "arguments", "result"),
    [
        ("upper", ["aä"], "AÄ"),
        ("lower", ["AB"], "ab"),
        ("trim", ["  a b "], "a b"),
        ("length", ["abc"], 3),
        ("length", [1234], 4),
        ("abs", [-2.5], 2.5),
        ("round", [2.5], 3),
        ("round", [-2.5], -3),
        ("round", [2.345, 2], 2.35),
        ("round", [1234, -2], 1200),
        ("substr", ["hello", 2], "ello"),
        ("substr", ["hello", 2, 3], "ell"),
        ("substr", ["hello", -3, 2], "ll"),
        ("substr", ["hello", 0, 2], "he"),
        ("substr", ["hello", 2, -1], ""),
        ("replace", ["a-b-c", "-", "+"], "a+b+c"),
        ("instr", ["hello", "l"], 3),
        ("instr", ["hello", "z"], 0),
        ("coalesce", [None, None, 5, 6], 5),
        ("coalesce", [None], None),
        ("nullif", [1, 1], None),
        ("nullif", [1, 2], 1),
        ("upper", [None], None),
        ("substr", ["a", None], None),
    ],
)
def test_functions_of_a_row(name, arguments, result):
    assert call_scalar(name, arguments) == result


def test_what_means_nothing_is_refused():
    with pytest.raises(QueryError, match="abs\\('x'\\) means nothing"):
        call_scalar("abs", ["x"])


@pytest.mark.parametrize(
    ("name", "count", "message"),
    [
        ("nope", 1, "there is no function 'nope', at 7"),
        ("upper", 2, "upper takes 1 arguments, not 2"),
        ("substr", 1, "substr takes 2 to 3 arguments, not 1"),
        ("sum", 0, "sum takes 1 arguments, not 0"),
        ("coalesce", 0, "coalesce takes 1 to 99"),
        ("nullif", 1, "nullif takes 2"),
    ],
)
def test_calls_are_checked(name, count, message):
    with pytest.raises(QueryError, match=message):
        check_call(name, count, 7)


def test_good_calls_pass():
    for name, count in (("substr", 3), ("round", 1), ("group_concat", 2), ("count", 1)):
        check_call(name, count, 0)


@pytest.mark.parametrize(
    ("name", "distinct", "result"),
    [
        ("count", False, 4),
        ("count", True, 3),
        ("sum", False, 8),
        ("sum", True, 6),
        ("avg", False, 2),
        ("min", False, 1),
        ("max", False, 3),
        ("group_concat", False, "2,1,3,2"),
        ("group_concat", True, "2,1,3"),
    ],
)
def test_functions_of_a_group(name, distinct, result):
    assert aggregate(name, [2, None, 1, 3, 2], distinct) == result


def test_empty_groups():
    assert aggregate("count", [None], False) == 0
    assert [aggregate(name, [], False) for name in ("sum", "avg", "min", "max")] == [None] * 4


def test_only_numbers_are_added():
    with pytest.raises(QueryError, match="sum adds numbers"):
        aggregate("sum", ["a"], False)
    assert aggregate("max", ["a", "b"], False) == "b"
    assert aggregate("group_concat", ["a", 1], False, "; ") == "a; 1"
