"""Worlds and scenarios served as MCP: real sockets, an official client, both protocol eras."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import aiohttp
import httpx
import pytest
from mcp import Client, MCPError, StdioServerParameters
from serving_bakery import bakery_scenario, free_bakery, serving

from simtrain.mcp.serve.ports import Listening
from simtrain.mcp.serve.targets import load_target
from simtrain.runs.episode_host import HostOptions
from simtrain.runs.run_folder import read_run

pytestmark = pytest.mark.slow

ERAS = pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
HEADERS = {"accept": "application/json, text/event-stream"}
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}},
}


@ERAS
async def test_a_world_is_served_with_its_tools_resources_and_prompts(mode: str, tmp_path: Path) -> None:
    async with serving(free_bakery(tmp_path)) as served, Client(f"{served.door.url}/mcp", mode=mode) as client:
        tools = (await client.list_tools()).tools
        assert [tool.name for tool in tools] == ["cakes__list", "cakes__get", "orders__place", "orders__list"]
        assert [tool.annotations and tool.annotations.read_only_hint for tool in tools] == [True, True, False, True]
        listed = await client.call_tool("cakes__list", {})
        assert listed.structured_content is not None and len(listed.structured_content["cakes"]) == 8
        first = listed.structured_content["cakes"][0]
        board = await client.read_resource("bakery://board")
        assert first["name"] in board.contents[0].text
        cake = await client.read_resource(f"bakery://cakes/{first['id']}")
        assert cake.contents[0].text == f"{first['name']} {first['stock']}"
        assert [found.uri_template for found in (await client.list_resource_templates()).resource_templates] == [
            "bakery://cakes/{id}"
        ]
        prompt = await client.get_prompt("sell", {"cake": "Linzer", "tone": "warm"})
        assert prompt.messages[0].content.text == "Sell Linzer in a warm tone."
        with pytest.raises(MCPError, match="Missing required argument: cake"):
            await client.get_prompt("sell", {})
        with pytest.raises(MCPError, match="bakery://nothing"):
            await client.read_resource("bakery://nothing")


@ERAS
async def test_one_server_of_a_world_has_plain_names(mode: str, tmp_path: Path) -> None:
    async with serving(free_bakery(tmp_path)) as served:
        async with Client(f"{served.door.url}/orders/mcp", mode=mode) as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == ["place", "list"]
            refused = await client.call_tool("place", {"cake_id": "K999", "amount": 1})
            assert refused.is_error and refused.content[0].text == "No cake K999."
        async with httpx.AsyncClient() as http:
            unknown = await http.post(f"{served.door.url}/bread/mcp", json=INITIALIZE, headers=HEADERS)
            assert unknown.status_code == 404 and "no server 'bread'" in unknown.text


@ERAS
async def test_two_servers_of_an_episode_share_its_world(mode: str, tmp_path: Path) -> None:
    async with serving(free_bakery(tmp_path)) as served:
        urls = (await served.open())["servers"]
        async with Client(urls["orders"], mode=mode) as orders, Client(urls["cakes"], mode=mode) as cakes:
            cake = (await cakes.call_tool("list", {})).structured_content["cakes"][0]
            await orders.call_tool("place", {"cake_id": cake["id"], "amount": 1})
            after = (await cakes.call_tool("get", {"name": cake["name"]})).structured_content
            assert after["stock"] == cake["stock"] - 1


@ERAS
async def test_an_agent_makes_mistakes_and_is_told(mode: str, tmp_path: Path) -> None:
    async with serving(free_bakery(tmp_path)) as served, Client(f"{served.door.url}/mcp", mode=mode) as client:
        unknown = await client.call_tool("nope", {})
        assert unknown.is_error and unknown.content[0].text == "Unknown tool: nope"
        bad = await client.call_tool("cakes__get", {"name": 3})
        assert bad.is_error and "name: 3 is not of type" in bad.content[0].text


@ERAS
async def test_lists_come_in_pages_with_cursors_that_cannot_be_forged(mode: str, tmp_path: Path) -> None:
    async with (
        serving(free_bakery(tmp_path), page_size=3) as served,
        Client(f"{served.door.url}/mcp", mode=mode) as client,
    ):
        first = await client.list_tools()
        assert len(first.tools) == 3 and first.next_cursor
        assert [tool.name for tool in (await client.list_tools(cursor=first.next_cursor)).tools] == ["orders__list"]
        for forged in ("nonsense", first.next_cursor[:-4] + "AAAA"):
            with pytest.raises(MCPError, match="Invalid cursor"):
                await client.list_tools(cursor=forged)
        with pytest.raises(MCPError, match="Invalid cursor"):
            await client.list_prompts(cursor=first.next_cursor)


async def test_a_scenario_is_played_graded_and_written(tmp_path: Path) -> None:
    scenario = bakery_scenario(tmp_path)
    out = tmp_path / "run"
    async with serving([scenario], out=out) as served:
        episode = await served.open(case=2, seed=0, name="mine")
        assert episode["prompt"].startswith("Order two of") and episode["scenario"] == "birthday"
        halfway = await served.post("/episodes/mine/grade")
        assert halfway["reward"] == 0.0 and halfway["turns"] == []
        async with Client(episode["url"]) as client:
            cake = (await client.call_tool("cakes__get", {"name": episode["case"]["cake"]})).structured_content
            order = (await client.call_tool("orders__place", {"cake_id": cake["id"], "amount": 2})).structured_content
        closed = await served.post("/episodes/mine/close", answer=order["id"])
        assert closed["reward"] == 1.0 and closed["stop"]["reason"] == "answered"
        assert (await served.control.get("/episodes/mine")).status_code == 404
    kept = list(read_run(out))
    assert [(one.scenario, one.reward, len(one.steps)) for one in kept] == [("birthday", 1.0, 2)]
    assert kept[0].agent["name"] == "mcp" and json.loads((out / "summary.json").read_text())["total"]["success"] == 1.0


async def test_episodes_are_forked_inspected_and_queried(tmp_path: Path) -> None:
    async with serving(free_bakery(tmp_path)) as served:
        episode = await served.open(name="first")
        async with Client(episode["url"]) as client:
            cake = (await client.call_tool("cakes__list", {})).structured_content["cakes"][0]
            await client.call_tool("orders__place", {"cake_id": cake["id"], "amount": 1})
            fork = await served.post("/episodes/first/fork", name="second")
            await client.call_tool("orders__place", {"cake_id": cake["id"], "amount": 1})
        counts = [
            (await served.post(f"/episodes/{name}/query", sql="select count(*) as n from ledger"))["rows"][0]["n"]
            for name in ("first", "second")
        ]
        assert counts == [2, 1]
        seen = (await served.control.get("/episodes/second")).json()
        assert seen["steps"] == 2 == len(seen["turns"]) and list(seen["changes"]) == ["cakes", "ledger", "orders"]
        async with Client(fork["url"]) as client:
            again = (await client.call_tool("cakes__get", {"name": cake["name"]})).structured_content
            assert again["stock"] == cake["stock"] - 1
        refused = await served.control.post("/episodes/second/query", json={"sql": "delete from orders"})
        assert refused.status_code == 400 and "SQL" in refused.text


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ({"scenario": "brithday"}, "did you mean"),
        ({"case": 900}, "has no case 900"),
        ({"case": -1}, "case"),
        ({"seeed": 1}, "seeed"),
        ({"name": "../x"}, "name"),
        ("nonsense", "not JSON"),
    ],
)
async def test_the_control_plane_explains_what_is_wrong(body: object, problem: str, tmp_path: Path) -> None:
    async with serving([bakery_scenario(tmp_path)]) as served:
        content = body if isinstance(body, str) else json.dumps(body)
        reply = await served.control.post("/episodes", content=content)
        assert reply.status_code == 400 and problem in reply.json()["error"]


async def test_an_episode_is_reached_by_its_token_alone(tmp_path: Path) -> None:
    async with serving(free_bakery(tmp_path)) as served:
        mine, other = await served.open(token=True), await served.open(token=True)
        async with httpx.AsyncClient(headers=HEADERS) as http:
            for token, status in ((None, 401), (other["token"], 401), (mine["token"], 200)):
                headers = {} if token is None else {"authorization": f"Bearer {token}"}
                reply = await http.post(mine["url"], json=INITIALIZE, headers=headers)
                assert reply.status_code == status, reply.text
            by_token = await http.post(
                f"{served.door.url}/mcp", json=INITIALIZE, headers={"authorization": f"Bearer {mine['token']}"}
            )
            assert by_token.status_code == 200
        assert {held.name for held in served.stage.host} == {mine["episode"], other["episode"]}


async def test_everybody_needs_the_token_of_the_server(tmp_path: Path) -> None:
    async with (
        serving(free_bakery(tmp_path), listening=Listening(token="open sesame")) as served,
        httpx.AsyncClient(headers=HEADERS) as http,
    ):
        refused = await http.post(f"{served.door.url}/mcp", json=INITIALIZE)
        assert refused.status_code == 401 and refused.headers["www-authenticate"] == "Bearer"
        let_in = await http.post(
            f"{served.door.url}/mcp", json=INITIALIZE, headers={"authorization": "Bearer open sesame"}
        )
        assert let_in.status_code == 200


async def test_the_mcp_side_does_not_reach_the_control_plane(tmp_path: Path) -> None:
    async with serving(free_bakery(tmp_path)) as served, httpx.AsyncClient() as http:
        token = {"authorization": f"Bearer {served.door.control_token}"}
        assert (await http.get(f"{served.door.url}/episodes", headers=token)).status_code == 404
        assert (await http.get(f"{served.door.control_url}/episodes")).status_code == 401
        wrong = {"authorization": "Bearer nonsense"}
        assert (await http.post(f"{served.door.control_url}/episodes", headers=wrong)).status_code == 401


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "evil.example"}, 421),
        ({"host": "127.0.0.1.evil.example:80"}, 421),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "http://127.0.0.1@evil.example"}, 403),
        ({"origin": "http://localhost:3000"}, 200),
    ],
)
async def test_foreign_hosts_and_origins_are_refused(headers: dict[str, str], status: int, tmp_path: Path) -> None:
    async with serving(free_bakery(tmp_path)) as served, httpx.AsyncClient() as http:
        reply = await http.post(f"{served.door.url}/mcp", json=INITIALIZE, headers={**HEADERS, **headers})
        assert reply.status_code == status
        if status != 200:
            assert (await http.get(served.door.control_url or "", headers=headers)).status_code == status


async def test_a_request_that_is_too_large_is_refused(tmp_path: Path) -> None:
    async with (
        serving(free_bakery(tmp_path), listening=Listening(max_body=2000)) as served,
        httpx.AsyncClient() as http,
    ):
        large = {**INITIALIZE, "params": {"padding": "x" * 3000}}
        assert (await http.post(f"{served.door.url}/mcp", json=large, headers=HEADERS)).status_code == 413


async def test_an_unknown_episode_is_not_found(tmp_path: Path) -> None:
    async with serving(free_bakery(tmp_path)) as served, httpx.AsyncClient() as http:
        reply = await http.post(f"{served.door.url}/w/nobody/mcp", json=INITIALIZE, headers=HEADERS)
        assert reply.status_code == 404 and "no such episode" in reply.text


async def test_idle_episodes_are_closed_and_written(tmp_path: Path) -> None:
    scenario = bakery_scenario(tmp_path)
    async with serving([scenario], HostOptions(idle=0.2), out=tmp_path / "run") as served:
        episode = await served.open()
        async with Client(episode["url"]) as client:
            await client.call_tool("cakes__list", {})
        async with asyncio.timeout(20):
            while served.stage.host.find(episode["episode"]) is not None:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
    assert [len(one.steps) for one in read_run(tmp_path / "run")] == [1]


async def test_the_limits_of_a_scenario_hold_for_agents_outside(tmp_path: Path) -> None:
    async with serving([bakery_scenario(tmp_path, more="limits: {turns: 30, calls: 2}\n")]) as served:
        episode = await served.open(name="short")
        async with Client(episode["url"]) as client:
            for _ in range(2):
                assert not (await client.call_tool("cakes__list", {})).is_error
            for _ in range(2):
                over = await client.call_tool("cakes__list", {})
                assert over.is_error and "the episode is over" in over.content[0].text
        closed = await served.post("/episodes/short/close", answer="O0001")
        assert closed["stop"]["reason"] == "budget"


@ERAS
async def test_a_session_of_one_episode_says_nothing_of_another(mode: str, tmp_path: Path) -> None:
    async with serving(free_bakery(tmp_path)) as served:
        first, second = await served.open(), await served.open()
        async with Client(first["url"], mode=mode) as one, Client(second["url"], mode=mode) as two:
            cake = (await one.call_tool("cakes__list", {})).structured_content["cakes"][0]
            await one.call_tool("orders__place", {"cake_id": cake["id"], "amount": 1})
            untouched = (await two.call_tool("cakes__get", {"name": cake["name"]})).structured_content
            assert untouched["stock"] == cake["stock"]


@ERAS
async def test_over_stdio_a_world_answers_and_its_trajectory_is_kept(mode: str, tmp_path: Path) -> None:
    free_bakery(tmp_path)
    out = tmp_path / "run"
    words = ["-m", "simtrain", "serve", "free.yaml", "--stdio", "--server", "cakes", "--out", str(out)]
    server = StdioServerParameters(command=sys.executable, args=words, cwd=str(tmp_path))
    async with Client(server, mode=mode) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["list", "get"]
        assert not (await client.call_tool("list", {})).is_error
    assert [len(one.steps) for one in read_run(out)] == [1]


NOTEBOOK = """\
kind: service
name: notebook
schema: "create table notes (id integer primary key, text text not null);"
tools:
  - {name: put, description: Write a note., input: {text: string}, write: [insert into notes (text) values (:text)]}
  - {name: list, description: All notes., input: {}, read: {notes: "select id, text from notes order by id"}}
