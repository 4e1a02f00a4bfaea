"""What the relay costs: its own CPU for each frame on stdio and for each request over HTTP, beside pumps that only pass on bytes."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from report import Figure, arguments, show

HERE = Path(__file__).parent
PUMPS = [sys.executable, str(HERE / "bare_pumps.py")]
RELAY = [sys.executable, "-m", "simtrain", "relay", "--json"]
NEVER = {"name": "never", "perturbations": [{"use": "truncated_output", "when": {"tools": "*", "nth": 1_000_000}}]}
CALLS = 4000
WARM = 200
CONNECTIONS = 16


def main() -> None:
    """Measure and print."""
    options = arguments(__doc__ or "")
    with tempfile.TemporaryDirectory() as folder:
        pack = Path(folder, "never.yaml")
        pack.write_text(json.dumps(NEVER))
        recorded = ["--record", f"{folder}/recording.jsonl", "--perturb", str(pack)]
        figures = [*_stdio(recorded, options.rounds), *_http(recorded, options.rounds)]
    show("the relay", figures, as_json=options.json)


def _stdio(recorded: list[str], rounds: int) -> list[Figure]:
    echo = [*PUMPS, "echo"]
    floor, bare, full = (
        min(_piped(command) for _ in range(rounds)) * 1000 / 2
        for command in ([*PUMPS, "pump", *echo], [*RELAY, "--", *echo], [*RELAY, *recorded, "--", *echo])
    )
    return [
        Figure("stdio, per frame, a pump of bytes in asyncio", floor, "ms"),
        Figure("stdio, per frame, the relay", bare, "ms", 0.5, floor=floor),
        Figure("stdio, per frame, recording and armed", full, "ms", 0.5, floor=floor),
    ]


def _http(recorded: list[str], rounds: int) -> list[Figure]:
    with _running([*PUMPS, "http_echo"]) as (port, _):
        url = f"http://127.0.0.1:{port}/mcp"
        floor = _hop([*PUMPS, "tcp_pump", str(port)], rounds)
        bare, full = _hop([*RELAY, url], rounds), _hop([*RELAY, *recorded, url], rounds)
    return [
        Figure("HTTP, per request and reply, a pump of bytes in asyncio", floor, "ms"),
        Figure("HTTP, per request and reply, the relay", bare, "ms", 1.3, floor=floor),
        Figure("HTTP, per request and reply, recording and armed", full, "ms", 1.3, floor=floor),
    ]


def _piped(command: list[str]) -> float:
    """CPU seconds of a process on stdio for one call, its server's not among them; one call at a time."""
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdin is not None and process.stdout is not None
    begun = 0.0
    for number in range(WARM + CALLS):
        if number == WARM:
            begun = _cpu_of(process.pid)
        process.stdin.write(_call(number) + b"\n")
        process.stdin.flush()
        process.stdout.readline()
    spent = _cpu_of(process.pid) - begun
    process.communicate()
    return spent / CALLS


def _hop(command: list[str], rounds: int) -> float:
    """CPU milliseconds of a process between client and server for one request and its reply, several clients at a time."""
    with _running(command) as (line, pid):
        port = int(line) if line.isdecimal() else int(json.loads(line)["url"].rpartition(":")[2].partition("/")[0])
        return min(_loaded(port, pid) for _ in range(rounds)) * 1000


def _loaded(port: int, pid: int) -> float:
    asyncio.run(_send(port, WARM))
    begun = _cpu_of(pid)
    asyncio.run(_send(port, CALLS))
    return (_cpu_of(pid) - begun) / CALLS


@contextmanager
def _running(command: list[str]) -> Generator[tuple[str, int]]:
    """A server in a process of its own: the first line that it prints, wherever, and its process id."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip(), process.pid
    finally:
        process.terminate()
        process.communicate()


def _cpu_of(pid: int) -> float:
    """CPU seconds of a process so far; its clock ticks are booked a moment later."""
    time.sleep(0.05)
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _call(number: int) -> bytes:
    params = {"name": "search", "arguments": {"query": "red shoes in the sale", "limit": 10, "cursor": None}}
    frame = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
    return json.dumps(frame, separators=(",", ":")).encode()


async def _send(port: int, count: int) -> None:
    await asyncio.gather(*(_talk(port, range(first, count, CONNECTIONS)) for first in range(CONNECTIONS)))


async def _talk(port: int, numbers: range) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for number in numbers:
        body = _call(number)
        head = (
            f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
            f"Accept: application/json, text/event-stream\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        writer.write(head.encode() + body)
        answer = await reader.readuntil(b"\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 200"), answer
        await reader.readexactly(int(answer.lower().partition(b"content-length: ")[2].split(b"\r\n")[0]))
    writer.close()
    await writer.wait_closed()


if __name__ == "__main__":
    main()
