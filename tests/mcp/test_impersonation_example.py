"""The worked example of docs/impersonation.md: two servers captured from an mcp.json, served with faults, met by a client."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "impersonate"


@pytest.mark.full
def test_the_worked_example_says_what_the_page_says(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(EXAMPLE, tmp_path / "impersonate"))
    python = Path(sys.executable)
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "PATH": f"{folder_with_python(tmp_path, python)}{os.pathsep}{os.environ['PATH']}",
    }
    simtrain = [sys.executable, "-m", "simtrain"]
    words = ["capture", "--config", "mcp.json", "--probes", "probes.yaml", "--out", "servers.json"]
    done = subprocess.run([*simtrain, *words], cwd=folder, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    serve = [*simtrain, "serve", "servers.json", "--perturb", "faults.yaml", "--write-config", "stand-ins.json"]
    serve += ["--port", "0", "--json"]
    with subprocess.Popen(serve, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True) as serving:
        try:
            assert serving.stdout is not None
            servers = json.loads(serving.stdout.readline())["servers"]
            config = json.loads((folder / "stand-ins.json").read_text())["mcpServers"]
            assert {name: entry["url"] for name, entry in config.items()} == servers
            assert list(servers) == ["notes", "weather"]
            said = subprocess.run(
                [sys.executable, "client.py", "stand-ins.json"],
                cwd=folder,
                capture_output=True,
                text=True,
                timeout=60,
            )
        finally:
            serving.terminate()
            serving.wait(20)
    assert said.returncode == 0, said.stderr
    assert not (folder / "stand-ins.json").exists()
    page = (ROOT / "docs" / "impersonation.md").read_text()
    shown = re.search(r"```text\n(.*?)```", page, re.DOTALL)
    assert shown and said.stdout == shown[1]


def folder_with_python(folder: Path, python: Path) -> Path:
    """A folder in which `python` is this interpreter, whatever it is called."""
    (folder / "bin").mkdir()
    program = folder / "bin" / "python"
    program.write_text(f'#!/bin/sh\nexec "{python}" "$@"\n')
    program.chmod(0o755)
    return program.parent
