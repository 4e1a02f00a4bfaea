"""Makes the calls of calls.json on the MCP server of the task, and writes the answer. The standard library alone."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from urllib.request import Request, urlopen

HERE = Path(__file__).parent


class McpConnection:
    """A connection to an MCP server over streamable HTTP."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._session: str | None = None
        self._number = 0
        about = {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "solution", "version": "1"},
        }
        self.ask("initialize", about)
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def ask(self, method: str, params: Mapping[str, object]) -> object:
        """Make a request and return its result, or its error."""
        self._number += 1
        request = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        for message in self._send(request):
            if message.get("id") == self._number:
                return message.get("result", message.get("error"))
        raise SystemExit(f"no reply to {method}")

    def _send(self, message: Mapping[str, object]) -> list[dict[str, object]]:
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        headers["MCP-Protocol-Version"] = "2025-11-25"
        if self._session is not None:
            headers["Mcp-Session-Id"] = self._session
        with urlopen(Request(self._url, json.dumps(message).encode(), headers)) as reply:
            self._session = reply.headers.get("Mcp-Session-Id", self._session)
            text = reply.read().decode()
            if reply.headers.get_content_type() == "text/event-stream":
                lines = [line.partition(":")[2] for line in text.splitlines() if line.startswith("data:")]
                return [json.loads(line) for line in lines if line.strip()]
            return [json.loads(text)] if text.strip() else []


def main() -> None:
    """Play the solution."""
    solution = json.loads((HERE / "calls.json").read_text())
    server = McpConnection(solution["url"])
    for call in solution["calls"]:
        print(call["name"], json.dumps(call["arguments"]))
        print(json.dumps(server.ask("tools/call", call)))
    if solution["answer"] is not None:
        target = Path(solution["answer_file"])
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(solution["answer"])
        print(solution["answer"])


if __name__ == "__main__":
    sys.exit(main())
