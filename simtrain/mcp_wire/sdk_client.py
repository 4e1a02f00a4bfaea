"""The official SDK's client, as agents use it: over HTTP, or in-process with the SDK's server."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from mcp import Client, MCPError

from simtrain.mcp_wire.handler import RequestHandler
from simtrain.mcp_wire.sdk_server import build_server
from simtrain.values.types import JsonObject


class SdkClient:
    """A connected client: descriptors and results as plain JSON."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def tools(self) -> list[JsonObject]:
        """Return the descriptors of all tools, over all pages."""
        found: list[JsonObject] = []
        cursor: str | None = None
        while True:
            page = await self._client.list_tools(cursor=cursor)
            found.extend(tool.model_dump(by_alias=True, mode="json", exclude_none=True) for tool in page.tools)
            cursor = page.next_cursor
            if cursor is None:
                return found

    async def call(self, tool: str, arguments: JsonObject) -> JsonObject:
        """Return the raw reply to a call: {"result": ...} or {"error": ...}."""
        try:
            result = await self._client.call_tool(tool, arguments)
        except MCPError as error:
            return {"error": error.error.model_dump(mode="json", exclude_none=True)}
        dumped = result.model_dump(by_alias=True, mode="json", exclude_none=True)
        # The envelope of the modern era is removed; what was null or absent is left out by exclude_none above.
        return {"result": {key: value for key, value in dumped.items() if key not in ("_meta", "resultType")}}


@asynccontextmanager
async def connect_http(url: str) -> AsyncGenerator[SdkClient]:
    """Connect a client to the server at a URL."""
    async with Client(url) as client:
        yield SdkClient(client)


@asynccontextmanager
async def connect_in_process(handler: RequestHandler) -> AsyncGenerator[SdkClient]:
    """Connect a client to a handler in this process, through the SDK's server and client."""
    async with Client(build_server(handler)) as client:
        yield SdkClient(client)
