"""Real MCP servers and tools from npm and PyPI, in the versions of real_servers.json, installed once under .cache/real.

`command("filesystem", folder)` is a command line that starts one. A test whose server cannot be installed is skipped with the reason;
where CI is set it fails instead. SIMTRAIN_REAL_SERVERS names another folder, which several checkouts may share.

`python tests/support/real_servers.py` installs all of them.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import NoReturn

import pytest

ROOT = Path(os.environ.get("SIMTRAIN_REAL_SERVERS") or Path(__file__).parents[2] / ".cache" / "real").absolute()
PINS: dict[str, dict[str, dict[str, str]]] = json.loads(Path(__file__).with_name("real_servers.json").read_text())
INSTALL_LIMIT = 600
"""Seconds that npm or pip may take for one group."""

_SCOPE = "@modelcontextprotocol/server-"
_NODE_SERVERS = {
    "everything": (f"{_SCOPE}everything", "mcp-server-everything"),
    "filesystem": (f"{_SCOPE}filesystem", "mcp-server-filesystem"),
    "memory": (f"{_SCOPE}memory", "mcp-server-memory"),
    "notion": ("@notionhq/notion-mcp-server", "notion-mcp-server"),
    "playwright": ("@playwright/mcp", "playwright-mcp"),
    "sequential-thinking": (f"{_SCOPE}sequential-thinking", "mcp-server-sequential-thinking"),
}
_PYTHON_SERVERS = {
    "fetch": ("reference", "mcp-server-fetch"),
    "git": ("reference", "mcp-server-git"),
    "motherduck": ("motherduck", "mcp-server-motherduck"),
    "sqlite": ("sqlite", "mcp-server-sqlite"),
    "time": ("reference", "mcp-server-time"),
}

SERVERS = (*_NODE_SERVERS, *_PYTHON_SERVERS)


def command(server: str, *arguments: str | Path, env: dict[str, str] | None = None) -> list[str]:
    """The command line of a server: `command("filesystem", root)`, `command("sqlite", "--db-path", file)`.

    `memory` takes the file it keeps its graph in as its argument. Variables of `env` are set with env(1).
    """
    variables = dict(env or {})
    words = [str(argument) for argument in arguments]
    if server == "memory":
        variables["MEMORY_FILE_PATH"], words = words[0], words[1:]
    settings = ["/usr/bin/env", *(f"{name}={value}" for name, value in variables.items())] if variables else []
    if server in _NODE_SERVERS:
        return [*settings, node(), npm_program("servers", _NODE_SERVERS[server][1]), *words]
    group, program = _PYTHON_SERVERS[server]
    return [*settings, str(_installed_with_pip(group) / "bin" / program), *words]


def todo(home: Path) -> list[str]:
    """The command line of `mcp-todo`, a list of tasks in a file under a home directory of its own."""
    return ["/usr/bin/env", f"HOME={home}", str(_installed_with_pip("todo") / "bin" / "mcp-todo")]


UNSEEN = ("docs", "slides", "diagrams", "code", "repository")
"""Servers that were chosen before anybody looked at them; nothing may be built after their example.

