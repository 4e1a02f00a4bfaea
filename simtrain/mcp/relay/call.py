"""One tool call on its way through the relay, with perturbations around it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from simtrain.values.types import JsonObject, JsonValue

Repeat: TypeAlias = Callable[[JsonObject], Awaitable[JsonObject]]
"""Sends a call to the server again, under a new id, and returns the response frame."""


@dataclass(frozen=True)
class RelayOutcome:
    """What the client gets: `frame`, or the server's own reply if it is None. `notes` go into the recording."""

    frame: JsonObject | None
    notes: JsonObject = field(default_factory=dict[str, JsonValue])


class RelayedCall:
    """A call that perturbations may change.

    The transport awaits `departure`, passes the server's response to `arrive`, and forwards the result of `outcome`.
    """

    # Two futures and a task, since the chain of perturbations runs as straight code while frames arrive in the transport's own loop:
    # `_sent` carries the request out of the chain, `_replied` the response into it.

    def __init__(self, request: JsonObject, *, by: list[JsonObject], repeat: Repeat) -> None:
        loop = asyncio.get_running_loop()
        self.request = request
        self.reply_id: JsonValue = request["id"]
        self.by = by
        self.repeat = repeat
        self._sent: asyncio.Future[JsonObject] = loop.create_future()
        self._replied: asyncio.Future[JsonObject] = loop.create_future()
        self.outcome: asyncio.Task[RelayOutcome]

    async def departure(self) -> JsonObject | None:
        """Return the frame for the server, the same object if nothing changed it; None if the call is not to reach the server."""
        await asyncio.wait((self._sent, self.outcome), return_when=asyncio.FIRST_COMPLETED)
        return self._sent.result() if self._sent.done() else None

    @property
    def sent(self) -> bool:
        """True if the call was passed on for the server."""
        return self._sent.done()

    async def send(self, frame: JsonObject) -> JsonObject:
        """Have the call sent, and return the response frame."""
        self._sent.set_result(frame)
        return await self._replied

    def let_go(self) -> None:
        """Have the call sent unchanged, unless it was sent already."""
        if not self._sent.done():
            self._sent.set_result(self.request)

    def arrive(self, frame: JsonObject) -> None:
        """Take the server's response."""
        self.reply_id = frame["id"]
        # A server may answer a call that the client has cancelled meanwhile.
        if not self._replied.done():
            self._replied.set_result(frame)

    def cancel(self) -> None:
        """Stop, since the client no longer waits."""
        self.outcome.cancel()
