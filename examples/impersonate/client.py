"""Connects to a served stand-in as any MCP client does: `python client.py http://127.0.0.1:8765/mcp`."""

from __future__ import annotations

import asyncio
import sys

from mcp import Client
from mcp_types import TextContent


async def main(url: str) -> None:
    """List the tools and call some."""
    async with Client(url) as client:
        print("tools:", ", ".join(tool.name for tool in (await client.list_tools()).tools))
        for tool, arguments in (
            ("weather__temperature", {"town": "Lima"}),
            ("weather__temperature", {"town": "Lima"}),
            ("notes__list_notes", {}),
            ("notes__read_note", {"number": 9}),
            ("notes__add_note", {"title": "Call Ann", "text": "On Friday"}),
        ):
            reply = await client.call_tool(tool, arguments)
            words = " ".join(block.text for block in reply.content if isinstance(block, TextContent))
            print(f"{tool}: {'error: ' if reply.is_error else ''}{words}")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
