import pytest

from trellis import HttpError, parse_form
from trellis.forms import Upload

KIND = 'multipart/form-data; boundary="XX"'


def part(head, content):
    return f"--XX\r\nContent-Disposition: {head}\r\n\r\n{content}\r\n"


def test_simple_forms_are_queries():
    found = parse_form(b"a=1&b=x+y&a=2", "application/x-www-form-urlencoded; charset=utf-8")
    assert found == {"a": ["1", "2"], "b": ["x y"]}


def test_forms_have_parts():
    body = part('form-data; name="a"', "1\r\n2") + part("form-data; name=b", "") + "--XX--\r\n"
    assert parse_form(body.encode(), KIND) == {"a": ["1\r\n2"], "b": [""]}


def test_files_have_a_name_and_a_kind():
    head = 'form-data; name="f"; filename="C:\\\\docs\\\\a.png"\r\nContent-Type: image/png'
    body = (
        part(head, "PNG").encode()
        + part('form-data; name="f"; filename="../b"', "x").encode()
        + b"--XX--"
    )
    found = parse_form(body, KIND)["f"]
    assert found == [
        Upload("a.png", "image/png", b"PNG"),
        Upload("b", "application/octet-stream", b"x"),
    ]


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        ("", "text/plain", 415),
        ("", "", 415),
        ("", "multipart/form-data", 400),
        ("", KIND, 400),
        (part("form-data; name=a", "1"), KIND, 400),
        (part("form-data", "1") + "--XX--", KIND, 400),
        (part("attachment; name=a", "1") + "--XX--", KIND, 400),
        ("--XX\r\nno head\r\n--XX--", KIND, 400),
    ],
)
def test_broken_forms_are_refused(body, kind, status):
    with pytest.raises(HttpError) as raised:
        parse_form(body.encode(), kind)
    assert raised.value.status == status


def test_a_form_has_not_too_many_parts():
    one = part("form-data; name=a", "1")
    assert len(parse_form((one * 100 + "--XX--").encode(), KIND)["a"]) == 100
    with pytest.raises(HttpError, match="413"):
        parse_form((one * 101 + "--XX--").encode(), KIND)
