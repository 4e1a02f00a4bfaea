"""An agent outside for tests: a program of the standard library alone that speaks MCP over HTTP, and plays as its first word says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

HEADERS = {"content-type": "application/json", "accept": "application/json, text/event-stream"}


class Client:
    """One MCP session."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.headers = dict(HEADERS)
        self.id = 0
        info = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "outside", "version": "0"}}
        self.request("initialize", info)
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def send(self, frame: dict[str, Any]) -> Any:
        asked = urllib.request.Request(self.url, json.dumps(frame).encode(), self.headers)
        with urllib.request.urlopen(asked, timeout=20) as reply:
            session = reply.headers.get("mcp-session-id")
            if session:
                self.headers |= {"mcp-session-id": session, "mcp-protocol-version": "2025-11-25"}
            body = reply.read()
        return json.loads(body) if body else None

    def request(self, method: str, params: dict[str, Any]) -> Any:
        self.id += 1
        reply = self.send({"jsonrpc": "2.0", "id": self.id, "method": method, "params": params})
        if "error" in reply:
            raise RuntimeError(reply["error"]["message"])
        return reply["result"]

    def call(self, name: str, /, **arguments: Any) -> Any:
        return self.request("tools/call", {"name": name, "arguments": arguments})


def blind(client: Client, prompt: str) -> str:
    """What drills.Blind does, over the wire."""
    cake = prompt.split('"')[1]
    found = client.call("cakes__get", name=cake)
    while found.get("isError"):
        found = client.call("cakes__get", name=cake)
    wanted = {"cake_id": found["structuredContent"]["id"], "amount": 2}
    placed = client.call("orders__place", **wanted)
    if placed.get("isError"):
        client.call("orders__place", **wanted)
    return "I ordered it.\nANSWER: <script>alert('done')</script>"


def main() -> None:
    mode, *rest = sys.argv[1:]
    if mode == "blind":
        print(blind(Client(os.environ["SIMTRAIN_URL"]), os.environ["SIMTRAIN_PROMPT"]))
    elif mode == "told":
        config = json.loads(Path(os.environ["SIMTRAIN_CONFIG"]).read_text())["mcpServers"]
        servers = {name: Client(server["url"]).request("tools/list", {})["tools"] for name, server in config.items()}
        names = {name: [tool["name"] for tool in tools] for name, tools in servers.items()}
        same = os.environ["SIMTRAIN_PROMPT"] == rest[0] == sys.stdin.read() and os.environ["SIMTRAIN_URL"] == rest[1]
        print(json.dumps({"names": names, "same": same, "system": "ANSWER:" in os.environ["SIMTRAIN_SYSTEM"]}))
    elif mode == "declines":
        print("CANNOT: no oven")
    elif mode == "breaks":
        print("half an answer")
        sys.exit("Traceback\nno model")
    elif mode == "sleeps":
        time.sleep(600)
    elif mode == "leaves":
        # A child that holds the pipes of its parent and does not end.
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        print(child.pid)
    elif mode == "stubborn":
        client = Client(os.environ["SIMTRAIN_URL"])
        while True:
            try:
                client.call("cakes__list")
            except RuntimeError:
                time.sleep(600)


if __name__ == "__main__":
    main()
