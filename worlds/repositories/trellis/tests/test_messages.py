import pytest

from trellis import HttpError, Request, Response


def test_a_request_has_a_path_and_a_query():
    request = Request("get", "/a/b?x=1&x=2&y=")
    assert (request.method, request.path) == ("GET", "/a/b")
    assert request.query == {"x": ["1", "2"], "y": [""]}
    assert request.argument("x") == "2"
    assert request.argument("z") is None
    assert request.argument("z", "0") == "0"
    assert Request("GET", "?x=1").path == "/"


def test_a_request_has_cookies_and_a_form():
    headers = {"Cookie": "a=1; b=2", "Content-Type": "application/x-www-form-urlencoded"}
    request = Request("POST", "/", headers, b"x=1")
    assert request.cookies == {"a": "1", "b": "2"}
    assert request.form == {"x": ["1"]}


def test_a_body_has_a_charset():
    kind = "text/plain; charset=latin-1"
    assert Request("POST", "/", {"Content-Type": kind}, b"\xe4").text == "ä"
    assert Request("POST", "/", {}, "ä".encode()).text == "ä"
    for headers in ({}, {"Content-Type": "text/plain; charset=klingon"}):
        with pytest.raises(HttpError, match="charset"):
            assert Request("POST", "/", headers, b"\xe4").text


@pytest.mark.parametrize("kind", ["application/json", "application/problem+json; charset=utf-8"])
def test_a_body_may_be_json(kind):
    assert Request("POST", "/", {"Content-Type": kind}, b'{"a": [1]}').json == {"a": [1]}


@pytest.mark.parametrize(
    ("kind", "status"), [("text/plain", 415), ("", 415), ("application/json", 400)]
)
def test_other_bodies_are_no_json(kind, status):
    with pytest.raises(HttpError) as raised:
        assert Request("POST", "/", {"Content-Type": kind}, b"{").json
    assert raised.value.status == status


def test_a_text_is_html():
    response = Response("hä")
    assert response.body == "hä".encode()
    assert response.headers.get("Content-Type") == "text/html; charset=utf-8"
    assert Response("x", kind="text/css").headers.get("Content-Type") == "text/css"
    assert Response("x", headers={"Content-Type": "a/b"}).headers.get("Content-Type") == "a/b"
    assert "Content-Type" not in Response(b"x").headers
    assert (response.status, response.reason) == (200, "OK")
    assert Response(b"", 299).reason == "Unknown"


def test_values_become_json():
    response = Response.json({"a": "ä"}, 201)
    assert (response.text, response.status) == ('{"a": "ä"}', 201)
    assert response.headers.get("Content-Type") == "application/json"


def test_a_redirect_sends_elsewhere():
    assert Response.redirect("/x").status == 303
    assert Response.redirect("/x", 307).headers.get("Location") == "/x"
    with pytest.raises(ValueError, match="sends nobody elsewhere"):
        Response.redirect("/x", 400)


def test_cookies_are_added():
    response = Response()
    response.set_cookie("a", "1", http_only=False)
    response.delete_cookie("b", path="/x")
    assert response.headers.all("Set-Cookie") == [
        "a=1; Path=/; SameSite=Lax",
        "b=; Path=/x; Max-Age=0; HttpOnly; SameSite=Lax",
    ]


@pytest.mark.parametrize(
    ("status", "method", "length", "body"),
    [
        (200, "GET", "3", b"abc"),
        (200, "HEAD", "3", b""),
        (204, "GET", None, b""),
        (304, "GET", None, b""),
        (404, "GET", "3", b"abc"),
    ],
)
def test_a_response_is_finished(status, method, length, body):
    response = Response(b"abc", status).finished(method)
    assert (response.headers.get("Content-Length"), response.body) == (length, body)