"""


class Guest:
    """A client that speaks plain HTTP, in one era or the other."""

    def __init__(self, http: aiohttp.ClientSession, url: str, *, modern: bool) -> None:
        self.http, self.url, self.modern = http, url, modern
        self.session: str | None = None

    async def call(self, tool: str, arguments: dict[str, str]) -> dict[str, Any]:
        """Make one call; the structured content of its reply."""
        params: dict[str, Any] = {"name": tool, "arguments": arguments}
        headers: dict[str, str] = {}
        if self.modern:
            params["_meta"] = {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
            }
            headers = {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": tool}
        else:
            if self.session is None:
                async with self.http.post(self.url, json=INITIALIZE) as greeted:
                    self.session = greeted.headers["mcp-session-id"]
            headers = {"mcp-protocol-version": "2025-11-25", "mcp-session-id": self.session}
        identity = f"{tool} {arguments}"
        frame = {"jsonrpc": "2.0", "id": identity, "method": "tools/call", "params": params}
        async with self.http.post(self.url, json=frame, headers=headers) as reply:
            assert reply.status == 200, await reply.text()
            said = await reply.json()
        assert said["id"] == identity
        return said["result"]["structuredContent"]


@pytest.mark.full
async def test_two_hundred_episodes_with_eight_clients_each_keep_their_own_state(tmp_path: Path) -> None:
    path = tmp_path / "notebook.yaml"
    path.write_text(NOTEBOOK)
    async with serving(load_target(str(path))) as served:
        urls = [(await served.open(name=f"e{number}"))["url"] for number in range(200)]
        async with aiohttp.ClientSession(headers=HEADERS, connector=aiohttp.TCPConnector(limit=64)) as http:

            async def visit(episode: int, client: int) -> None:
                guest, marker = Guest(http, urls[episode], modern=client % 2 == 0), f"episode {episode} client {client}"
                assert await guest.call("put", {"text": marker}) == {"ok": True}
                notes = [note["text"] for note in (await guest.call("list", {}))["notes"]]
                assert marker in notes
                assert all(note.startswith(f"episode {episode} client ") for note in notes)

            await asyncio.gather(*(visit(episode, client) for client in range(8) for episode in range(200)))
        for number in range(200):
            held = served.stage.host.find(f"e{number}")
            assert held is not None and len(held.environment.steps) == 16
            rows = held.environment.finished().final.query("select text from notes order by text")
            assert [row["text"] for row in rows] == [f"episode {number} client {client}" for client in range(8)]


@ERAS
async def test_a_recording_is_a_stand_in_at_once(mode: str, tmp_path: Path) -> None:
    recording = tmp_path / "shelf.jsonl"
    free_bakery(tmp_path)
    served = [sys.executable, "-m", "simtrain", "serve", "free.yaml", "--stdio", "--server", "orders"]
    relay = ["-m", "simtrain", "relay", "--record", str(recording), "--", *served]
    server = StdioServerParameters(command=sys.executable, args=relay, cwd=str(tmp_path))
    async with Client(server, mode=mode) as client:
        await client.list_tools()
        before = (await client.call_tool("list", {"cake_id": "K001"})).structured_content
        placed = (await client.call_tool("place", {"cake_id": "K001", "amount": 1})).structured_content
        after = (await client.call_tool("list", {"cake_id": "K001"})).structured_content
    assert before != after
    async with serving(load_target(str(recording))) as stand_in:
        for _ in range(2):
            episode = await stand_in.open()
            async with Client(episode["url"], mode=mode) as client:
                assert [tool.name for tool in (await client.list_tools()).tools] == ["place", "list"]
                assert (await client.call_tool("list", {"cake_id": "K001"})).structured_content == before
                assert (await client.call_tool("place", {"cake_id": "K001", "amount": 1})).structured_content == placed
                assert (await client.call_tool("list", {"cake_id": "K001"})).structured_content == after
                missed = await client.call_tool("list", {"cake_id": "K002"})
                assert missed.is_error and "not supported by this simulated server" in missed.content[0].text


async def test_what_went_wrong_inside_is_told_to_whoever_serves_and_not_to_the_agent(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    more = "world_models: [{tools: '*', use: scripted, with: {answers: [{tool: cakes.list, text: '{}'}]}}]\n"
    async with serving([bakery_scenario(tmp_path, more=more)]) as served:
        episode = await served.open(name="lost")
        async with Client(episode["url"]) as client:
            with pytest.raises(MCPError, match="Internal error") as met:
                await client.call_tool("cakes__get", {"name": "Linzer"})
        assert met.value.error.data is None
        facts = (await served.control.get("/episodes/lost")).json()
        assert facts["stop"] == "failed" and "no scripted answer is left for cakes.get" in facts["detail"]
    assert "no scripted answer is left for cakes.get" in caplog.text
