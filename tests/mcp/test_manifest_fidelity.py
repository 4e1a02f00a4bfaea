"""Manifests of real servers, served again: every byte of what they say of themselves, and their own words for mistakes."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import real_servers
from real_manifests import real_commands, real_folder, real_manifest
from serving_bakery import serving

from simtrain.mcp.serve.targets import load_target
from simtrain.mcp_wire.client import Client, connect
from simtrain.mcp_wire.eras import HANDSHAKE
from simtrain.mcp_wire.manifest import (
    LISTED,
    NO_METHOD,
    NO_PROMPT,
    NO_RESOURCE,
    NO_TOOL,
    Exchange,
    Manifest,
    ServerManifest,
    Surface,
    write_manifest,
)
from simtrain.mcp_wire.targets import HttpTarget, StdioTarget
from simtrain.runs.run_folder import read_run
from simtrain.scenarios.ad_hoc import native_server
from simtrain.values.types import JsonObject
from simtrain.worlds.recorded.error_profile import PLACEHOLDERS

pytestmark = pytest.mark.slow

__all__ = ["real_folder", "real_manifest"]

BY_SERVER = pytest.mark.parametrize("name", real_servers.SERVERS)

ONES_THAT_CHECK = tuple(name for name in real_servers.SERVERS if name not in ("notion", "playwright"))
"""Servers that look at arguments before anything else: the others call a service, or start a browser."""


def said(value: object) -> str:
    """A value as text in which the order of keys counts, and 1.0 is not 1."""
    return json.dumps(value, separators=(",", ":"))


async def shown(client: Client) -> dict[str, Any]:
    """What a server says of itself to a client: greeting and list pages, and its refusal of lists that it does not give."""
    found: dict[str, Any] = {"greeting": client.greeting}
    for method in LISTED:
        if method.partition("/")[0] in client.greeting["capabilities"]:
            first = await client.request(method, {})
            found[method] = await client.list(method) if "result" in first.response else first.response
    return found


def captured(server: ServerManifest, surface: Surface) -> dict[str, Any]:
    """The same, from the manifest."""
    lists = {method: list(surface.lists[method]) for method in LISTED if method in surface.lists}
    refused = {
        each.method: each.response
        for each in server.exchanges
        if each.method in LISTED and each.era == surface.era and each.method not in lists
    }
    every: dict[str, Any] = lists | refused
    return {"greeting": surface.greeting} | {method: every[method] for method in LISTED if method in every}


@asynccontextmanager
async def all_served(manifest: Manifest, folder: Path) -> AsyncGenerator[dict[str, str]]:
    """The servers of a manifest over HTTP, in one episode: name and URL."""
    path = folder / "servers.json"
    write_manifest(manifest, path)
    async with serving(load_target(str(path))) as running:
        urls = (await running.open())["servers"]
        yield {name: urls[native_server(name)] for name in manifest.servers}


async def test_over_http_every_server_of_a_manifest_says_what_the_real_one_said(
    real_manifest: Manifest, tmp_path: Path
) -> None:
    async with all_served(real_manifest, tmp_path) as urls:
        for name, server in real_manifest.servers.items():
            for surface in server.surfaces:
                target = HttpTarget(urls[name], {})
                async with connect(target, era=surface.era, capabilities=surface.capabilities) as client:
                    assert said(await shown(client)) == said(captured(server, surface)), (name, surface.era)


@BY_SERVER
async def test_over_stdio_a_manifest_says_what_the_real_server_said(
    name: str, real_manifest: Manifest, tmp_path: Path
) -> None:
    server = real_manifest.servers[name]
    path = tmp_path / "one.json"
    write_manifest(Manifest({name: server}), path)
    words = (sys.executable, "-m", "simtrain", "serve", str(path), "--stdio")
    # The plainest and the ablest client of each era; those between differ in nothing but the surface.
    kinds = {(surface.era, number == 0): surface for number, surface in enumerate(server.surfaces)}

    async def compare(surface: Surface) -> None:
        target = StdioTarget(words, None, Path.cwd())
        async with connect(target, era=surface.era, capabilities=surface.capabilities, timeout=60) as client:
            assert said(await shown(client)) == said(captured(server, surface))

    await asyncio.gather(*(compare(surface) for surface in kinds.values()))


def renamed(response: JsonObject, old: str, new: str) -> JsonObject:
    """A captured response as it would have been with another name."""
    return json.loads(json.dumps(response).replace(json.dumps(old)[1:-1], json.dumps(new)[1:-1]))


def names_in(exchange: Exchange) -> tuple[object, ...]:
    """All that a request may name."""
    return exchange.method, exchange.params.get("uri"), exchange.params.get("name")


def channel(response: JsonObject) -> tuple[Any, ...]:
    """What a client makes of a response: an error's code, message and data, or whether a result is an error, and its texts."""
    if "error" in response:
        return ("error", response["error"])
    texts = [block["text"] for block in response["result"].get("content", [])]
    return ("result", response["result"].get("isError", False), texts)