The rule, written down before any of them was tried: of the packages whose name or summary says both `mcp` and `server`, most
downloaded first, one of npm and one of PyPI in turn. Passed over by name and summary: those that were looked at before; libraries,
frameworks, proxies and clients; what needs an account, a service, a browser, a device or a program that is not in the package.
Passed over when tried: what does not install, does not start without keys and network, has fewer than three tools with required
arguments, or refuses no bad call. These are the first five that were left.
"""


def unseen(server: str, folder: Path) -> list[str]:
    """The command line of one of UNSEEN, with what it keeps in `folder`."""
    home = ["/usr/bin/env", f"HOME={folder}"]
    match server:
        case "docs":
            # The script is no program that npm links.
            script = npm_folder("unseen") / "node_modules" / "@mastra" / "mcp-docs-server" / "dist" / "stdio.js"
            return [*home, node(), str(script)]
        case "slides":
            return [*home, str(_installed_with_pip("unseen-slides") / "bin" / "ppt_mcp_server")]
        case "diagrams":
            return [*home, node(), npm_program("unseen", "drawio-mcp")]
        case "code":
            return [*home, str(_installed_with_pip("unseen-code") / "bin" / "jcodemunch-mcp")]
        case _:
            return [*home, node(), npm_program("unseen", "git-mcp-server")]


def node() -> str:
    """Node 22, whatever node the machine has."""
    return str(_installed_with_npm("node") / "node_modules" / "node" / "bin" / "node")


def npm_program(group: str, program: str) -> str:
    """The script of a program of an npm group: to be run with `node()`."""
    return str((_installed_with_npm(group) / "node_modules" / ".bin" / program).resolve())


def npm_folder(group: str) -> Path:
    """The folder whose node_modules holds an npm group, such as `client`."""
    return _installed_with_npm(group)


def pip_python(group: str) -> str:
    """The Python of a pip group, such as `langchain`."""
    return str(_installed_with_pip(group) / "bin" / "python")


@cache
def _installed_with_npm(group: str) -> Path:
    packages = PINS["npm"][group]
    npm = shutil.which("npm")
    folder = ROOT / f"npm-{group}"
    with _once(folder, packages) as missing:
        if missing:
            if npm is None:
                _unavailable("npm is not installed")
            project = {"name": f"real-{group}", "private": True}
            (folder / "package.json").write_text(json.dumps(project))
            wanted = [f"{name}@{version}" for name, version in packages.items()]
            _run([npm, "install", "--no-audit", "--no-fund", "--loglevel=error", "--save-exact", *wanted], folder)
    return folder


@cache
def _installed_with_pip(group: str) -> Path:
    packages = PINS["pip"][group]
    folder = ROOT / f"pip-{group}"
    with _once(folder, packages) as missing:
        if missing:
            python = str(folder / "bin" / "python")
            uv = shutil.which("uv")
            _run([sys.executable, "-m", "venv", *(["--without-pip"] if uv else []), str(folder)], ROOT)
            # Compiled as pip does it: each start would compile all that it imports.
            install = (
                [uv, "pip", "install", "--compile-bytecode", "--python", python]
                if uv
                else [python, "-m", "pip", "install"]
            )
            wanted = [f"{name}=={version}" for name, version in packages.items()]
            _run([*install, "--quiet", *wanted], folder)
            if "mcp-server-fetch" in packages:
                # It would do so at its first call, and two that do so at once break each other.
                code = "from readabilipy.utils import run_npm_install; run_npm_install()"
                _run([str(folder / "bin" / "python"), "-c", code], folder)
    return folder


@contextmanager
def _once(folder: Path, packages: dict[str, str]) -> Iterator[bool]:
    """Whether `folder` is still to be filled with `packages`; one process at a time, and a failed attempt leaves no mark."""
    ROOT.mkdir(parents=True, exist_ok=True)
    mark = folder / "installed.json"
    with (ROOT / f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if mark.is_file() and json.loads(mark.read_text()) == packages:
            yield False
            return
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        yield True
        mark.write_text(json.dumps(packages))


def _run(words: list[str], folder: Path) -> None:
    try:
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=INSTALL_LIMIT)
    except (OSError, subprocess.TimeoutExpired) as error:
        _unavailable(f"{Path(words[0]).name} could not install: {error}")
    if done.returncode:
        _unavailable(f"{' '.join([Path(words[0]).name, *words[1:]])} failed: {done.stderr.strip()[-600:]}")


def _unavailable(reason: str) -> NoReturn:
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


def main() -> None:
    """Install all of them; one that cannot be installed is told by the test that needs it."""
    for install, groups in ((_installed_with_npm, PINS["npm"]), (_installed_with_pip, PINS["pip"])):
        for group in groups:
            with suppress(pytest.fail.Exception, pytest.skip.Exception):
                install(group)


if __name__ == "__main__":
    main()
