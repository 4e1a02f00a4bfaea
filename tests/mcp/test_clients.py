"""Clients of other people in a served world: each lists, reads, writes, is refused and reads a resource."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import real_servers
from bakery import WORLD
from mcp import Client, StdioServerParameters
from serving_bakery import SHELF, free_bakery, serving

from simtrain.runs.run_folder import read_run

pytestmark = pytest.mark.full

SCRIPTS = Path(__file__).parents[1] / "support" / "clients"
LIMIT = 120
"""Seconds that one client may take."""

TOOLS = ["cakes__list", "cakes__get", "orders__place", "orders__list"]

Command = Callable[[Path], list[str]]
"""The beginning of a command line that ends with a URL, or with the command of a server."""


def javascript(script: str, *words: str) -> Command:
    """A script of ours that imports from the npm group `client`."""

    def command(folder: Path) -> list[str]:
        here = folder / "javascript"
        if not here.exists():
            here.mkdir()
            (here / "node_modules").symlink_to(real_servers.npm_folder("client") / "node_modules")
            for path in SCRIPTS.glob("*.mjs"):
                shutil.copy(path, here)
        return [real_servers.node(), str(here / script), *words]

    return command


def python(script: str, group: str) -> Command:
    """A script of ours in the Python of a pip group."""
    return lambda folder: [real_servers.pip_python(group), str(SCRIPTS / script)]


CLIENTS = {
    "python-1": python("first_sdk.py", "first-sdk"),
    "langchain": python("adapters.py", "langchain"),
    "javascript-1": javascript("sdk.mjs"),
    "javascript-2-legacy": javascript("client.mjs", "legacy"),
    "javascript-2-auto": javascript("client.mjs", "auto"),
}

BY_CLIENT = pytest.mark.parametrize("client", CLIENTS)
ERAS = pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])


async def run(*words: str, folder: Path, home: Path | None = None) -> tuple[int, str, str]:
    """A command in a process of its own: exit code, standard output, standard error."""
    settings = {**os.environ, **({"HOME": str(home)} if home else {})}
    process = await asyncio.create_subprocess_exec(
        *words, cwd=folder, env=settings, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    try:
        async with asyncio.timeout(LIMIT):
            out, err = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return process.returncode or 0, out.decode(), err.decode()


def served_on_stdio(folder: Path) -> list[str]:
    """The command of a server on standard input and output, whose trajectory is in `run` at the end."""
    (folder / "free.yaml").write_text(WORLD + SHELF)
    words = ["serve", str(folder / "free.yaml"), "--stdio", "--out", str(folder / "run")]
    return [sys.executable, "-m", "simtrain", *words]


def check(met: dict[str, Any], steps: list[Any]) -> None:
    """What a client met, and what the episode recorded of it."""
    assert met["tools"] == TOOLS
    assert met["refused"] == [True, "No cake called nothing."]
    assert met["cake"] and met["board"].count(",") == 1
    # Some read the board first, some last.
    (board,) = [step for step in steps if step.action.tool == "resources/read"]
    called = [step for step in steps if step is not board]
    assert (board.action.arguments, board.observation.text) == ({"uri": "bakery://board"}, met["board"])
    assert [step.action.tool for step in called] == ["cakes.list", "orders.place", "cakes.get"]
    assert met["order"] in called[1].observation.text


@BY_CLIENT
async def test_a_client_visits_an_episode_over_http(client: str, tmp_path: Path) -> None:
    command = CLIENTS[client](tmp_path)
    async with serving(free_bakery(tmp_path)) as served:
        mine, other = await served.open(), await served.open()
        code, out, err = await run(*command, mine["url"], folder=tmp_path)
        assert code == 0, err
        held = served.stage.host.find(mine["episode"])
        untouched = served.stage.host.find(other["episode"])
        assert held is not None and untouched is not None and not untouched.environment.steps
        check(json.loads(out.splitlines()[-1]), list(held.environment.steps))


@BY_CLIENT
async def test_a_client_visits_an_episode_over_stdio(client: str, tmp_path: Path) -> None:
    command = CLIENTS[client](tmp_path)
    code, out, err = await run(*command, *served_on_stdio(tmp_path), folder=tmp_path)
    assert code == 0, err
    assert "Traceback" not in err
    # A client may start a server once before, to find out what it speaks.
    last = max(tmp_path.glob("run*"))
    check(json.loads(out.splitlines()[-1]), list(next(read_run(last)).steps))


async def visit(client: Client) -> dict[str, Any]:
    """The same with the second Python SDK."""
    tools = [tool.name for tool in (await client.list_tools()).tools]
    cake = (await client.call_tool("cakes__list", {})).structured_content["cakes"][0]
    order = await client.call_tool("orders__place", {"cake_id": cake["id"], "amount": 1})
    refused = await client.call_tool("cakes__get", {"name": "nothing"})
    board = await client.read_resource("bakery://board")
    return {
        "tools": tools,
        "cake": cake["name"],
        "order": order.structured_content["id"],
        "refused": [refused.is_error, refused.content[0].text],
        "board": board.contents[0].text,
    }


@ERAS
async def test_the_second_python_sdk_visits_an_episode_over_http(mode: str, tmp_path: Path) -> None:
    async with serving(free_bakery(tmp_path)) as served:
        mine = await served.open()
        async with Client(mine["url"], mode=mode) as client:
            met = await visit(client)
        held = served.stage.host.find(mine["episode"])
        assert held is not None
        check(met, list(held.environment.steps))


@ERAS
async def test_the_second_python_sdk_visits_an_episode_over_stdio(mode: str, tmp_path: Path) -> None:
    program, *words = served_on_stdio(tmp_path)
    async with Client(StdioServerParameters(command=program, args=words), mode=mode) as client:
        met = await visit(client)
    check(met, list(next(read_run(tmp_path / "run")).steps))


INSPECTOR = ("inspector", "mcp-inspector")
UNWELL = 5
"""The exit code of the Inspector for a tool that answers with an error."""


async def inspect(folder: Path, *words: str) -> tuple[int, Any]:
    """One request of the Inspector: exit code and what it printed, parsed."""
    program = [real_servers.node(), real_servers.npm_program(*INSPECTOR), "--cli"]
    code, out, err = await run(*program, *words, "--format", "json", folder=folder, home=folder)
    said = json.loads(out or err.splitlines()[-1])
    return code, said.get("result", said)


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_the_inspector_visits_an_episode_over_http(era: str, tmp_path: Path) -> None:
    async with serving(free_bakery(tmp_path)) as served:
        mine = await served.open()
        ours = (mine["url"], "--transport", "http", "--protocol-era", era)
        code, listed = await inspect(tmp_path, *ours, "--method", "tools/list", "--strict")
        assert code == 0 and [tool["name"] for tool in listed["tools"]] == TOOLS
        code, cakes = await call(tmp_path, *ours, tool="cakes__list", arguments={})
        cake = cakes["structuredContent"]["cakes"][0]
        assert code == 0
        code, order = await call(tmp_path, *ours, tool="orders__place", arguments={"cake_id": cake["id"], "amount": 1})
        assert code == 0 and order["structuredContent"]["id"]
        code, refused = await call(tmp_path, *ours, tool="cakes__get", arguments={"name": "nothing"})
        assert code == UNWELL and "No cake called nothing." in json.dumps(refused)
        code, board = await inspect(tmp_path, *ours, "--method", "resources/read", "--uri", "bakery://board")
        assert code == 0 and cake["name"] in json.dumps(board)


async def test_the_inspector_visits_an_episode_over_stdio(tmp_path: Path) -> None:
    ours = served_on_stdio(tmp_path)[:-2]
    code, listed = await inspect(tmp_path, *ours, "--method", "tools/list")
    assert code == 0 and [tool["name"] for tool in listed["tools"]] == TOOLS
    code, cakes = await call(tmp_path, *ours, tool="cakes__list", arguments={})
    assert code == 0 and len(cakes["structuredContent"]["cakes"]) == 8


async def call(folder: Path, *words: str, tool: str, arguments: dict[str, Any]) -> tuple[int, Any]:
    """One tool call of the Inspector."""
    given = ("--tool-name", tool, "--tool-args-json", json.dumps(arguments))
    return await inspect(folder, *words, "--method", "tools/call", *given)
