"""The client of langchain-mcp-adapters: `python adapters.py URL`, or `python adapters.py COMMAND ARGUMENT...`."""

import asyncio
import json
import sys

from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.resources import load_mcp_resources
from langchain_mcp_adapters.tools import load_mcp_tools


async def main() -> None:
    command, *arguments = sys.argv[1:]
    if command.startswith("http"):
        connection = {"transport": "streamable_http", "url": command}
    else:
        connection = {"transport": "stdio", "command": command, "args": arguments}
    client = MultiServerMCPClient({"bakery": connection})
    if command.startswith("http"):
        # Without a session of ours every call has one of its own, and all of them must meet the same world.
        print(json.dumps(await visit(await client.get_tools(), await client.get_resources("bakery"))))
        return
    async with client.session("bakery") as session:
        print(json.dumps(await visit(await load_mcp_tools(session), await load_mcp_resources(session))))


async def visit(tools, resources) -> dict:
    by_name = {tool.name: tool for tool in tools}

    async def call(name: str, arguments: dict):
        return await by_name[name].ainvoke({"type": "tool_call", "id": "1", "name": name, "args": arguments})

    cake = json.loads(text(await call("cakes__list", {})))["cakes"][0]
    order = json.loads(text(await call("orders__place", {"cake_id": cake["id"], "amount": 1})))
    refused = await call("cakes__get", {"name": "nothing"})
    return {
        "tools": list(by_name),
        "cake": cake["name"],
        "order": order["id"],
        "refused": [refused.status == "error", text(refused)],
        "board": resources[0].as_string(),
    }


def text(message) -> str:
    said = message.content
    return said if isinstance(said, str) else said[0]["text"]


asyncio.run(main())
