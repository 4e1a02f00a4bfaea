"""HTTP connections with a time limit for the head of a request, against clients that send it drop by drop (slowloris)."""

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol


class BriskProtocol(H11Protocol):
    """HTTP/1.1 that closes a connection if the head of a request is not complete within `patience` seconds.

    The time begins with the connection, and later with the first byte of a head. Idle connections between requests are limited by
    uvicorn (`timeout_keep_alive`), bodies by their readers.
    """

    def __init__(self, *args: Any, patience: float, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self._patience = patience
        self._limit: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Start the time limit for the first head."""
        super().connection_made(transport)
        self._limit = self.loop.call_later(self._patience, transport.close)

    def data_received(self, data: bytes) -> None:
        """Receive data. The time limit ends with a head and starts again with the next one."""
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._unlimit()
        elif self._limit is None and self.conn.trailing_data[0]:
            self._limit = self.loop.call_later(self._patience, self.transport.close)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the time limit with the connection."""
        self._unlimit()
        super().connection_lost(exc)

    def _unlimit(self) -> None:
        if self._limit is not None:
            self._limit.cancel()
            self._limit = None
