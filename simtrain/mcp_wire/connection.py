"""The interface of a connection to an MCP server: frames out, frames in, and a limit on every wait."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from simtrain.values.errors import SimulatorFault
from simtrain.values.types import JsonObject

RequestId: TypeAlias = int | str

KEPT_STRAYS = 5
SHOWN = 300
"""Characters of a server's text that are quoted in a message."""


@dataclass(frozen=True)
class ConnectionLimits:
    """Limits of a connection: bytes of one frame; seconds to send a frame, to connect, and to end politely."""

    frame: int = 64 * 1024 * 1024
    send: float = 30.0
    connect: float = 15.0
    close: float = 2.0


@dataclass(frozen=True, slots=True)
class ReceivedFrame:
    """A frame from the server. `request` is the request on whose stream it came, for transports with such streams.

    `resumed`: the server had closed that stream, and the client reconnected for the rest.
    """

    frame: JsonObject
    request: RequestId | None = None
    resumed: bool = False


@dataclass(frozen=True, slots=True)
class Broken:
    """A request that will not be answered, although the connection still works."""

    request: RequestId
    fault: SimulatorFault


@dataclass
class Strays:
    """Output of a server that is not JSON-RPC: the count, and the first few texts, clipped."""

    count: int = 0
    first: list[str] = field(default_factory=list[str])

    def add(self, text: str) -> None:
        """Add a text."""
        self.count += 1
        if self.count <= KEPT_STRAYS:
            self.first.append(text.strip()[:SHOWN])


class Connection(Protocol):
    """One live connection. `send` and `receive` raise ConnectionLost once the server is gone."""

    @property
    def strays(self) -> Strays:
        """Text from the server that is not JSON-RPC."""
        ...

    async def send(self, frame: JsonObject, *, headers: Mapping[str, str] | None = None) -> None:
        """Send one frame; over HTTP, with these headers."""
        ...

    async def receive(self) -> ReceivedFrame | Broken:
        """Return the next frame. Waits without limit: the caller sets one. Only one task may call it."""
        ...

    async def cancel(self, request: RequestId) -> None:
        """Tell the server that the client no longer waits for this request."""
        ...

    def last_words(self) -> str:
        """Return the server's last words on standard error, and its first output that is not MCP; empty without any."""
        ...

    async def close(self) -> None:
        """Close the connection with all its processes and sockets."""
        ...
