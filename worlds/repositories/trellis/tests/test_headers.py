import pytest

from trellis import Headers, parse_options


def test_names_are_found_in_any_case():
    headers = Headers({"Content-Type": "text/plain"})
    assert headers.get("content-type") == "text/plain"
    assert "CONTENT-TYPE" in headers
    assert "Accept" not in headers
    assert headers.get("Accept", "*") == "*"


def test_a_name_may_stand_several_times():
    headers = Headers([("A", "1"), ("a", "2"), ("B", "3")])
    assert headers.all("a") == ["1", "2"]
    assert headers.get("A") == "1"
    headers.set("A", "9")
    assert list(headers) == [("B", "3"), ("A", "9")]
    headers.remove("b")
    assert len(headers) == 1


def test_a_default_is_added_once():
    headers = Headers()
    assert headers.setdefault("A", "1") == "1"
    assert headers.setdefault("a", "2") == "1"
    assert headers.all("A") == ["1"]


@pytest.mark.parametrize(("name", "value"), [("A", "1\r\nB: 2"), ("A\n", "1")])
def test_line_breaks_are_refused(name, value):
    with pytest.raises(ValueError, match="has a line break"):
        Headers().add(name, value)


def test_iterating_allows_changes():
    headers = Headers([("A", "1"), ("B", "2")])
    for name, _ in headers:
        headers.remove(name)
    assert len(headers) == 0


@pytest.mark.parametrize(
    ("text", "value", "options"),
    [
        ("text/html", "text/html", {}),
        ("Text/HTML; Charset=UTF-8", "text/html", {"charset": "UTF-8"}),
        ('a; x="1; 2" ; y=3', "a", {"x": "1; 2", "y": "3"}),
        (r'a; x="say \"hi\""', "a", {"x": 'say "hi"'}),
        ("a; secure; x=", "a", {"x": ""}),
        ("", "", {}),
    ],
)
def test_a_value_has_options(text, value, options):
    assert parse_options(text) == (value, options)
