"""Requests and responses."""

import json
from functools import cached_property

from trellis.cookies import format_cookie, parse_cookies
from trellis.errors import REASONS, HttpError
from trellis.forms import parse_form
from trellis.headers import Headers, parse_options
from trellis.urls import parse_query


class Request:
    """What a client asks."""

    def __init__(
        self,
        method: str,
        target: str,
        headers: Headers | dict[str, str] | None = None,
        body: bytes = b"",
        now: float = 0.0,
    ) -> None:
        self.method = method.upper()
        path, _, self.query_text = target.partition("?")
        self.path = path or "/"
        self.headers = headers if isinstance(headers, Headers) else Headers(headers or {})
        self.body = body
        self.now = now
        self.state: dict[str, object] = {}

    @cached_property
    def query(self) -> dict[str, list[str]]:
        """The values of the query by name."""
        return parse_query(self.query_text)

    def argument(self, name: str, default: str | None = None) -> str | None:
        """Return the last value of a name in the query."""
        return self.query.get(name, [default])[-1]

    @cached_property
    def cookies(self) -> dict[str, str]:
        """The cookies by name."""
        return parse_cookies("; ".join(self.headers.all("Cookie")))

    @cached_property
    def form(self) -> dict[str, list]:
        """The fields of the form by name."""
        return parse_form(self.body, self.headers.get("Content-Type", ""))

    @property
    def text(self) -> str:
        """The body in the charset that its type names; UTF-8 if it names none."""
        _, options = parse_options(self.headers.get("Content-Type", ""))
        try:
            return self.body.decode(options.get("charset", "utf-8"))
        except (LookupError, UnicodeDecodeError):
            raise HttpError(400, "the body is not in the charset that it names") from None

    @property
    def json(self) -> object:
        """The body as JSON."""
        kind, _ = parse_options(self.headers.get("Content-Type", ""))
        if kind != "application/json" and not kind.endswith("+json"):
            raise HttpError(415, "JSON was expected")
        try:
            return json.loads(self.text)
        except ValueError:
            raise HttpError(400, "the body is no JSON") from None


class Response:
    """What a client gets."""

    def __init__(
        self,
        body: str | bytes = b"",
        status: int = 200,
        headers: Headers | dict[str, str] | None = None,
        kind: str | None = None,
    ) -> None:
        self.status = status
        self.headers = headers if isinstance(headers, Headers) else Headers(headers or {})
        if isinstance(body, str):
            kind = kind or "text/html; charset=utf-8"
            body = body.encode()
        self.body = body
        if kind:
            self.headers.setdefault("Content-Type", kind)

    @classmethod
    def json(cls, value: object, status: int = 200) -> "Response":
        """Return a value as JSON."""
        return cls(json.dumps(value, ensure_ascii=False), status, kind="application/json")

    @classmethod
    def redirect(cls, target: str, status: int = 303) -> "Response":
        """Send the client elsewhere."""
        if not 300 <= status < 400:
            raise ValueError(f"{status} sends nobody elsewhere")
        return cls(b"", status, {"Location": target})

    @property
    def text(self) -> str:
        """The body as text."""
        return self.body.decode()

    @property
    def reason(self) -> str:
        """The words for the status."""
        return REASONS.get(self.status, "Unknown")

    def set_cookie(self, name: str, value: str, **options) -> None:
        """Let the client keep a cookie."""
        self.headers.add("Set-Cookie", format_cookie(name, value, **options))

    def delete_cookie(self, name: str, path: str = "/") -> None:
        """Let the client forget a cookie."""
        self.headers.add("Set-Cookie", format_cookie(name, "", max_age=0, path=path))

    def finished(self, method: str) -> "Response":
        """Return it as it is sent: with its length, without a body where none may be."""
        sends = self.status >= 200 and self.status not in (204, 304)
        if sends:
            self.headers.set("Content-Length", str(len(self.body)))
        else:
            self.headers.remove("Content-Length")
        if method == "HEAD" or not sends:
            self.body = b""
        return self
