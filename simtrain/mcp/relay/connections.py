"""One HTTP/1.1 connection, to a client or to the server: events of h11 in and out, with a limit on every wait."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from typing import TypeAlias

import h11

Headers: TypeAlias = list[tuple[bytes, bytes]]

CHUNK = 65536

# RFC 9110, section 7.6.1, and what HTTP/1.0 proxies knew.
_HOP_BY_HOP = frozenset(
    b"connection keep-alive proxy-connection proxy-authenticate proxy-authorization te trailer transfer-encoding upgrade".split()
)


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


class Gone(Exception):
    """The other side has closed the connection, or does not keep to HTTP; `str` says which."""


class NoHttp(Gone):
    """What came is not HTTP/1.1; `status` is the one to answer."""

    def __init__(self, error: h11.RemoteProtocolError) -> None:
        super().__init__(str(error))
        self.status = error.error_status_hint


class TooLarge(Exception):
    """A body above the limit."""


class RelayConnection:
    """One connection."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        *,
        ours: type[h11.CLIENT | h11.SERVER],
        limits: RelayLimits,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._limits = limits
        self.wire = h11.Connection(ours, max_incomplete_event_size=CHUNK)

    async def receive(self) -> h11.Event:
        """Return the next event; waits for ever, so the caller sets the limit. Raises Gone."""
        try:
            while (event := self.wire.next_event()) is h11.NEED_DATA:
                self.wire.receive_data(await self._reader.read(CHUNK))
        except h11.RemoteProtocolError as error:
            raise NoHttp(error) from None
        except OSError as error:
            raise Gone(error.strerror or str(error)) from None
        if isinstance(event, h11.ConnectionClosed) or event is h11.PAUSED:
            raise Gone("the connection was closed")
        assert not isinstance(event, type)
        return event

    async def body(self) -> bytes:
        """Return the rest of the message. Raises TooLarge and Gone."""
        parts: list[bytes] = []
        size = 0
        while isinstance(event := await self.receive(), h11.Data):
            size += len(event.data)
            if size > self._limits.body:
                raise TooLarge
            parts.append(bytes(event.data))
        return b"".join(parts)

    async def send(self, *events: h11.Event) -> None:
        """Send events, all in one write. Raises Gone."""
        try:
            data = b"".join(self.wire.send(event) or b"" for event in events)
            self._writer.write(data)
            async with asyncio.timeout(self._limits.send):
                await self._writer.drain()
        except TimeoutError:
            raise Gone("the other side does not read") from None
        except (OSError, h11.LocalProtocolError) as error:
            raise Gone(str(error) or type(error).__name__) from None

    async def refuse(self, status: int) -> None:
        """Answer a request that cannot be read, if there is still an answer to be given."""
        if self.wire.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            with contextlib.suppress(Gone):
                await self.send(
                    h11.Response(status_code=status, headers=[(b"Connection", b"close")]), h11.EndOfMessage()
                )

    async def watch(self) -> None:
        """Return when the other side closes the connection; what it sends meanwhile is kept."""
        kept = 0
        while kept < CHUNK:
            try:
                data = await self._reader.read(CHUNK)
            except OSError:
                return
            self.wire.receive_data(data)
            if not data:
                return
            kept += len(data)
        await asyncio.Event().wait()

    def next_message(self) -> bool:
        """Make ready for the next request on this connection; whether it can have one."""
        if self.wire.our_state is not h11.DONE or self.wire.their_state is not h11.DONE:
            return False
        self.wire.start_next_cycle()
        return True

    @property
    def usable(self) -> bool:
        """True if an idle connection still seems open."""
        return not self._reader.at_eof() and not self._writer.is_closing()

    async def linger(self) -> None:
        """Read what is still coming and forget it, for a moment: closing before would tear the answer from the other side's hands."""
        with contextlib.suppress(OSError, TimeoutError):
            async with asyncio.timeout(1.0):
                self._writer.write_eof()
                while await self._reader.read(CHUNK):
                    pass

    async def close(self) -> None:
        """Close it."""
        self._writer.close()
        with contextlib.suppress(OSError, TimeoutError):
            async with asyncio.timeout(1.0):
                await self._writer.wait_closed()

    def abort(self) -> None:
        """Break it off, so that the other side does not take what it has for the whole."""
        self._writer.transport.abort()


def end_to_end(message: h11.Request | h11.Response, *, without: frozenset[bytes] = frozenset()) -> Headers:
    """Return the headers that are for the other end, as they were written; names in `without` are left out."""
    named = {
        part.strip().lower() for name, value in message.headers if name == b"connection" for part in value.split(b",")
    }
    dropped = _HOP_BY_HOP | without | named
    return [(name, value) for name, value in message.headers.raw_items() if name.lower() not in dropped]
