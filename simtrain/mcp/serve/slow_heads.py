"""HTTP connections that wait only so long for the head of a request: clients that trickle it in hold nothing for ever."""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol


class BriskProtocol(H11Protocol):
    """HTTP/1.1 that closes a connection on which the head of a request does not come to its end within `patience` seconds.

    They begin with the connection, and later with the first byte of a head. Connections that rest between requests are uvicorn's
    own matter (`timeout_keep_alive`), bodies that of whoever reads them.
    """

    def __init__(self, *args: Any, patience: float, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self._patience = patience
        self._limit: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Begin to wait for the first head."""
        super().connection_made(transport)
        self._limit = self.loop.call_later(self._patience, transport.close)

    def data_received(self, data: bytes) -> None:
        """Take in what came; the wait ends with the head, and begins with the next one."""
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._unlimit()
        elif self._limit is None and self.conn.trailing_data[0]:
            self._limit = self.loop.call_later(self._patience, self.transport.close)

    def connection_lost(self, exc: Exception | None) -> None:
        """End the wait with the connection."""
        self._unlimit()
        super().connection_lost(exc)

    def _unlimit(self) -> None:
        if self._limit is not None:
            self._limit.cancel()
            self._limit = None
