"""Every stand-in that ships is listed by the clients that people use: the Python SDK, the TypeScript SDK and the Inspector."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from serving_bakery import serving

from simtrain.mcp.serve.targets import load_target
from simtrain.worlds.service import spec
from tests.mcp.test_clients import inspect, javascript, run

pytestmark = pytest.mark.full

SHOWN = {
    "filesystem": (14, 0, 0),
    "memory": (9, 1, 0),
    "sequential_thinking": (1, 0, 0),
    "git": (12, 0, 0),
    "fetch": (1, 0, 1),
    "time": (2, 0, 0),
    "sqlite": (6, 1, 1),
    "tracker": (24, 0, 0),
    "messenger": (29, 0, 0),
    "notes": (24, 0, 0),
    "mailbox": (27, 0, 0),
}
"""Stand-in -> how many tools, resources and prompts it lists."""

LISTS = ("tools", "resources", "prompts")


async def with_python(url: str, mode: str) -> dict[str, list[str]]:
    async with Client(url, mode=mode) as client:
        can = client.server_capabilities
        resources = (await client.list_resources()).resources if can.resources else []
        prompts = (await client.list_prompts()).prompts if can.prompts else []
        tools = (await client.list_tools()).tools
    return {name: [item.name for item in items] for name, items in zip(LISTS, (tools, resources, prompts), strict=True)}


async def with_typescript(folder: Path, *urls: str) -> tuple[int, dict[str, Any], str]:
    code, out, err = await run(*javascript("list.mjs")(folder), *urls, folder=folder)
    return code, json.loads(out) if code == 0 else {}, err


async def with_the_inspector(folder: Path, url: str, lists: list[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {name: [] for name in LISTS}
    for name in lists:
        words = (url, "--transport", "http", "--method", f"{name}/list", *(("--strict",) if name == "tools" else ()))
        code, said = await inspect(folder, *words)
        assert code == 0, said
        found[name] = [item["name"] for item in said[name]]
    return found


async def test_every_stand_in_is_listed_by_every_client(tmp_path: Path) -> None:
    scenarios = [scenario for world in SHOWN for scenario in load_target(world)]
    async with serving(scenarios) as served:
        urls = {world: (await served.open(scenario=world))["url"] for world in SHOWN}
        first = {world: await with_python(url, "legacy") for world, url in urls.items()}
        assert {world: tuple(len(shown[name]) for name in LISTS) for world, shown in first.items()} == SHOWN
        assert {world: await with_python(url, "auto") for world, url in urls.items()} == first
        code, met, err = await with_typescript(tmp_path, *urls.values())
        assert code == 0, err
        assert {world: met[url] for world, url in urls.items()} == first
        for world, url in urls.items():
            lists = [name for name in LISTS if first[world][name]]
            assert await with_the_inspector(tmp_path, url, lists) == first[world]


async def test_a_hint_that_is_no_boolean_would_be_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spec, "flaw_of", lambda _: None)
    path = tmp_path / "odd.yaml"
    path.write_text(
        "kind: service\nname: odd\nschema: create table t (a text);\n"
        "tools: [{name: list_a, description: All., read: select a from t, descriptor: {annotations: {readOnlyHint: 0}}}]\n"
    )
    async with serving(load_target(str(path))) as served:
        url = (await served.open())["url"]
        code, _, err = await with_typescript(tmp_path, url)
        assert code != 0 and "readOnlyHint" in err
        code, said = await inspect(tmp_path, url, "--transport", "http", "--method", "tools/list")
        # It passes over what it cannot read.
        assert (code, said["tools"]) == (0, [])
