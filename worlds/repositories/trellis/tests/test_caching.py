import pytest

from trellis import Request, Response, etag, format_date, not_modified, parse_date
from trellis.caching import cache_control, conditional

MOMENT = 1_930_298_400.0
DATE = "Mon, 03 Mar 2031 10:00:00 GMT"


def ask(method="GET", **headers):
    return Request(method, "/", {name.replace("_", "-"): value for name, value in headers.items()})


def test_dates_are_written_and_read_back():
    assert format_date(MOMENT) == DATE
    assert format_date(MOMENT + 0.9) == DATE
    assert parse_date(DATE) == MOMENT
    assert format_date(0) == "Thu, 01 Jan 1970 00:00:00 GMT"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "yesterday",
        "Mon, 03 Mar 2031 10:00:00 CET",
        "Mon, 03 Foo 2031 10:00:00 GMT",
        "Mon, 32 Mar 2031 10:00:00 GMT",
        "Mon, 03 Mar 2031 10:00 GMT",
    ],
)
def test_other_texts_are_no_dates(text):
    assert parse_date(text) is None


def test_tags_depend_on_the_body():
    assert etag(b"a") == etag(b"a")
    assert etag(b"a") != etag(b"b")
    assert etag(b"a", weak=True) == "W/" + etag(b"a")
    assert len(etag(b"a")) == 18


@pytest.mark.parametrize(
    ("header", "same"),
    [('"x"', True), ('W/"x"', True), ('"y", "x"', True), ("*", True), ('"y"', False), ("", False)],
)
def test_a_client_may_have_the_tag(header, same):
    assert not_modified(ask(If_None_Match=header), '"x"') is same
    assert not_modified(ask(If_None_Match=header), 'W/"x"') is same


def test_a_client_may_have_the_date():
    assert not_modified(ask(If_Modified_Since=DATE), changed=MOMENT)
    assert not_modified(ask(If_Modified_Since=DATE), changed=MOMENT + 0.5)
    assert not not_modified(ask(If_Modified_Since=DATE), changed=MOMENT + 1)
    assert not not_modified(ask(If_Modified_Since="x"), changed=MOMENT)
    assert not not_modified(ask(), changed=MOMENT)


def test_tags_decide_before_dates():
    request = ask(If_None_Match='"y"', If_Modified_Since=DATE)
    assert not not_modified(request, '"x"', MOMENT)
    assert not not_modified(request, None, MOMENT)


def test_only_reading_is_left_out():
    assert not not_modified(ask("POST", If_None_Match="*"), '"x"')
    assert not_modified(ask("HEAD", If_None_Match="*"), '"x"')


def test_a_response_may_be_left_out():
    first = conditional(ask(), Response(b"abc"), MOMENT)
    assert (first.status, first.headers.get("Last-Modified")) == (200, DATE)
    tag = first.headers.get("ETag")
    second = conditional(ask(If_None_Match=tag), Response(b"abc", headers={"X": "1"}), MOMENT)
    assert (second.status, second.body) == (304, b"")
    assert list(second.headers) == [("ETag", tag), ("Last-Modified", DATE)]
    assert conditional(ask(If_None_Match=tag), Response(b"xyz")).status == 200
    assert "ETag" not in conditional(ask(), Response(b"", 404)).headers


def test_how_long_it_may_be_kept():
    assert cache_control() == "public, no-cache"
    assert cache_control(max_age=60, private=True) == "private, max-age=60"
    assert cache_control(max_age=0) == "public, max-age=0"
    assert cache_control(max_age=60, store=False) == "no-store"
