"""Sessions of the handshake era: what they hold goes with their episode, and new ones always find room."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path
from typing import Any

import httpx
import pytest
from serving_bakery import free_bakery, serving

from simtrain.mcp.serve.addresses import NamedHandlers
from simtrain.mcp_wire.http_server import http_endpoint

pytestmark = pytest.mark.slow

HEADERS = {"accept": "application/json, text/event-stream"}
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}},
}
PING = {"jsonrpc": "2.0", "id": 2, "method": "ping"}


async def opened(http: httpx.AsyncClient, url: str) -> dict[str, str]:
    """The headers of a new session, which nobody ever ends."""
    greeted = await http.post(url, json=INITIALIZE, headers=HEADERS)
    assert greeted.status_code == 200, greeted.text
    return {**HEADERS, "mcp-session-id": greeted.headers["mcp-session-id"], "mcp-protocol-version": "2025-11-25"}


@pytest.mark.full
async def test_a_closed_episode_leaves_nothing_behind(tmp_path: Path) -> None:
    async with serving(free_bakery(tmp_path)) as served, httpx.AsyncClient(timeout=60) as http:
        kept: list[weakref.ref[Any]] = []
        for number in range(40):
            episode = await served.open(name=f"e{number}")
            sessions = [await opened(http, url) for url in (episode["url"], *episode["servers"].values())]
            held = served.stage.host.find(f"e{number}")
            assert held is not None
            kept.append(weakref.ref(held))
            del held
            await served.post(f"/episodes/e{number}/close")
            for headers in sessions:
                assert (await http.post(episode["url"], json=PING, headers=headers)).status_code == 404
        gc.collect()
        # Cancelled timers of the event loop, of which it keeps up to a hundred, may still know the last few.
        assert sum(reference() is not None for reference in kept) < 20


async def test_the_session_that_was_unused_for_longest_makes_room(tmp_path: Path) -> None:
    async with serving(free_bakery(tmp_path)) as served:
        handler = served.stage.handlers.of(await served.stage.open_default())
        async with http_endpoint(json_replies=True, max_sessions=3) as endpoint:
            transport = httpx.ASGITransport(NamedHandlers(endpoint, {"a": handler}))
            async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
                first, second, third = [await opened(http, "/w/a/mcp") for _ in range(3)]
                await http.post("/w/a/mcp", json=PING, headers=first)
                fourth = await opened(http, "/w/a/mcp")
                found = [
                    (await http.post("/w/a/mcp", json=PING, headers=headers)).status_code
                    for headers in (first, second, third, fourth)
                ]
                assert found == [200, 404, 200, 200] and len(endpoint) == 3
                assert (await http.delete("/w/a/mcp", headers=third)).status_code == 200 and len(endpoint) == 2


@pytest.mark.parametrize("json_replies", [True, False])
@pytest.mark.parametrize("event", ["nothing", "1-0123456789abcdef"])
async def test_a_stream_cannot_be_taken_up_after_an_event_that_nobody_knows(
    json_replies: bool, event: str, tmp_path: Path
) -> None:
    async with serving(free_bakery(tmp_path)) as served:
        handler = served.stage.handlers.of(await served.stage.open_default())
        async with http_endpoint(json_replies=json_replies) as endpoint:
            transport = httpx.ASGITransport(NamedHandlers(endpoint, {"a": handler}))
            async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
                session = {**await opened(http, "/w/a/mcp"), "last-event-id": event}
                refused = await http.get("/w/a/mcp", headers=session)
                assert (refused.status_code, refused.json()["error"]["message"]) == (400, "Unknown event ID")
                unknown = await http.get("/w/a/mcp", headers={**session, "mcp-session-id": "0" * 32})
                assert unknown.status_code == 404
