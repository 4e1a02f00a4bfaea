"""The server's side of an HTTP relay: its address, requests to it, and what of their headers is for the other end."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import TypeAlias
from urllib.parse import urlsplit

from aiohttp import (
    ClientError,
    ClientResponse,
    ClientSession,
    ClientTimeout,
    ConnectionTimeoutError,
    DummyCookieJar,
    TCPConnector,
)
from aiohttp.web import BaseRequest, StreamResponse
from multidict import CIMultiDict
from yarl import URL

from simtrain.mcp_wire.stream_parts import Events, Piece, event_data, with_data
from simtrain.mcp_wire.targets import HttpTarget

FRESH = 2.0
"""Seconds that an idle connection is trusted. Servers close theirs after five; a request on a dying one could not be sent again
without risking that it is carried out twice."""

LONGEST_HEADER = 65536

LENGTH = frozenset({b"content-length"})
"""The header that goes when a body may change."""

# RFC 9110, section 7.6.1, and what HTTP/1.0 proxies knew.
_HOP_BY_HOP = frozenset(
    b"connection keep-alive proxy-connection proxy-authenticate proxy-authorization te trailer transfer-encoding upgrade".split()
)
# We read the replies, so that they must not be compressed; the rest is set anew.
_OURS = frozenset({b"host", b"origin", b"accept-encoding", b"content-length", b"expect"})


@dataclass(frozen=True)
class RelayLimits:
    """Bytes of a body or an event; seconds to connect, for a message to be read by the other side, for a request to come in, for the
    server to begin its answer, and that an idle connection is kept."""

    body: int = 64 * 1024 * 1024
    connect: float = 10.0
    send: float = 60.0
    request: float = 60.0
    reply: float = 600.0
    idle: float = 300.0


Change: TypeAlias = Callable[[bytes], Awaitable[bytes]]
"""Returns what the client gets of a body, or of an event's data: the same object where it stays as it is."""


class Gone(Exception):
    """The other side has closed the connection, does not keep to HTTP, or takes too long; `str` says which."""


class Upstream:
    """One origin. `open` comes before the first request, `close` after the last."""

    def __init__(self, target: HttpTarget, limits: RelayLimits) -> None:
        parts = urlsplit(target.url)
        self._limits = limits
        self._session: ClientSession
        self.path = parts.path or "/"
        self.authority = parts.netloc.rpartition("@")[2]
        self.origin = f"{parts.scheme.lower()}://{self.authority}"

    def open(self) -> None:
        """Make ready to connect."""
        self._session = ClientSession(
            connector=TCPConnector(limit=0, keepalive_timeout=FRESH),
            timeout=ClientTimeout(total=None, sock_connect=self._limits.connect),
            cookie_jar=DummyCookieJar(),
            skip_auto_headers=("User-Agent", "Accept", "Content-Type"),
            auto_decompress=False,
            max_line_size=LONGEST_HEADER,
            max_field_size=LONGEST_HEADER,
        )
        # A GET or DELETE would be sent again when a kept connection turns out to be dead; nothing public says that it is not to be.
        self._session._retry_connection = False  # pyright: ignore[reportPrivateUsage]

    async def close(self) -> None:
        """Close all connections."""
        await self._session.close()

    @asynccontextmanager
    async def asked(
        self,
        request: BaseRequest,
        body: bytes,
        *,
        without: frozenset[bytes] = frozenset(),
        headers: Mapping[str, str] | None = None,
    ) -> AsyncGenerator[ClientResponse]:
        """Pass a client's request on, with this body; yield the reply as soon as its head is there. Raises Gone.

        Headers `without` (in small letters) stay behind, `headers` are set.
        """
        sent = end_to_end(request, without=_OURS | without)
        sent.update(headers or {})
        sent.update({"Host": self.authority, "Accept-Encoding": "identity"})
        if "Origin" in request.headers:
            sent["Origin"] = self.origin
        url = URL(self.origin + request.raw_path, encoded=True)
        async with within(self._limits.reply, f"no reply within {self._limits.reply:g} s"):
            with self._reaching():
                response = await self._session.request(
                    request.method, url, data=body or None, headers=sent, allow_redirects=False
                )
        async with response:
            yield response

    async def pieces(self, response: ClientResponse) -> AsyncIterator[bytes]:
        """Yield what a reply holds, in the pieces in which it comes. Raises Gone."""
        with self._reaching():
            async for piece in response.content.iter_any():
                yield piece

    async def whole(self, response: ClientResponse) -> bytes:
        """Return what a reply holds. Raises Gone."""
        body = bytearray()
        async with within(self._limits.reply, f"no whole reply within {self._limits.reply:g} s"):
            async for piece in self.pieces(response):
                body += piece
                if len(body) > self._limits.body:
                    raise Gone("the reply is too large")
        return bytes(body)

    async def forward(self, response: ClientResponse, shown: StreamResponse, change: Change | None = None) -> None:
        """Pass chunks on to a client as they arrive; with `change` event by event, each with its data as that gives it. Raises Gone."""
        events = Events(limit=self._limits.body)
        async for chunk in self.pieces(response):
            for piece in [Piece(chunk)] if change is None else events.feed(chunk):
                await self._send(shown, piece.data if change is None else await _changed(piece, change))
        for piece in events.rest():
            await self._send(shown, piece.data)

    async def _send(self, shown: StreamResponse, data: bytes) -> None:
        async with within(self._limits.send, "the other side does not read"):
            await shown.write(data)

    @contextmanager
    def _reaching(self) -> Generator[None]:
        try:
            yield
        except ConnectionTimeoutError:
            raise Gone(f"no connection within {self._limits.connect:g} s") from None
        except (ClientError, OSError) as error:
            words = getattr(error, "strerror", None) or " ".join(str(error).split()) or type(error).__name__
            raise Gone(words) from None


async def _changed(piece: Piece, change: Change) -> bytes:
    data = event_data(piece.data) if piece.whole else b""
    changed = await change(data) if data else data
    return piece.data if changed is data else with_data(piece.data, changed)


@asynccontextmanager
async def within(seconds: float, otherwise: str) -> AsyncGenerator[None]:
    """Raise Gone with these words when the block takes longer."""
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        raise Gone(otherwise) from None


def end_to_end(message: BaseRequest | ClientResponse, *, without: frozenset[bytes] = frozenset()) -> CIMultiDict[str]:
    """Return the headers that are for the other end, as they were written; names in `without` are left out."""
    named = {
        part.strip().lower()
        for name, value in message.raw_headers
        if name.lower() == b"connection"
        for part in value.split(b",")
    }
    dropped = _HOP_BY_HOP | without | named
    kept = [header for header in message.raw_headers if header[0].lower() not in dropped]
    # One spelling of each name: of several the client library takes the last for the whole.
    spelled = {name.lower(): name.decode("latin-1") for name, _ in reversed(kept)}
    return CIMultiDict((spelled[name.lower()], _text(value)) for name, value in kept)


def _text(value: bytes) -> str:
    """Return the value of a header: UTF-8, or else the Latin-1 of older servers, which is passed on as UTF-8."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")
