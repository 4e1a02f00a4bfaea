"""The client of the first Python SDK: `python first_sdk.py URL`, or `python first_sdk.py COMMAND ARGUMENT...`."""

import asyncio
import json
import sys
from contextlib import AsyncExitStack

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client


async def main() -> None:
    command, *arguments = sys.argv[1:]
    async with AsyncExitStack() as stack:
        if command.startswith("http"):
            reader, writer, _ = await stack.enter_async_context(streamablehttp_client(command))
        else:
            server = StdioServerParameters(command=command, args=arguments)
            reader, writer = await stack.enter_async_context(stdio_client(server))
        session = await stack.enter_async_context(ClientSession(reader, writer))
        await session.initialize()
        tools = [tool.name for tool in (await session.list_tools()).tools]
        cake = (await session.call_tool("cakes__list", {})).structuredContent["cakes"][0]
        order = await session.call_tool("orders__place", {"cake_id": cake["id"], "amount": 1})
        refused = await session.call_tool("cakes__get", {"name": "nothing"})
        board = await session.read_resource("bakery://board")
        met = {
            "tools": tools,
            "cake": cake["name"],
            "order": order.structuredContent["id"],
            "refused": [refused.isError, refused.content[0].text],
            "board": board.contents[0].text,
        }
    print(json.dumps(met))


asyncio.run(main())
