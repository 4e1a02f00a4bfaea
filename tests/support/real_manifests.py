"""The fixture `real_manifest`: the real servers of real_servers.py, captured by `simtrain capture` once in a run of the tests."""

from __future__ import annotations

import fcntl
import json
import subprocess
import sys
from pathlib import Path

import pytest
import real_servers

from simtrain.mcp_wire.manifest import Manifest, read_manifest

LIMIT = 300
"""Seconds that the capture may take."""


def real_commands(folder: Path) -> dict[str, list[str]]:
    """A command for every real server, with what it needs in `folder`. Skips when one cannot be installed."""
    repository = folder / "repository"
    if not repository.exists():
        subprocess.run(["git", "init", "--quiet", str(repository)], check=True)
    arguments: dict[str, list[str | Path]] = {
        "filesystem": [folder],
        "git": ["--repository", repository],
        "memory": [folder / "memory.jsonl"],
        "motherduck": ["--db-path", ":memory:", "--read-write"],
        "playwright": ["--headless"],
        "sqlite": ["--db-path", folder / "notes.db"],
        "time": ["--local-timezone", "UTC"],
    }
    return {name: real_servers.command(name, *arguments.get(name, [])) for name in real_servers.SERVERS}


@pytest.fixture(scope="session")
def real_folder(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """A folder that all workers of a run share."""
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / "real"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def real_manifest(real_folder: Path) -> Manifest:
    """The manifest of all real servers."""
    out = real_folder / "manifest.json"
    with (real_folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not out.exists():
            commands = real_commands(real_folder)
            servers = {name: {"command": words[0], "args": words[1:]} for name, words in commands.items()}
            config = real_folder / "mcp.json"
            config.write_text(json.dumps({"mcpServers": servers}))
            words = [sys.executable, "-m", "simtrain", "capture", "--config", str(config), "--out", str(out)]
            done = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT)
            assert done.returncode == 0, done.stderr
    return read_manifest(out)
