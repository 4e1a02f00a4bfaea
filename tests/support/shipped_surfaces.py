"""Writes worlds/NAME.manifest.json anew: what the reference servers of real_servers.json show, captured by `simtrain capture`.

python tests/support/shipped_surfaces.py
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import real_servers

WORLDS = Path(__file__).parents[2] / "worlds"

PACKAGES = {
    "memory": "@modelcontextprotocol/server-memory",
    "filesystem": "@modelcontextprotocol/server-filesystem",
    "sequential_thinking": "@modelcontextprotocol/server-sequential-thinking",
    "git": "mcp-server-git",
    "fetch": "mcp-server-fetch",
    "time": "mcp-server-time",
    "sqlite": "mcp-server-sqlite",
}
"""World -> the package of the server that it stands in for."""


def commands(folder: Path) -> dict[str, list[str]]:
    """A command for each of the servers, by world, with what it needs in `folder`."""
    arguments: dict[str, list[str | Path]] = {
        "filesystem": [folder],
        "memory": [folder / "memory.jsonl"],
        "sqlite": ["--db-path", folder / "notes.db"],
        "time": ["--local-timezone", "UTC"],
    }
    return {world: real_servers.command(world.replace("_", "-"), *arguments.get(world, [])) for world in PACKAGES}


def pinned(package: str) -> list[str]:
    """The command that starts a package in the version captured, without what it is told on this machine."""
    if package.startswith("@"):
        return ["npx", "-y", f"{package}@{real_servers.PINS['npm']['servers'][package]}"]
    (version,) = (pins[package] for pins in real_servers.PINS["pip"].values() if package in pins)
    return ["uvx", f"{package}=={version}"]


def main() -> None:
    """Capture all of them and write a manifest for each."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        servers = {world: {"command": words[0], "args": words[1:]} for world, words in commands(folder).items()}
        (folder / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
        words = ["capture", "--config", str(folder / "mcp.json"), "--out", str(folder / "all.json")]
        subprocess.run([sys.executable, "-m", "simtrain", *words], check=True)
        document = json.loads((folder / "all.json").read_text())
    for world, server in document["servers"].items():
        # How arguments are checked is the world's own business.
        server["exchanges"] = [each for each in server["exchanges"] if not _calls_a_tool(each, server)]
        server["source"] = {"command": pinned(PACKAGES[world]), "env": []}
        text = json.dumps({**document, "servers": {world: server}}, ensure_ascii=False, indent=1)
        (WORLDS / f"{world}.manifest.json").write_text(f"{text}\n")


def _calls_a_tool(exchange: dict[str, Any], server: dict[str, Any]) -> bool:
    tools = server["surfaces"][0]["lists"]["tools/list"][0]["tools"]
    return exchange["method"] == "tools/call" and exchange["params"].get("name") in [tool["name"] for tool in tools]


if __name__ == "__main__":
    main()
