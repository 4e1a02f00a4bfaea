"""The peer of the HTTP benchmark: the SDK's own low-level server, which answers every call with a constant. Prints its URL."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import uvicorn
from mcp.server import Server
from mcp_types import CallToolRequestParams, CallToolResult, ListToolsResult, PaginatedRequestParams, TextContent, Tool

REPLY = CallToolResult(content=[TextContent(type="text", text="ok")])
TOOL = Tool(name="echo", input_schema={"type": "object"})


async def call(context: Any, params: CallToolRequestParams) -> CallToolResult:
    """The constant."""
    return REPLY


async def tools(context: Any, params: PaginatedRequestParams | None) -> ListToolsResult:
    """The one tool."""
    return ListToolsResult(tools=[TOOL])


async def main() -> None:
    """Serve on a free port until killed."""
    server: Server[Any] = Server("echo", on_call_tool=call, on_list_tools=tools)
    bound = socket.create_server(("127.0.0.1", 0))
    app = server.streamable_http_app(json_response=True)
    print(f"http://127.0.0.1:{bound.getsockname()[1]}/mcp", flush=True)
    await uvicorn.Server(uvicorn.Config(app, http="h11", log_level="error")).serve(sockets=[bound])


if __name__ == "__main__":
    asyncio.run(main())