@BY_SERVER
async def test_mistakes_are_answered_as_the_real_server_answered_them(
    name: str, real_manifest: Manifest, tmp_path: Path
) -> None:
    server = real_manifest.servers[name]
    others = {NO_METHOD: "other/thing", NO_RESOURCE: "simtrain://other", NO_PROMPT: "another"}
    assert set(others) == set(PLACEHOLDERS.values())
    async with all_served(Manifest({name: server}), tmp_path) as urls:
        for era in dict.fromkeys(surface.era for surface in server.surfaces):
            mistakes = [each for each in server.exchanges if each.era == era]
            async with connect(HttpTarget(urls[name], {}), era=era) as client:
                unknown = await client.request("tools/call", {"name": "drop_it", "arguments": {"a": 1}})
                made = next(each for each in mistakes if NO_TOOL in names_in(each))
                expected = renamed(made.response, NO_TOOL, "drop_it")
                assert channel(unknown.response) == channel(expected)
                for probe, other in others.items():
                    for exchange in (each for each in mistakes if probe in names_in(each)):
                        asked = renamed({"method": exchange.method, "params": exchange.params}, probe, other)
                        answer = await client.request(asked["method"], asked["params"])
                        assert channel(answer.response) == channel(renamed(exchange.response, probe, other))


def wrong_arguments(server: ServerManifest) -> Iterator[tuple[str, JsonObject]]:
    """Calls that no tool can carry out: without the arguments it must have, and with a list where it must have a text."""
    for tool in server.surface(HANDSHAKE, {}).items("tools/list"):
        if tool.get("execution", {}).get("taskSupport") == "required":
            # A plain call of it is refused before anybody looks at the arguments.
            continue
        schema = tool["inputSchema"]
        required = schema.get("required", [])
        if required:
            yield tool["name"], {}
            yield tool["name"], {"surplus": 1}
        for key in required:
            if schema["properties"][key].get("type") == "string":
                yield tool["name"], {key: ["no text"]}


@pytest.mark.parametrize("name", ONES_THAT_CHECK)
async def test_bad_arguments_of_every_tool_are_worded_as_the_real_server_words_them(
    name: str, real_manifest: Manifest, real_folder: Path, tmp_path: Path
) -> None:
    server = real_manifest.servers[name]
    real = StdioTarget(tuple(real_commands(real_folder)[name]), None, None)
    calls = list(wrong_arguments(server))
    assert calls
    async with (
        all_served(Manifest({name: server}), tmp_path) as urls,
        connect(real, era=HANDSHAKE, timeout=60) as original,
        connect(HttpTarget(urls[name], {}), era=HANDSHAKE) as copy,
    ):
        for tool, arguments in calls:
            params = {"name": tool, "arguments": arguments}
            expected, found = await original.request("tools/call", params), await copy.request("tools/call", params)
            assert channel(found.response) == channel(expected.response), (tool, arguments)


async def test_half_characters_and_endless_numbers_go_over_both_transports(tmp_path: Path) -> None:
    half, tool = "half \ud83d of it", "get"
    listed: JsonObject = {
        "tools": [{"name": tool, "description": half, "inputSchema": {"type": "object"}}],
        "n": 2**70,
        "x": 1.0,
    }
    greeting: JsonObject = {"protocolVersion": HANDSHAKE, "capabilities": {"tools": {}}, "serverInfo": {"name": "a"}}
    reply: JsonObject = {"result": {"content": [{"type": "text", "text": half}]}}
    call = Exchange("tools/call", {"name": tool, "arguments": {}}, reply, HANDSHAKE)
    surface = Surface(HANDSHAKE, {}, greeting, {"tools/list": (listed,)})
    write_manifest(Manifest({"a": ServerManifest("a", {}, (surface,), (call,))}), tmp_path / "a.json")
    words = (sys.executable, "-m", "simtrain", "serve", str(tmp_path / "a.json"), "--stdio")
    async with serving(load_target(str(tmp_path / "a.json")), out=tmp_path / "run") as running:
        # The SDK cannot write half a character over HTTP; over standard output it goes as it came.
        for target, change in (
            (StdioTarget(words, None, Path.cwd()), "\ud83d"),
            (HttpTarget(f"{running.door.url}/mcp", {}), "?"),
        ):
            async with connect(target, era=HANDSHAKE, timeout=60) as client:
                assert said(await client.list("tools/list")) == said([listed]).replace("\\ud83d", said(change)[1:-1])
                answer = await client.request("tools/call", call.params)
                # A reply to a call is recorded, which half a character cannot be.
                assert said(answer.response) == said(reply).replace("\\ud83d", "?")
    assert [len(one.steps) for one in read_run(tmp_path / "run")] == [1]
