"""Access to a server on this machine: Host and Origin checks against DNS rebinding, and safe comparison of bearer tokens."""

import hmac
from collections.abc import Collection, Mapping, Sequence
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from simtrain.values.types import JsonObject

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


class HostGuard:
    """Passes on requests whose Host and, if present, Origin name an allowed host, on any port."""

    def __init__(self, app: ASGIApp, *, hosts: Sequence[str] = LOOPBACK) -> None:
        self._app = app
        self._hosts = frozenset(host.lower() for host in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            wrong = misaddressed(Headers(scope=scope), self._hosts)
            if wrong is not None:
                await refusal(*wrong)(scope, receive, send)
                return
        await self._app(scope, receive, send)


def misaddressed(headers: Mapping[str, str], hosts: Collection[str] = LOOPBACK) -> tuple[int, str] | None:
    """Return status and message for a request whose Host, or Origin, is none of these hosts; None for any other."""
    if _without_port(headers.get("host", "")) not in hosts:
        return 421, "Invalid Host header"
    if "origin" in headers and _without_port(urlsplit(headers["origin"]).netloc) not in hosts:
        return 403, "Invalid Origin header"
    return None


def _without_port(netloc: str) -> str:
    # An Origin may hold user information, and `evil@localhost` must not pass for a host.
    host = netloc.lower().rpartition("@")[2]
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    return host.partition(":")[0]


def bearer(scope: Scope) -> str | None:
    """Return the bearer token of a request."""
    kind, _, token = Headers(scope=scope).get("authorization", "").partition(" ")
    return token.strip() or None if kind.lower() == "bearer" else None


def same(given: str | None, wanted: str) -> bool:
    """Return True if a token is the wanted one, in constant time."""
    # A plain comparison returns sooner the earlier the tokens differ, which can be measured.
    return given is not None and hmac.compare_digest(given.encode(), wanted.encode())


def refusal(status: int, message: str) -> Response:
    """Return an HTTP error whose body is a JSON-RPC error, as MCP clients expect."""
    body: JsonObject = {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": message}}
    headers = {"www-authenticate": "Bearer"} if status == 401 else None
    return JSONResponse(body, status, headers)
