"""Connects to the servers of an `mcp.json` as any MCP client does: `python client.py stand-ins.json`."""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import AsyncExitStack
from pathlib import Path

from mcp import Client
from mcp_types import TextContent


async def main(config: Path) -> None:
    """List the tools of every server and call some."""
    servers = json.loads(config.read_text())["mcpServers"]
    async with AsyncExitStack() as stack:
        clients = {name: await stack.enter_async_context(Client(entry["url"])) for name, entry in servers.items()}
        for name, client in clients.items():
            print(f"{name}:", ", ".join(tool.name for tool in (await client.list_tools()).tools))
        for name, tool, arguments in (
            ("weather", "temperature", {"town": "Lima"}),
            ("weather", "temperature", {"town": "Lima"}),
            ("notes", "list_notes", {}),
            ("notes", "read_note", {"number": 9}),
            ("notes", "add_note", {"title": "Call Ann", "text": "On Friday"}),
        ):
            reply = await clients[name].call_tool(tool, arguments)
            words = " ".join(block.text for block in reply.content if isinstance(block, TextContent))
            print(f"{tool}: {'error: ' if reply.is_error else ''}{words}")


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
