"""Opens a connection to an MCP server over stdio or HTTP, and closes it with everything that it started."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from simtrain.mcp_wire.connection import Connection, ConnectionLimits
from simtrain.mcp_wire.stdio import open_stdio
from simtrain.mcp_wire.targets import StdioTarget, Target


@asynccontextmanager
async def open_connection(target: Target, *, limits: ConnectionLimits | None = None) -> AsyncGenerator[Connection]:
    """Open a connection to `target`. All its processes and sockets are closed when the block ends.

    Raises InputError if a command cannot be started. An HTTP server is first contacted by `send`.
    """
    connection = await _opened(target, limits or ConnectionLimits())
    try:
        yield connection
    finally:
        # Shielded, so that a cancellation leaves no process behind.
        await asyncio.shield(asyncio.create_task(connection.close()))


async def _opened(target: Target, limits: ConnectionLimits) -> Connection:
    if isinstance(target, StdioTarget):
        return await open_stdio(target, limits)
    # Imported when used: few commands need HTTP, and imports delay every command.
    from simtrain.mcp_wire.http import open_http

    return open_http(target, limits)
