import pytest

from trellis import build_query, parse_query, quote, unquote
from trellis.urls import join_path


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("plain-._~", "plain-._~"),
        ("a b", "a%20b"),
        ("ä/€", "%C3%A4%2F%E2%82%AC"),
        ("100%", "100%25"),
    ],
)
def test_texts_are_quoted_and_read_back(text, quoted):
    assert quote(text) == quoted
    assert unquote(quoted) == text


def test_some_letters_may_stay():
    assert quote("a/b c", also="/") == "a/b%20c"


@pytest.mark.parametrize(
    ("quoted", "text"),
    [("%zz", "%zz"), ("%4", "%4"), ("a+b", "a+b"), ("%e4", "\ufffd"), ("ä", "ä")],
)
def test_what_is_no_number_stays(quoted, text):
    assert unquote(quoted) == text


def test_a_plus_may_be_a_space():
    assert unquote("a+b%2B", plus=True) == "a b+"


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("", {}),
        ("?a=1&b=2&a=3", {"a": ["1", "3"], "b": ["2"]}),
        ("a&b=&&c=x=y", {"a": [""], "b": [""], "c": ["x=y"]}),
        ("q=a+b%26c", {"q": ["a b&c"]}),
    ],
)
def test_queries_are_read(text, values):
    assert parse_query(text) == values


def test_queries_are_built():
    values = {"a": 1, "b": [2, "x y"], "c": None, "d": True, "e": False, "f&": ""}
    assert build_query(values) == "a=1&b=2&b=x%20y&d=1&e=0&f%26="
    assert build_query({}) == ""


@pytest.mark.parametrize(
    ("parts", "path"), [(["/a/", "/b"], "/a/b"), (["", "a"], "/a"), ([], "/"), (["/"], "/")]
)
def test_paths_are_joined(parts, path):
    assert join_path(parts) == path
