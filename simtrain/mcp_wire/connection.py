"""The contract of a connection to an MCP server: frames out, frames in, and a limit on every wait."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from simtrain.values.errors import SimulatorFault
from simtrain.values.types import JsonObject

RequestId: TypeAlias = int | str

KEPT_STRAYS = 5
SHOWN = 300
"""Characters of what a server said that stand in a message."""


@dataclass(frozen=True)
class ConnectionLimits:
    """Limits of a connection: bytes of one frame, seconds to hand over a frame, to connect, and to end politely."""

    frame: int = 64 * 1024 * 1024
    send: float = 30.0
    connect: float = 15.0
    close: float = 2.0


@dataclass(frozen=True, slots=True)
class ReceivedFrame:
    """A frame from the server; `request` is the request on whose own stream it came, for transports with such
    streams.

    `resumed`: the server had closed that stream, and the client reconnected for the rest.
    """

    frame: JsonObject
    request: RequestId | None = None
    resumed: bool = False


@dataclass(frozen=True, slots=True)
class Broken:
    """A request that will not be answered, though the connection lives on."""

    request: RequestId
    fault: SimulatorFault


@dataclass
class Strays:
    """What a server sent that is not JSON-RPC: how often, and the first few times, clipped."""

    count: int = 0
    first: list[str] = field(default_factory=list[str])

    def add(self, text: str) -> None:
        """Add a frame."""
        self.count += 1
        if self.count <= KEPT_STRAYS:
            self.first.append(text.strip()[:SHOWN])


class Connection(Protocol):
    """One live connection. Raises ConnectionLost from `send` and `receive` once the server is gone."""

    @property
    def strays(self) -> Strays:
        """Text from the server that is not JSON-RPC."""
        ...

    async def send(self, frame: JsonObject, *, headers: Mapping[str, str] | None = None) -> None:
        """Hand over one frame; `headers` go with it where frames travel over HTTP."""
        ...

    async def receive(self) -> ReceivedFrame | Broken:
        """Return the next frame; waits for ever, so the caller sets the limit. To be called by one task only."""
        ...

    async def cancel(self, request: RequestId) -> None:
        """Tell the server that nobody waits for this request any more."""
        ...

    def last_words(self) -> str:
        """Return what the server printed last on its standard error and where it should have spoken MCP; empty without any."""
        ...

    async def close(self) -> None:
        """End it, with all its processes and sockets."""
        ...
