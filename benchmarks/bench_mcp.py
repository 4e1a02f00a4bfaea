"""Cost of a tools/call over MCP: in this process through the SDK's client, and over HTTP beside the SDK's own echo server."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import orjson
from depot import freeze
from mcp import Client
from report import Figure, arguments, cpu_of_tasks, show

from simtrain.mcp.serve.session import open_session
from simtrain.mcp.serve.targets import load_target
from simtrain.mcp_wire.sdk_server import build_server
from simtrain.runs.episode_host import HostOptions
from simtrain.values.types import JsonObject

HERE = Path(__file__).parent
WORLD = HERE / "worlds" / "depot.yaml"
IN_PROCESS = 2000
REQUESTS = 4000
CONNECTIONS = 32
ONE_ROW: tuple[str, JsonObject] = ("customers__get", {"customer_id": "C0007"})
TEN_ROWS: tuple[str, JsonObject] = ("items__search", {"text": "an"})


def main() -> None:
    """Measure and print."""
    options = arguments(__doc__ or "")
    freeze()
    figures = [*_in_process(options.rounds), *_over_http(options.rounds)]
    show("tools/call over MCP", figures, as_json=options.json)


def _in_process(rounds: int) -> list[Figure]:
    one, ten = (_rate(call, rounds) for call in (ONE_ROW, TEN_ROWS))
    return [
        Figure("in-process, one row, calls per CPU second", one, "calls/s", 4000, more=True),
        Figure("in-process, ten rows, calls per CPU second", ten, "calls/s", 2500, more=True),
    ]


def _rate(call: tuple[str, JsonObject], rounds: int) -> float:
    """Calls per CPU second; what opens and ends the connection is taken off by a run without calls."""
    whole = cpu_of_tasks(lambda: _calls(call, IN_PROCESS), rounds=rounds)
    empty = cpu_of_tasks(lambda: _calls(call, 0), rounds=rounds)
    return IN_PROCESS / (whole - empty)


async def _calls(call: tuple[str, JsonObject], count: int) -> None:
    async with open_session(load_target(str(WORLD)), HostOptions()) as stage:
        held = await stage.host.open()
        async with Client(build_server(stage.handlers.of(held))) as client:
            first = await client.call_tool(*call)
            assert not first.is_error, first
            for _ in range(count):
                await client.call_tool(*call)


def _over_http(rounds: int) -> list[Figure]:
    serve = [sys.executable, "-m", "simtrain", "serve", str(WORLD), "--port", "0", "--control-port", "-1", "--json"]
    with _running(serve) as (line, ours), _running([sys.executable, str(HERE / "echo_server.py")]) as (echo, peer):
        world = json.loads(line)["mcp"]
        mine = [_load(world, *ONE_ROW, pid=ours) for _ in range(rounds)]
        theirs = [_load(echo, "echo", {}, pid=peer) for _ in range(rounds)]
    cost, floor = min(mine), min(theirs)
    return [
        Figure("HTTP, server CPU per call, one row of a world", cost * 1000, "ms", floor=floor * 1000),
        Figure("HTTP, server CPU per call, the SDK's own server echoing", floor * 1000, "ms"),
        Figure("HTTP, rate relative to the SDK's own server", floor / cost, "ratio", 0.6, more=True),
    ]


@contextmanager
def _running(command: list[str]) -> Generator[tuple[str, int]]:
    """A server in a process of its own: the first line that it prints, and its process id."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip(), process.pid
    finally:
        process.terminate()
        process.wait()


def _load(url: str, tool: str, called: JsonObject, *, pid: int) -> float:
    """CPU seconds of the server for one call, under a load of raw sockets from this process."""
    asyncio.run(_send(url, tool, called, CONNECTIONS * 2))
    begun = _cpu_of(pid)
    asyncio.run(_send(url, tool, called, REQUESTS))
    # The server's clock ticks are coarse; a moment later all are booked.
    time.sleep(0.05)
    return (_cpu_of(pid) - begun) / REQUESTS


def _cpu_of(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def _send(url: str, tool: str, called: JsonObject, count: int) -> None:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    frame = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": tool, "arguments": called, "_meta": meta},
    }
    body, place = orjson.dumps(frame), urlsplit(url)
    head = (
        f"POST {place.path} HTTP/1.1\r\nHost: {place.netloc}\r\nContent-Type: application/json\r\n"
        "Accept: application/json, text/event-stream\r\nMcp-Protocol-Version: 2026-07-28\r\n"
        f"Mcp-Method: tools/call\r\nMcp-Name: {tool}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    request = head.encode() + body
    share = count // CONNECTIONS
    await asyncio.gather(*(_talk(place.hostname or "", place.port or 0, request, share) for _ in range(CONNECTIONS)))


async def _talk(host: str, port: int, request: bytes, count: int) -> None:
    reader, writer = await asyncio.open_connection(host, port)
    for _ in range(count):
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200"), head
        length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
        await reader.readexactly(length)
    writer.close()
    await writer.wait_closed()


if __name__ == "__main__":
    main()
