"""Perturbations behind a relay that last longer than the call on which they fire."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.mcp.test_relay import ODD, asked, call, frames, pack, relay, request, started


async def ask(words: tuple[str, ...], *lines: bytes) -> list[Any]:
    """The results of calls that are made one after the other, once the tools are listed."""
    async with started(*words) as process:
        assert process.stdout is not None
        await process.stdout.readline()
        await asked(process, request(1, "tools/list"))
        found = [json.loads(await asked(process, line))["result"] for line in lines]
        await process.communicate(b"")
    return found


def text(result: Any) -> str:
    return result["content"][0]["text"]


async def test_a_stale_reply_is_what_the_same_call_was_told_before(tmp_path: Path) -> None:
    stale = pack(tmp_path, {"use": "stale_read", "when": {"tools": "echo", "nth": 2}})
    record = tmp_path / "rec.jsonl"
    calls = (call(number, tool) for number, tool in enumerate(("echo", "add", "echo", "echo"), start=2))
    found = await ask(relay("--perturb", stale, "--record", record), *calls)
    assert [json.loads(text(result))["count"] for result in found] == [0, 1, 0, 1]
    # What was only noted, and not bent, went through untouched.
    noted = [frame.perturbed["by"] for frame in frames(record) if frame.perturbed]
    assert noted == [[{"label": "stale_read", "use": "stale_read", "matching": 2, "changed": ["reply", "wire"]}]]


async def test_a_denied_tool_stays_denied(tmp_path: Path) -> None:
    log = tmp_path / "log"
    denied = pack(tmp_path, {"use": "permission_denied", "when": {"tools": "add", "nth": 2}})
    calls = (*(call(number, "add") for number in range(2, 6)), call(6, "echo"))
    found = await ask(relay("--perturb", denied, server=(*ODD, str(log))), *calls)
    assert [result.get("isError", False) for result in found] == [False, True, True, True, False]
    assert log.read_text().count('"add"') == 1


async def test_a_missing_module_is_installed_behind_a_relay(tmp_path: Path) -> None:
    missing = pack(
        tmp_path, {"use": "missing_dependency", "with": {"module": "sums"}, "when": {"tools": "add", "nth": 1}}
    )
    calls = (call(2, "add"), call(3, "list_modules"), call(4, "install_module", module="sums"), call(5, "add"))
    refused, listed, installed, added = await ask(relay("--perturb", missing), *calls)
    assert "'sums' is required by add" in text(refused) and text(listed) == "sums: not installed"
    assert text(installed) == "The module 'sums' was installed." and json.loads(text(added))["count"] == 1
