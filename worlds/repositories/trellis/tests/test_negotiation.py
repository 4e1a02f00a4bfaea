import pytest

from trellis import best
from trellis.negotiation import parse_accept


def test_wishes_are_sorted():
    found = parse_accept("text/*;q=0.5, text/html, */*;q=0.1, a/b;q=x, c/d;q=7")
    assert found == [("text/html", 1), ("c/d", 1), ("text/*", 0.5), ("*/*", 0.1), ("a/b", 0)]


@pytest.mark.parametrize(
    ("accept", "chosen"),
    [
        ("", "text/html"),
        ("application/json", "application/json"),
        ("text/html;q=0.5, application/json", "application/json"),
        ("application/*", "application/json"),
        ("*/*", "text/html"),
        ("*/*;q=0.1, application/json;q=0.2", "application/json"),
        ("text/html;q=0, */*", "application/json"),
        ("TEXT/HTML", "text/html"),
        ("image/png", None),
        ("text/html;q=0", None),
    ],
)
def test_the_best_form_is_chosen(accept, chosen):
    assert best(accept, ["text/html", "application/json"]) == chosen


@pytest.mark.parametrize(
    ("accept", "chosen"),
    [("de, en;q=0.5", "de-AT"), ("en", "en-GB"), ("fr, *;q=0.1", "en-GB"), ("fr", None)],
)
def test_languages_have_regions(accept, chosen):
    assert best(accept, ["en-GB", "de-AT"]) == chosen


def test_without_offers_there_is_nothing():
    assert best("", []) is None
    assert best("*/*", []) is None
