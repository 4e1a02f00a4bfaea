"""For tests of drafts: servers captured, recorded through the relay, drafted and served, all by the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters

from simtrain.cli import main

LIMIT = 120
"""Seconds that one command may take."""

TODO_PROBES = """\
probes:
  - {call: task_list}
  - {call: task_create, with: {name: Buy flour, desc: for the bread, tags: [home, food], due_date: "2031-04-02", priority: high}}
  - {call: task_create, with: {name: Call Ana, priority: low}}
  - {call: task_create, with: {name: Write report, desc: quarterly figures, tags: [work], due_date: "2031-03-20", priority: medium}}
  - {call: task_list}
  - {call: task_get, with: {id: 1}}
  - {call: task_get, with: {id: 2}}
  - {call: task_get, with: {id: 99}}
  - {call: task_list, with: {priority: high}}
  - {call: task_list, with: {tags: [work]}}
  - {call: task_list, with: {keyword: report}}
  - {call: task_list, with: {keyword: figures}}
  - {call: task_list, with: {orderby: id, order: desc}}
  - {call: task_list, with: {limit: 1}}
  - {call: task_update, with: {id: 2, name: Call Ana Lima, progress: left a message}}
  - {call: task_get, with: {id: 2}}
  - {call: task_update, with: {id: 1, status: completed}}
  - {call: task_get, with: {id: 1}}
  - {call: task_list}
  - {call: task_list, with: {status: completed}}
  - {call: task_list, with: {status: all}}
  - {call: task_update, with: {id: 99, name: x}}
  - {call: task_delete, with: {id: 3}}
  - {call: task_delete, with: {id: 3}}
  - {call: task_get, with: {id: 3}}
  - {call: task_create, with: {name: Water plants}}
  - {call: task_list, with: {status: all}}
"""

Said = Callable[..., Awaitable[Any]]
"""Calls a tool of a connected server: `await said("task_get", id=1)`, the JSON or the words of the reply."""


def simtrain(*words: str | Path, code: int = 0) -> str:
    """Carry out a command line; standard output, or standard error where it is to fail."""
    # In a thread, since a test may have an event loop that runs; in this process, since starting another costs a second.
    with ThreadPoolExecutor(1) as pool, redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as err:
        ended = pool.submit(_ending, [str(word) for word in words]).result(LIMIT)
    assert ended == code, err.getvalue() or out.getvalue()
    return err.getvalue() if code else out.getvalue()


def _ending(words: list[str]) -> int:
    try:
        main(words)
    except SystemExit as ended:
        return int(ended.code or 0)


def capture(command: Sequence[str], out: Path, *options: str, name: str, probes: str | None = None) -> Path:
    """The manifest of a server, with the replies to probes."""
    words: list[str | Path] = ["capture", " ".join(command), "--out", out, "--name", name, *options]
    if probes is not None:
        file = out.with_suffix(".probes.yaml")
        file.write_text(probes)
        words += ["--probes", file]
    # A process of its own: it handles signals.
    done = subprocess.run(
        [sys.executable, "-m", "simtrain", *map(str, words)], capture_output=True, text=True, timeout=LIMIT
    )
    assert done.returncode == 0, done.stderr
    return out


def draft(manifest: Path, out: Path, *words: str | Path) -> dict[str, Any]:
    """The report of a draft that was written to `out`."""
    return json.loads(simtrain("world", "draft", manifest, "--out", out, "--json", *words))


@asynccontextmanager
async def connected(command: Sequence[str]) -> AsyncGenerator[Said]:
    """A server on standard input and output, by the SDK's client."""
    async with Client(StdioServerParameters(command=command[0], args=list(command[1:]))) as client:

        async def said(tool: str, **arguments: Any) -> Any:
            result = await client.call_tool(tool, arguments)
            text = "\n".join(block.text for block in result.content)
            if result.is_error:
                return f"error: {text}"
            try:
                return json.loads(text)
            except ValueError:
                return text

        yield said


def served(world: Path) -> list[str]:
    """The command that serves a world."""
    return [sys.executable, "-m", "simtrain", "serve", str(world), "--stdio"]
