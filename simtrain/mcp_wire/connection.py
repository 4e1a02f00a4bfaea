"""A connection to an MCP server: frames out, frames in, and a limit on every wait."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from simtrain.errors import SimulatorFault
from simtrain.mcp_wire.targets import StdioTarget, Target
from simtrain.types import JsonObject

RequestId: TypeAlias = int | str

KEPT_STRAYS = 5


@dataclass(frozen=True)
class Limits:
    """Limits of a connection: bytes of one frame, seconds to hand over a frame, to connect, and to end politely."""

    frame: int = 64 * 1024 * 1024
    send: float = 30.0
    connect: float = 15.0
    close: float = 2.0


@dataclass(frozen=True, slots=True)
class Received:
    """A frame from the server; `request` is the request on whose own stream it came, where the transport has such streams.

    `resumed`: the server had closed that stream, and the client came back for the rest.
    """

    frame: JsonObject
    request: RequestId | None = None
    resumed: bool = False


@dataclass(frozen=True, slots=True)
class Broken:
    """A request that will not be answered, though the connection lives on."""

    request: RequestId
    fault: SimulatorFault


class Connection(Protocol):
    """One live connection. Raises ConnectionLost from `send` and `receive` once the server is gone."""

    @property
    def strays(self) -> tuple[str, ...]:
        """The first few things the server sent that are no JSON-RPC, clipped."""
        ...

    @property
    def stray_count(self) -> int:
        """How many such things there were."""
        ...

    async def send(self, frame: JsonObject, *, headers: Mapping[str, str] | None = None) -> None:
        """Hand over one frame; `headers` go with it where frames travel over HTTP."""
        ...

    async def receive(self) -> Received | Broken:
        """The next frame; waits for ever, so the caller sets the limit. To be called by one task only."""
        ...

    async def cancel(self, request: RequestId) -> None:
        """Tell the server that nobody waits for this request any more."""
        ...

    def last_words(self) -> str:
        """What the server printed last on its standard error and where it should have spoken MCP; empty without any."""
        ...


@asynccontextmanager
async def open_connection(target: Target, *, limits: Limits | None = None) -> AsyncGenerator[Connection]:
    """A connection to `target`, closed with all its processes and sockets when the block ends.

    Raises InputError when a command cannot be started. An HTTP server is first spoken to by `send`.
    """
    if isinstance(target, StdioTarget):
        from simtrain.mcp_wire.stdio import open_stdio

        async with open_stdio(target, limits or Limits()) as connection:
            yield connection
        return
    from simtrain.mcp_wire.http import open_http

    async with open_http(target, limits or Limits()) as connection:
        yield connection
