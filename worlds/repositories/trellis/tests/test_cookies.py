import pytest

from trellis import HttpError, Signer, format_cookie, parse_cookies


def test_cookies_are_read():
    assert parse_cookies('a=1; b="x%20y";c=; junk; =5') == {"a": "1", "b": "x y", "c": ""}
    assert parse_cookies("a=1; a=2") == {"a": "1"}
    assert parse_cookies("a=b=c") == {"a": "b=c"}


def test_cookies_are_written():
    assert format_cookie("a", "x y") == "a=x%20y; Path=/; HttpOnly; SameSite=Lax"
    written = format_cookie(
        "a",
        "1",
        max_age=0,
        path="/x",
        domain=".example.org",
        secure=True,
        http_only=False,
        same_site="None",
    )
    assert written == "a=1; Path=/x; Max-Age=0; Domain=example.org; Secure; SameSite=None"


def test_what_browsers_refuse_is_refused():
    with pytest.raises(ValueError, match="must be secure"):
        format_cookie("a", "1", same_site="None")
    with pytest.raises(ValueError, match="'lax' is not one of Strict, Lax, None"):
        format_cookie("a", "1", same_site="lax")


def test_what_was_signed_is_read_back():
    signer = Signer("key")
    signed = signer.sign("user.5", 1000.7)
    assert signed.startswith("user.5.1000.")
    assert signer.read(signed, 5000) == "user.5"


@pytest.mark.parametrize("change", ["x", "user.6", ""])
def test_what_was_changed_is_refused(change):
    signer = Signer("key")
    _, _, rest = signer.sign("user", 1000).partition(".")
    with pytest.raises(HttpError, match="the signature is wrong"):
        signer.read(f"{change}.{rest}", 1000)
    with pytest.raises(HttpError, match="400"):
        signer.read(change, 1000)


def test_signatures_get_old():
    signer = Signer("key")
    signed = signer.sign("user", 1000)
    assert signer.read(signed, 1060, max_age=60) == "user"
    with pytest.raises(HttpError, match="too old"):
        signer.read(signed, 1061, max_age=60)


def test_keys_can_be_changed():
    signed = Signer("old").sign("user", 1000)
    assert Signer("new", "old").read(signed, 1000) == "user"
    with pytest.raises(HttpError):
        Signer("new").read(signed, 1000)
    assert Signer("new", "old").sign("user", 1000) == Signer("new").sign("user", 1000)
    with pytest.raises(ValueError, match="there is no key"):
        Signer()
