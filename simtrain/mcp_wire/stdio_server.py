"""MCP on standard input and output over the seam."""

from __future__ import annotations

from mcp.server.stdio import stdio_server

from simtrain.mcp_wire.front import Front
from simtrain.mcp_wire.seam import build_server


async def serve_stdio(front: Front) -> None:
    """Answer on standard output until standard input ends."""
    server = build_server(front)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())
