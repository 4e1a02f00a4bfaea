"""The raw client over HTTP: questions in both eras, parameters in headers, and endpoints that misbehave."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

import pytest
import uvicorn
from aiohttp import web
from mcp.server import MCPServer
from mcp.server.mcpserver import Elicit, Resolve
from pydantic import BaseModel, Field
from pytest import raises

from simtrain.mcp_wire.answers import Canned
from simtrain.mcp_wire.client import connect
from simtrain.mcp_wire.connection import ConnectionLimits
from simtrain.mcp_wire.eras import ALL_CAPABILITIES, ERAS, HANDSHAKE, MODERN
from simtrain.mcp_wire.faults import ConnectionLost, HttpRefused, NotSpoken, TimedOut
from simtrain.mcp_wire.targets import HttpTarget
from simtrain.values.errors import InputError

pytestmark = pytest.mark.slow

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Size(BaseModel):
    cups: int


def ask_size() -> Elicit[Size]:
    return Elicit("How many cups?", Size)


@pytest.fixture(scope="module")
def tea_url() -> Iterator[str]:
    """A server of the Python SDK that asks before it answers, and one of whose tools wants a parameter in a header."""
    server = MCPServer("tea")

    @server.tool()
    def brew(size: Annotated[Size, Resolve(ask_size)]) -> str:
        """Brew tea."""
        return f"{size.cups} cups"

    @server.tool()
    def ship(region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})]) -> str:
        """Ship tea."""
        return f"to {region}"

    listening = socket.create_server(("127.0.0.1", 0))
    running = uvicorn.Server(uvicorn.Config(server.streamable_http_app(), log_level="error", http="h11", ws="none"))
    thread = threading.Thread(target=running.run, kwargs={"sockets": [listening]})
    thread.start()
    yield f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
    running.should_exit = True
    thread.join()


@pytest.mark.parametrize("era", ERAS)
async def test_a_form_is_filled_in_in_both_eras(era: str, tea_url: str) -> None:
    answers = Canned(form={"cups": 3})
    async with connect(HttpTarget(tea_url), era=era, capabilities=ALL_CAPABILITIES, answers=answers) as client:
        exchange = await client.request("tools/call", {"name": "brew", "arguments": {}})
    assert exchange.result is not None and exchange.result["content"][0]["text"] == "3 cups"
    assert exchange.params == {"name": "brew", "arguments": {}}
    if era == HANDSHAKE:
        assert [ask["method"] for ask in exchange.asks] == ["elicitation/create"] and not exchange.rounds
        return
    [asked] = exchange.rounds
    assert asked["result"]["resultType"] == "input_required" and not exchange.asks
    assert [answer["content"] for answer in asked["answers"].values()] == [{"cups": 3}]


async def test_a_question_that_a_client_cannot_answer_is_left_to_the_caller(tea_url: str) -> None:
    async with connect(HttpTarget(tea_url), era=MODERN) as client:
        exchange = await client.request("tools/call", {"name": "brew", "arguments": {}})
    assert exchange.response["error"]["code"] == -32021 and exchange.rounds == ()


@pytest.mark.parametrize("region", ["eu", " Zürich "])
async def test_a_parameter_travels_in_a_header_where_the_tool_says_so(region: str, tea_url: str) -> None:
    call = {"name": "ship", "arguments": {"region": region}}
    async with connect(HttpTarget(tea_url), era=MODERN) as client:
        refused = await client.request("tools/call", call)
        await client.list("tools/list")
        exchange = await client.request("tools/call", call)
    # Before the tools are listed the client cannot know, and the server insists.
    assert refused.response["error"]["code"] == -32020
    assert exchange.result is not None and exchange.result["content"][0]["text"] == f"to {region}"


@asynccontextmanager
async def endpoint(post: Handler, get: Handler | None = None, delete: Handler | None = None) -> AsyncGenerator[str]:
    """An HTTP server with these handlers at /mcp."""
    app = web.Application()
    app.router.add_post("/mcp", post)
    app.router.add_post("/moved", post)
    if get is not None:
        app.router.add_get("/mcp", get)
    if delete is not None:
        app.router.add_delete("/mcp", delete)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    listening = socket.create_server(("127.0.0.1", 0))
    await web.SockSite(runner, listening).start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        await runner.cleanup()


def greeting(frame: dict[str, Any]) -> dict[str, Any]:
    result = {"protocolVersion": HANDSHAKE, "capabilities": {}, "serverInfo": {"name": "x", "version": "1"}}
    return {"jsonrpc": "2.0", "id": frame["id"], "result": result}


def greeted(answer: Handler) -> Handler:
    """A handler that does the handshake, then answers by `answer`."""

    async def handle(request: web.Request) -> web.StreamResponse:
        frame = await request.json()
        if frame["method"] == "initialize":
            return web.json_response(greeting(frame), headers={"Mcp-Session-Id": "s1"})
        return await answer(request) if "id" in frame else web.Response(status=202)

    return handle


async def stream(request: web.Request, *events: str) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    for event in events:
        await response.write(event.encode())
    return response


@pytest.mark.parametrize(
    ("status", "text", "said"),
    [
        (500, "<h1>oops</h1>", "answered 500 Internal Server Error: <h1>oops</h1>"),
        (404, "", "streamable HTTP endpoints often end in /mcp"),
        (403, "no", "--header-env Authorization=VARIABLE"),
        (200, "hello", "answered 200 OK: hello"),
    ],
)
async def test_an_endpoint_that_is_no_mcp_is_bad_input(status: int, text: str, said: str) -> None:
    async def handle(request: web.Request) -> web.StreamResponse:
        return web.Response(status=status, text=text)

    async with endpoint(handle) as url:
        with raises(InputError, match=said):
            async with connect(HttpTarget(f"{url}/mcp"), era=HANDSHAKE):
                pass


@pytest.mark.parametrize("era", ERAS)
async def test_a_greeting_that_is_not_understood_means_another_era(era: str) -> None:
    async def handle(request: web.Request) -> web.StreamResponse:
        return web.Response(status=400, text="Bad Request")

    async with endpoint(handle) as url:
        with raises(NotSpoken):
            async with connect(HttpTarget(f"{url}/mcp"), era=era):
                pass


async def test_keys_are_not_sent_on_to_another_origin() -> None:
    seen: list[str] = []

    async def other(request: web.Request) -> web.StreamResponse:
        seen.append(request.path)
        return web.Response()

    async with endpoint(other) as elsewhere:

        async def handle(request: web.Request) -> web.StreamResponse:
            return web.Response(status=307, headers={"Location": f"{elsewhere}/mcp"})

        async with endpoint(handle) as url:
            with raises(InputError, match="sends us on to"):
                async with connect(HttpTarget(f"{url}/mcp", {"Authorization": "Bearer x"}), era=HANDSHAKE):
                    pass
    assert seen == []


async def test_a_redirect_within_the_origin_is_followed() -> None:
    async def handle(request: web.Request) -> web.StreamResponse:
        if request.path == "/mcp":
            return web.Response(status=307, headers={"Location": "/moved"})
        frame = await request.json()
        return web.json_response(greeting(frame)) if "id" in frame else web.Response(status=202)

    async with endpoint(handle) as url, connect(HttpTarget(f"{url}/mcp"), era=HANDSHAKE) as client:
        assert client.version == HANDSHAKE


async def test_session_and_version_go_with_every_request_and_the_session_is_ended() -> None:
    seen: list[tuple[str, str | None, str | None]] = []

    def note(request: web.Request) -> None:
        seen.append(
            (request.method, request.headers.get("Mcp-Session-Id"), request.headers.get("MCP-Protocol-Version"))
        )

    async def handle(request: web.Request) -> web.StreamResponse:
        note(request)
        return web.json_response({"jsonrpc": "2.0", "id": (await request.json())["id"], "result": {}})

    async def delete(request: web.Request) -> web.StreamResponse:
        note(request)
        return web.Response()

    async with (
        endpoint(greeted(handle), delete=delete) as url,
        connect(HttpTarget(f"{url}/mcp"), era=HANDSHAKE) as client,
    ):
        await client.request("ping")
    assert seen == [("POST", "s1", HANDSHAKE), ("DELETE", "s1", HANDSHAKE)]


async def test_a_stream_that_ends_without_an_answer_is_a_fault_of_that_call_alone() -> None:
    async def handle(request: web.Request) -> web.StreamResponse:
        frame = await request.json()
        if frame["method"] == "ping":
            return web.json_response({"jsonrpc": "2.0", "id": frame["id"], "result": {}})
        return await stream(request, ": nothing\n\n", "data: no json\n\n")

    async with endpoint(greeted(handle)) as url, connect(HttpTarget(f"{url}/mcp"), era=HANDSHAKE) as client:
        with raises(ConnectionLost, match="without an answer"):
            await client.request("tools/list")
        assert client.connection.strays.first == ["no json"]
        assert (await client.request("ping")).result == {}


async def test_a_stream_that_breaks_off_is_taken_up_where_it_ended() -> None:
    resumed: list[str | None] = []

    async def handle(request: web.Request) -> web.StreamResponse:
        note = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": 1}}
        return await stream(request, f"id: 7\nretry: 10\ndata: {json.dumps(note)}\n\n")

    async def get(request: web.Request) -> web.StreamResponse:
        if "Last-Event-ID" not in request.headers:
            return web.Response(status=405)
        resumed.append(request.headers["Last-Event-ID"])
        return await stream(request, 'id: 8\ndata: {"jsonrpc": "2.0", "id": 2, "result": {"tools": []}}\n\n')

    async with endpoint(greeted(handle), get) as url, connect(HttpTarget(f"{url}/mcp"), era=HANDSHAKE) as client:
        exchange = await client.request("tools/list")
    assert exchange.result == {"tools": []} and resumed == ["7"]
    assert [note["params"]["data"] for note in exchange.notifications] == [1]


async def test_the_servers_own_stream_is_heard() -> None:
    async def get(request: web.Request) -> web.StreamResponse:
        return await stream(request, 'data: {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}\n\n')

    async def handle(request: web.Request) -> web.StreamResponse:
        return web.Response(status=500)

    async with endpoint(greeted(handle), get) as url, connect(HttpTarget(f"{url}/mcp"), era=HANDSHAKE) as client:
        assert await client.next_notification("notifications/tools/list_changed") == {
            "method": "notifications/tools/list_changed"
        }
        with raises(HttpRefused, match="500"):
            await client.request("tools/list")


async def test_a_call_over_http_that_is_not_answered_in_time_is_cancelled() -> None:
    cancelled = asyncio.Event()

    async def handle(request: web.Request) -> web.StreamResponse:
        frame = await request.json()
        if frame["method"] == "initialize":
            return web.json_response(greeting(frame))
        if frame["method"] == "tools/call":
            response = await stream(request, ": wait\n\n")
            await cancelled.wait()
            return response
        if frame["method"] == "notifications/cancelled":
            assert frame["params"]["requestId"] == 2
            cancelled.set()
        return web.Response(status=202)

    async with endpoint(handle) as url, connect(HttpTarget(f"{url}/mcp"), era=HANDSHAKE) as client:
        with raises(TimedOut):
            await client.request("tools/call", {"name": "x"}, timeout=0.2)
        await asyncio.wait_for(cancelled.wait(), 10)


@pytest.mark.parametrize("as_stream", [True, False])
async def test_more_than_the_limit_is_refused(as_stream: bool) -> None:
    async def handle(request: web.Request) -> web.StreamResponse:
        big = "x" * (2 * 1024 * 1024)
        return await stream(request, f"data: {big}\n\n") if as_stream else web.Response(text=big)

    limits = ConnectionLimits(frame=1024 * 1024)
    async with (
        endpoint(greeted(handle)) as url,
        connect(HttpTarget(f"{url}/mcp"), era=HANDSHAKE, limits=limits) as client,
    ):
        with raises(ConnectionLost, match=r"too large|more than 1 MiB"):
            await client.request("tools/list")
