import pytest

from confit import ConfitError, lookup, parse_path, replaced
from confit.paths import format_path, leaves

VALUE = {"a": {"b": [1, {"c": 2}]}, "d": None}


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("", []),
        ("a", ["a"]),
        ("a.b-c", ["a", "b-c"]),
        ("a[0].b", ["a", 0, "b"]),
        ("a[1][-2]", ["a", 1, -2]),
    ],
)
def test_paths_are_steps(text, steps):
    assert parse_path(text) == steps
    assert format_path(steps) == text


@pytest.mark.parametrize("text", [".a", "a.", "a..b", "a[x]", "a[", "a b", "5"])
def test_other_paths_are_refused(text):
    with pytest.raises(ConfitError, match="is no path"):
        parse_path(text)


def test_values_are_found_by_their_paths():
    assert lookup(VALUE, "a.b[0]") == 1
    assert lookup(VALUE, "a.b[-1].c") == 2
    assert lookup(VALUE, "d") is None
    assert lookup(VALUE, "") is VALUE


@pytest.mark.parametrize("path", ["x", "a.x", "a.b[2]", "a[0]", "a.b.c", "d.e"])
def test_what_is_not_there_has_a_default_or_is_an_error(path):
    assert lookup(VALUE, path, 5) == 5
    assert lookup(VALUE, path, None) is None
    with pytest.raises(ConfitError, match="there is nothing at"):
        lookup(VALUE, path)


def test_a_value_is_replaced_in_a_copy():
    before = {"a": {"b": [1, 2]}}
    assert replaced(before, "a.b[1]", 9) == {"a": {"b": [1, 9]}}
    assert replaced(before, "a.b[-2]", 9) == {"a": {"b": [9, 2]}}
    assert replaced(before, "x.y.z", 1) == {"a": {"b": [1, 2]}, "x": {"y": {"z": 1}}}
    assert replaced(before, "", 7) == 7
    assert before == {"a": {"b": [1, 2]}}


@pytest.mark.parametrize("path", ["a.b[2]", "a.b[-3]", "a[0]", "a.b.c"])
def test_what_has_no_place_cannot_be_replaced(path):
    with pytest.raises(ConfitError):
        replaced({"a": {"b": [1, 2]}}, path, 0)


def test_leaves_are_all_plain_values():
    assert leaves(VALUE) == [("a.b[0]", 1), ("a.b[1].c", 2), ("d", None)]
    assert leaves({"e": {}, "l": []}) == [("e", {}), ("l", [])]
