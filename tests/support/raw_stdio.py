"""A bare client of MCP servers on standard input and output: lines of JSON out, lines of JSON in, nothing of simtrain."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import threading
from collections.abc import Iterable
from typing import Any

HANDSHAKE = "2025-11-25"
MODERN = "2026-07-28"
LIMIT = 60
"""Seconds that a server may take to answer."""


def initialize(version: str = HANDSHAKE, **capabilities: Any) -> dict[str, Any]:
    """The params of an `initialize` request."""
    return {"protocolVersion": version, "capabilities": capabilities, "clientInfo": {"name": "bare", "version": "1"}}


def enveloped(params: dict[str, Any]) -> dict[str, Any]:
    """Params as a request of 2026-07-28 carries them."""
    prefix = "io.modelcontextprotocol/"
    meta = {f"{prefix}protocolVersion": MODERN, f"{prefix}clientCapabilities": {}}
    return {**params, "_meta": {**meta, f"{prefix}clientInfo": {"name": "bare", "version": "1"}}}


def replies(
    command: list[str], requests: Iterable[tuple[str, dict[str, Any] | None]], *, greeted: bool = True
) -> list[dict[str, Any] | None]:
    """The reply to each request, without its id; None where the server ended. `greeted`: the first one is `initialize`."""
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
    )
    assert process.stdin is not None and process.stdout is not None
    lines: queue.Queue[bytes] = queue.Queue()
    out = process.stdout
    threading.Thread(target=lambda: [*map(lines.put, out), lines.put(b"")], daemon=True).start()
    said: list[dict[str, Any] | None] = []
    try:
        for number, (method, params) in enumerate(requests, 1):
            message: dict[str, Any] = {"jsonrpc": "2.0", "id": number, "method": method}
            _send(process, message if params is None else {**message, "params": params})
            said.append(_reply(lines, number))
            if greeted and number == 1:
                _send(process, {"jsonrpc": "2.0", "method": "notifications/initialized"})
    finally:
        # Some servers go on after the end of their input.
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    return said


def _send(process: subprocess.Popen[bytes], message: dict[str, Any]) -> None:
    assert process.stdin is not None
    process.stdin.write(json.dumps(message).encode() + b"\n")
    process.stdin.flush()


def _reply(lines: queue.Queue[bytes], number: int) -> dict[str, Any] | None:
    while line := lines.get(timeout=LIMIT):
        try:
            message = json.loads(line)
        except ValueError:
            continue
        if message.get("id") == number and "method" not in message:
            return {key: value for key, value in message.items() if key not in ("jsonrpc", "id")}
    return None
