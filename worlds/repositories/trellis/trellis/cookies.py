"""Cookies read, written and signed."""

import hmac
from hashlib import sha256

from trellis.errors import HttpError
from trellis.urls import quote, unquote

SAME_SITE = ("Strict", "Lax", "None")


def parse_cookies(text: str) -> dict[str, str]:
    """Return the cookies of a header; of one that stands twice the first, which is the more special."""
    found: dict[str, str] = {}
    for part in text.split(";"):
        name, equals, value = part.strip().partition("=")
        if equals and name:
            found.setdefault(name, unquote(value.strip('"')))
    return found


def format_cookie(
    name: str,
    value: str,
    *,
    max_age: int | None = None,
    path: str = "/",
    domain: str | None = None,
    secure: bool = False,
    http_only: bool = True,
    same_site: str = "Lax",
) -> str:
    """Return the value of a Set-Cookie header."""
    if same_site not in SAME_SITE:
        raise ValueError(f"{same_site!r} is not one of {', '.join(SAME_SITE)}")
    if same_site == "None" and not secure:
        raise ValueError("a cookie for other sites must be secure")
    parts = [f"{name}={quote(value)}", f"Path={path}"]
    if max_age is not None:
        parts.append(f"Max-Age={max_age}")
    if domain:
        parts.append(f"Domain={domain.lstrip('.')}")
    if secure:
        parts.append("Secure")
    if http_only:
        parts.append("HttpOnly")
    parts.append(f"SameSite={same_site}")
    return "; ".join(parts)


class Signer:
    """Signs texts, with the time, so that nobody can change or keep them."""

    def __init__(self, *keys: str) -> None:
        if not keys:
            raise ValueError("there is no key")
        self._keys = [key.encode() for key in keys]

    def sign(self, text: str, now: float) -> str:
        """Return a text with its time and signature, by the first key."""
        body = f"{text}.{int(now)}"
        return f"{body}.{self._signature(self._keys[0], body)}"

    def read(self, signed: str, now: float, max_age: float | None = None) -> str:
        """Return the text; HttpError 400 for a wrong signature, or one that is too old."""
        body, _, signature = signed.rpartition(".")
        text, _, moment = body.rpartition(".")
        good = [hmac.compare_digest(self._signature(key, body), signature) for key in self._keys]
        if not any(good) or not moment.isdigit():
            raise HttpError(400, "the signature is wrong")
        if max_age is not None and now - int(moment) > max_age:
            raise HttpError(400, "the signature is too old")
        return text

    @staticmethod
    def _signature(key: bytes, body: str) -> str:
        return hmac.new(key, body.encode(), sha256).hexdigest()[:32]
