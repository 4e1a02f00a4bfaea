"""A server with everything that the official conformance suite asks for, over HTTP in both protocol eras. Prints its URL.

It stands on the SDK's low-level server and answers in raw dicts (fixture_replies.py); nothing of simtrain is in it.
"""

from __future__ import annotations

import asyncio
import socket
import warnings
from typing import Any

import uvicorn
from fixture_replies import (
    INFO,
    INPUT_SCHEMAS,
    LISTS,
    NOTES,
    Ask,
    Fault,
    Reply,
    complete,
    prompt,
    resource,
    tool,
)
from mcp import MCPDeprecationWarning, MCPError
from mcp.server import Server
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.streamable_http import EventCallback, EventMessage, EventStore
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, PromptsListChanged, ToolsListChanged
from mcp.shared.message import ServerMessageMetadata
from mcp_types import JSONRPCMessage
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, LATEST_HANDSHAKE_VERSION, MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel, ConfigDict

CACHEABLE = {*LISTS, "server/discover", "resources/read"}
GONE = {"ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"}
LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
CAPABILITIES = {
    "tools": {"listChanged": True},
    "resources": {"subscribe": True, "listChanged": False},
    "prompts": {"listChanged": True},
    "completions": {},
    "logging": {},
}
META = "io.modelcontextprotocol/"

bus = InMemorySubscriptionBus()


class Raw(BaseModel):
    """A frame as it stands."""

    model_config = ConfigDict(extra="allow")


class Memory(EventStore):
    """Keeps the events of every stream, so that a client can come back for what it missed."""

    def __init__(self) -> None:
        self.events: list[tuple[str, JSONRPCMessage | None]] = []

    async def store_event(self, stream_id: str, message: JSONRPCMessage | None) -> str:
        self.events.append((stream_id, message))
        return str(len(self.events))

    async def replay_events_after(self, last_event_id: str, send_callback: EventCallback) -> str | None:
        place = int(last_event_id)
        stream = self.events[place - 1][0]
        for number, (name, message) in enumerate(self.events[place:], place + 1):
            if name == stream and message is not None:
                await send_callback(EventMessage(message, str(number)))
        return stream


async def answer(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """The middleware: every request but what the SDK must do itself."""
    modern = ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
    if ctx.request_id is None or ctx.method == "subscriptions/listen" or (ctx.method == "initialize" and modern):
        return await call_next(ctx)
    params = dict(ctx.params or {})
    try:
        result = await reply(ctx, ctx.method, params, modern=modern)
    except Fault as fault:
        raise MCPError(code=fault.code, message=str(fault), data=fault.data) from None
    if not modern:
        return result
    cached = {"ttlMs": 0, "cacheScope": "private"} if ctx.method in CACHEABLE else {}
    return {"resultType": "complete", **cached, **result, "_meta": {f"{META}serverInfo": INFO}}


async def reply(ctx: Any, method: str, params: dict[str, Any], *, modern: bool) -> dict[str, Any]:
    """The raw result of a request."""
    if modern and method in GONE:
        raise Fault(-32601, "Method not found", method)
    if method == "initialize":
        asked = params.get("protocolVersion")
        spoken = asked if asked in HANDSHAKE_PROTOCOL_VERSIONS else LATEST_HANDSHAKE_VERSION
        return {"protocolVersion": spoken, "capabilities": CAPABILITIES, "serverInfo": INFO}
    if method == "server/discover":
        return {"supportedVersions": list(MODERN_PROTOCOL_VERSIONS), "capabilities": CAPABILITIES}
    if method in LISTS:
        return {LISTS[method][0]: LISTS[method][1]}
    if method in GONE:
        return {}
    if method == "completion/complete":
        return complete()
    if method == "resources/read":
        return resource(str(params.get("uri")))
    if method == "prompts/get":
        return await said(ctx, prompt(str(params.get("name")), params, modern=modern), params, modern=modern)
    if method == "tools/call":
        name = str(params.get("name"))
        await notes(ctx, name, modern=modern)
        return await said(
            ctx, tool(name, params, declared(ctx, params, modern=modern), modern=modern), params, modern=modern
        )
    raise Fault(-32601, "Method not found", method)


def declared(ctx: Any, params: dict[str, Any], *, modern: bool) -> dict[str, Any]:
    """The capabilities that the client declared."""
    if modern:
        return params.get("_meta", {}).get(f"{META}clientCapabilities") or {}
    known = ctx.session.client_capabilities
    return known.model_dump(by_alias=True, exclude_none=True) if known else {}


async def said(ctx: Any, found: Reply | Ask, params: dict[str, Any], *, modern: bool) -> dict[str, Any]:
    """The result, once the client has answered what it is asked."""
    if isinstance(found, Reply):
        return found.result
    if modern:
        state = {} if found.state is None else {"requestState": found.state}
        return {"resultType": "input_required", "inputRequests": found.questions, **state}
    answers = {}
    for key, question in found.questions.items():
        related = ServerMessageMetadata(related_request_id=ctx.request_id)
        got = await ctx.session.send_request(Raw(**question), Raw, metadata=related)
        answers[key] = got.model_dump()
    return found.then(answers).result


async def notes(ctx: Any, name: str, *, modern: bool) -> None:
    """What a tool says before its result."""
    if name == "test_trigger_tool_change":
        await ctx.session.send_tool_list_changed() if not modern else await bus.publish(ToolsListChanged())
    elif name == "test_trigger_prompt_change":
        await ctx.session.send_prompt_list_changed() if not modern else await bus.publish(PromptsListChanged())
    elif name == "test_reconnection" and ctx.close_sse_stream is not None:
        await ctx.close_sse_stream()
        await asyncio.sleep(0.2)
    for method, params in NOTES.get(name, ()):
        if method == "progress":
            await ctx.session.report_progress(*params)
        else:
            wanted = (ctx.meta or {}).get(f"{META}logLevel") if modern else "debug"
            if wanted in LEVELS and LEVELS.index(params["level"]) >= LEVELS.index(wanted):
                raw = Raw(method="notifications/message", params=params)
                await ctx.session.send_notification(raw, related_request_id=ctx.request_id)
        await asyncio.sleep(0.03)


async def main() -> None:
    """Serve on a free port until killed."""
    warnings.filterwarnings("ignore", category=MCPDeprecationWarning)
    server: Server[Any] = Server(
        "fixture", on_subscriptions_listen=ListenHandler(bus), get_tool_input_schema=INPUT_SCHEMAS.get
    )
    server.middleware[:] = [answer]
    bound = socket.create_server(("127.0.0.1", 0))
    app = server.streamable_http_app(event_store=Memory(), retry_interval=50)
    print(f"http://127.0.0.1:{bound.getsockname()[1]}/mcp", flush=True)
    await uvicorn.Server(uvicorn.Config(app, http="h11", log_level="error")).serve(sockets=[bound])


if __name__ == "__main__":
    asyncio.run(main())
