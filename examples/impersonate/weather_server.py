"""A small MCP server that knows the weather of three towns."""

from __future__ import annotations

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

server = MCPServer("weather")
DEGREES = {"Oslo": 4, "Lima": 19, "Perth": 27}


@server.tool()
def temperature(town: str) -> int:
    """The temperature of a town in degrees Celsius."""
    if town not in DEGREES:
        raise ToolError(f"no weather is known for {town}")
    return DEGREES[town]


if __name__ == "__main__":
    server.run()
