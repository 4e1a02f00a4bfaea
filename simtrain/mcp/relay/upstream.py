"""The server's side of an HTTP relay: its address, and connections to it that are used again."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from time import monotonic
from urllib.parse import urlsplit

import h11

from simtrain.mcp.relay.connections import Gone, RelayConnection, RelayLimits
from simtrain.mcp_wire.targets import HttpTarget

FRESH = 2.0
"""Seconds that an idle connection is trusted. Servers close theirs after five; a request on a dying one could not be sent again
without risking that it is carried out twice."""

KEPT = 64


class Upstream:
    """Connections to one origin."""

    def __init__(self, target: HttpTarget, limits: RelayLimits) -> None:
        parts = urlsplit(target.url)
        self._secure = parts.scheme.lower() == "https"
        self._host = parts.hostname or ""
        self._port = parts.port or (443 if self._secure else 80)
        self._limits = limits
        self._idle: list[tuple[RelayConnection, float]] = []
        self.path = parts.path or "/"
        self.authority = parts.netloc.rpartition("@")[2]
        self.origin = f"{parts.scheme.lower()}://{self.authority}"

    @asynccontextmanager
    async def connection(self) -> AsyncGenerator[RelayConnection]:
        """Return a connection for one request; it is kept if the reply was read to its end. Raises Gone if none can
        be had.
        """
        connection = self._kept() or await self._connect()
        try:
            yield connection
        except BaseException:
            connection.abort()
            raise
        if connection.next_message() and len(self._idle) < KEPT:
            self._idle.append((connection, monotonic()))
        else:
            await connection.close()

    async def close(self) -> None:
        """Close all idle connections."""
        while self._idle:
            await self._idle.pop()[0].close()

    def _kept(self) -> RelayConnection | None:
        while self._idle:
            connection, since = self._idle.pop()
            if connection.usable and monotonic() - since < FRESH:
                return connection
            connection.abort()
        return None

    async def _connect(self) -> RelayConnection:
        secure = ssl.create_default_context() if self._secure else None
        try:
            async with asyncio.timeout(self._limits.connect):
                reader, writer = await asyncio.open_connection(self._host, self._port, ssl=secure)
        except TimeoutError:
            raise Gone(f"no connection within {self._limits.connect:g} s") from None
        except OSError as error:
            raise Gone(error.strerror or str(error)) from None
        return RelayConnection(reader, writer, ours=h11.CLIENT, limits=self._limits)
