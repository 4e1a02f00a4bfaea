"""Reads of resources and prompts over MCP: steps of the episode, which perturbations bend and the trajectory records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError
from serving_bakery import bakery_scenario, serving

from simtrain.contracts.trajectory import Step
from simtrain.mcp.serve.targets import load_target
from simtrain.mcp_wire.manifest import Exchange, Manifest, ServerManifest, Surface, write_manifest
from simtrain.runs.episode_host import HostOptions

pytestmark = pytest.mark.slow

ERAS = pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
BOARD, SELL = "resources/read", "prompts/get"


def bent(*perturbations: str) -> str:
    return "perturbations:\n" + "".join(f"  - {item}\n" for item in perturbations)


async def steps_of(served: Any, name: str) -> list[Step]:
    return list(served.stage.host.find(name).environment.steps)


@ERAS
async def test_reads_are_steps_beside_calls(mode: str, tmp_path: Path) -> None:
    async with serving([bakery_scenario(tmp_path)]) as served:
        mine = await served.open()
        async with Client(mine["url"], mode=mode) as client:
            board = (await client.read_resource("bakery://board")).contents[0].text
            await client.call_tool("cakes__list", {})
            await client.get_prompt("sell", {"cake": "Linzer"})
            with pytest.raises(MCPError, match="bakery://nothing"):
                await client.read_resource("bakery://nothing")
        steps = await steps_of(served, mine["episode"])
        assert [(step.action.tool, step.action.arguments) for step in steps] == [
            (BOARD, {"uri": "bakery://board"}),
            ("cakes.list", {}),
            (SELL, {"name": "sell", "arguments": {"cake": "Linzer"}}),
            (BOARD, {"uri": "bakery://nothing"}),
        ]
        assert [step.observation.is_error for step in steps] == [False, False, False, True]
        assert (steps[0].observation.text, steps[2].observation.text) == (board, "Sell Linzer.")
        graded = await served.post(f"/episodes/{mine['episode']}/close", answer="x")
        assert [step["action"]["tool"] for turn in graded["turns"] for step in turn["steps"]][:2] == [
            BOARD,
            "cakes.list",
        ]


@ERAS
async def test_perturbations_bend_reads_and_are_recorded(mode: str, tmp_path: Path) -> None:
    more = bent(
        "{use: transient_error, when: {tools: resources/read, nth: 1}}",
        "{use: truncated_output, with: {keep: 0.5}, when: {tools: resources/read, nth: 2}}",
        "{use: truncated_output, as: cut_prompt, with: {keep: 0.5, marker: '...'}, when: {tools: prompts/get}}",
        "{use: latency, with: {seconds: 900}, when: {tools: resources/read, nth: 3}}",
    )
    async with serving([bakery_scenario(tmp_path, more=more)]) as served:
        mine = await served.open()
        async with Client(mine["url"], mode=mode) as client:
            with pytest.raises(MCPError, match=r"5\d\d"):
                await client.read_resource("bakery://board")
            cut = (await client.read_resource("bakery://board")).contents[0]
            whole = (await client.read_resource("bakery://board")).contents[0]
            prompt = (await client.get_prompt("sell", {"cake": "Linzer"})).messages[0]
        assert cut.text == whole.text[: len(whole.text) // 2] + "... [truncated]"
        assert (cut.uri, cut.mime_type) == (whole.uri, whole.mime_type)
        assert (prompt.role, prompt.content.text) == ("user", "Sell L...")
        steps = await steps_of(served, mine["episode"])
        assert [[event.label for event in step.events] for step in steps] == [
            ["transient_error"],
            ["truncated_output"],
            ["latency"],
            ["cut_prompt"],
        ]
        assert steps[1].events[0].clean is not None and steps[1].events[0].clean.text == whole.text
        assert steps[3].clock > steps[2].clock[:14] + "15"


async def test_a_perturbation_of_tools_alone_meets_no_read(tmp_path: Path) -> None:
    more = bent("{use: transient_error, when: {tools: 'cakes.*', nth: 1}}")
    async with serving([bakery_scenario(tmp_path, more=more)]) as served, Client(f"{served.door.url}/mcp") as client:
        assert (await client.read_resource("bakery://board")).contents
        assert (await client.call_tool("cakes__list", {})).is_error


@ERAS
async def test_a_late_read_is_a_timeout_and_one_after_the_end_is_refused(mode: str, tmp_path: Path) -> None:
    more = bent("{use: latency, with: {seconds: 900}, when: {nth: 1}}") + "limits: {turns: 9, calls: 2, call: 60}\n"
    async with (
        serving([bakery_scenario(tmp_path, more=more)]) as served,
        Client(served.door.url + "/mcp", mode=mode) as client,
    ):
        with pytest.raises(MCPError, match="timed out after 60 seconds"):
            await client.read_resource("bakery://board")
        await client.read_resource("bakery://board")
        with pytest.raises(MCPError, match="the episode is over"):
            await client.read_resource("bakery://board")


async def test_reads_of_one_server_bear_its_name(tmp_path: Path) -> None:
    more = bent("{use: transient_error, when: {tools: 'orders.*', nth: 1}}")
    async with serving([bakery_scenario(tmp_path, more=more)]) as served:
        mine = await served.open()
        async with Client(mine["servers"]["orders"]) as orders, Client(mine["servers"]["cakes"]) as cakes:
            assert (await cakes.read_resource("bakery://board")).contents
            with pytest.raises(MCPError):
                await orders.read_resource("bakery://board")
        assert [step.action.tool for step in await steps_of(served, mine["episode"])] == [
            f"cakes.{BOARD}",
            f"orders.{BOARD}",
        ]


def captured(path: Path) -> Path:
    """A manifest of a server with a picture that comes with progress, and a text with members that nobody knows."""
    capabilities = {"tools": {}, "resources": {}}
    listed = {"resources": [{"uri": "art://sun", "name": "sun"}, {"uri": "art://note", "name": "note"}]}
    tool = {"name": "look", "inputSchema": {"type": "object"}}
    greeting = {
        "protocolVersion": "2025-11-25",
        "capabilities": capabilities,
        "serverInfo": {"name": "art", "version": "1"},
    }
    surface = Surface("2025-11-25", {}, greeting, {"tools/list": ({"tools": [tool]},), "resources/list": (listed,)})
    sun = {"uri": "art://sun", "mimeType": "image/png", "blob": "aGVsbG8="}
    note = {"uri": "art://note", "text": "one two three four", "_meta": {"odd": [1, {"a": None}]}}
    exchanges = tuple(
        Exchange("resources/read", {"uri": item["uri"]}, {"result": {"contents": [item, *more]}}, "2025-11-25")
        for item, more in ((sun, []), (note, [sun]))
    )
    seen = {"result": {"content": [{"type": "text", "text": "a sun"}]}}
    exchanges += (Exchange("tools/call", {"name": "look", "arguments": {}}, seen, "2025-11-25"),)
    write_manifest(Manifest({"art": ServerManifest("art", {"command": ["art"]}, (surface,), exchanges)}), path)
    return path


@ERAS
async def test_captured_reads_are_replayed_and_bent_without_losing_the_rest(mode: str, tmp_path: Path) -> None:
    pack = tmp_path / "faults.yaml"
    pack.write_text(
        "name: faults\n"
        + bent("{use: truncated_output, with: {keep: 0.5}, when: {tools: 'art.resources/read', nth: 3}}")
    )
    scenarios = load_target(str(captured(tmp_path / "art.json")), packs=[str(pack)])
    async with serving(scenarios, HostOptions()) as served:
        mine = await served.open()
        async with Client(mine["url"], mode=mode) as client:
            sun = (await client.read_resource("art://sun")).contents[0]
            note = (await client.read_resource("art://note")).contents
            cut = (await client.read_resource("art://note")).contents
        assert sun.blob == "aGVsbG8=" and note[0].meta == {"odd": [1, {"a": None}]}
        assert cut[0].text == "one two three f... [truncated]" and cut[0].meta == note[0].meta and cut[1] == note[1]
        texts = [step.observation.text for step in await steps_of(served, mine["episode"])]
        assert texts == ["[image/png]", "one two three four\n[image/png]", cut[0].text]


async def test_the_world_is_not_asked_what_a_recording_would_have_answered(tmp_path: Path) -> None:
    pack = tmp_path / "faults.yaml"
    pack.write_text("name: faults\n" + bent("{use: transient_error, when: {nth: 1}}"))
    async with serving(load_target(str(captured(tmp_path / "art.json")), packs=[str(pack)])) as served:
        mine = await served.open()
        async with Client(mine["url"]) as client:
            assert (await client.call_tool("look", {})).is_error
            assert (await client.call_tool("look", {})).content[0].text == "a sun"
        (failed, _) = await steps_of(served, mine["episode"])
        assert failed.events[0].clean is None


def recorded(path: Path) -> Path:
    """A recording of a server that speaks the handshake era alone, with a client that first asked it for the other one."""
    capabilities = {"tools": {}, "resources": {}}
    greeting = {
        "protocolVersion": "2025-11-25",
        "capabilities": capabilities,
        "serverInfo": {"name": "art", "version": "1"},
    }
    modern = {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}
    said: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
        ("server/discover", modern, {"error": {"code": -32601, "message": "Method not found"}}),
        ("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}}, {"result": greeting}),
        ("tools/list", {}, {"result": {"tools": [{"name": "look", "inputSchema": {"type": "object"}}]}}),
        ("resources/read", {"uri": "art://sun"}, {"result": {"contents": [{"uri": "art://sun", "text": "bright"}]}}),
    ]
    lines: list[dict[str, Any]] = [{"format": "simtrain-recording/1", "server": "art", "transport": "stdio"}]
    for number, (method, params, response) in enumerate(said):
        for sender, more in (("client", {"method": method, "params": params}), ("server", response)):
            frame = {"jsonrpc": "2.0", "id": number, **more}
            lines.append({"n": len(lines), "t": 0.0, "from": sender, "session": None, "frame": frame})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.mark.parametrize("mode", ["auto", "legacy", "2026-07-28"])
async def test_a_recording_of_one_era_answers_reads_in_both(mode: str, tmp_path: Path) -> None:
    async with (
        serving(load_target(str(recorded(tmp_path / "art.jsonl")))) as served,
        Client(f"{served.door.url}/mcp", mode=mode) as client,
    ):
        assert [tool.name for tool in (await client.list_tools()).tools] == ["look"]
        assert (await client.read_resource("art://sun")).contents[0].text == "bright"
