"""A browser for tests."""

import json as json_module

from trellis.app import App
from trellis.errors import HttpError
from trellis.headers import Headers, parse_options
from trellis.messages import Request, Response
from trellis.urls import build_query

MOST_REDIRECTS = 10


class Client:
    """Sends requests to an application, keeps cookies, goes where it is sent."""

    def __init__(self, app: App, now: float = 1_930_000_000.0) -> None:
        self._app = app
        self.now = now
        self.cookies: dict[str, str] = {}

    def request(
        self,
        method: str,
        target: str,
        *,
        headers: dict[str, str] | None = None,
        body: bytes = b"",
        json: object = None,
        form: dict[str, object] | None = None,
        follow: bool = True,
    ) -> Response:
        """Send a request, and follow where the answer sends."""
        sent = Headers(headers or {})
        if json is not None:
            body = json_module.dumps(json).encode()
            sent.setdefault("Content-Type", "application/json")
        elif form is not None:
            body = build_query(form).encode()
            sent.setdefault("Content-Type", "application/x-www-form-urlencoded")
        response = self._send(method, target, sent, body)
        for _ in range(MOST_REDIRECTS):
            location = response.headers.get("Location")
            if not follow or not 300 <= response.status < 400 or location is None:
                return response
            if response.status in (302, 303):
                method, body = "GET", b""
                sent.remove("Content-Type")
            response = self._send(method, location, sent, body)
        raise HttpError(400, f"more than {MOST_REDIRECTS} redirects")

    def _send(self, method: str, target: str, headers: Headers, body: bytes) -> Response:
        sent = Headers(list(headers))
        if self.cookies:
            text = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
            sent.set("Cookie", text)
        response = self._app.handle(Request(method, target, sent, body, self.now))
        for text in response.headers.all("Set-Cookie"):
            self._keep(text)
        return response

    def _keep(self, text: str) -> None:
        pair, _, _ = text.partition(";")
        name, _, value = pair.partition("=")
        _, options = parse_options(text)
        if options.get("max-age") == "0":
            self.cookies.pop(name, None)
        else:
            self.cookies[name] = value

    def get(self, target: str, **options) -> Response:
        """Send a GET."""
        return self.request("GET", target, **options)

    def post(self, target: str, **options) -> Response:
        """Send a POST."""
        return self.request("POST", target, **options)
