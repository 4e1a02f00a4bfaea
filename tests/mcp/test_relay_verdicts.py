"""What a relay says of its client: played by the SDK's client through a relay with faults, and read from its output and exit code."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError, StdioServerParameters

from tests.mcp.test_relay import ODD, pack, relay

pytestmark = pytest.mark.slow

ACTS = Callable[[Client], Awaitable[object]]

LOST = {"use": "timeout_after", "when": {"tools": "add", "nth": 1}}
"""The first `add` is carried out, and the client is told that it timed out."""
BROKEN = {"use": "transient_error", "when": {"tools": "*", "nth": 1}}
"""The first call never reaches the server."""


async def ended(folder: Path, act: ACTS, *options: str | Path, server: tuple[str, ...] = ODD) -> tuple[int, str]:
    """The exit code of a relay, and what it says on standard error, after a client has acted through it."""
    command = shlex.join(relay(*options, server=server))
    words = f"{command} 2> {folder / 'said'}; echo $? > {folder / 'code'}"
    async with Client(StdioServerParameters(command="sh", args=["-c", words]), mode="legacy") as client:
        await client.list_tools()
        await act(client)
    return int((folder / "code").read_text()), (folder / "said").read_text()


async def verdicts(folder: Path, act: ACTS, *options: str | Path) -> dict[str, Any]:
    _, said = await ended(folder, act, *options, "--json")
    found = json.loads(said.splitlines()[-1])
    return {name: times for name, times in found["verdicts"].items() if times} | {"cases": found["cases"]}


def calls(*made: tuple[str, dict[str, Any]]) -> ACTS:
    """A client that makes some calls and goes on after errors."""

    async def act(client: Client) -> None:
        for tool, arguments in made:
            try:
                await client.call_tool(tool, arguments)
            except MCPError:
                continue

    return act


async def test_a_client_that_repeats_a_write_which_was_carried_out_writes_twice(tmp_path: Path) -> None:
    found = await verdicts(
        tmp_path, calls(("add", {"n": 1, "m": 2}), ("add", {"m": 2, "n": 1})), "-p", pack(tmp_path, LOST)
    )
    assert found == {
        "retried": 1,
        "recovered": 1,
        "duplicate-write": 1,
        "cases": [
            {"verdict": verdict, "tool": "add", "calls": [1, 2]}
            for verdict in ("retried", "recovered", "duplicate-write")
        ],
    }


async def test_a_write_that_never_came_through_may_be_repeated(tmp_path: Path) -> None:
    found = await verdicts(tmp_path, calls(("add", {}), ("add", {})), "-p", pack(tmp_path, BROKEN))
    del found["cases"]
    assert found == {"retried": 1, "recovered": 1}


async def test_a_tool_that_says_it_is_idempotent_is_not_written_twice(tmp_path: Path) -> None:
    lost = {**LOST, "when": {"tools": "put", "nth": 1}}
    found = await verdicts(tmp_path, calls(("put", {}), ("put", {})), "-p", pack(tmp_path, lost))
    assert "duplicate-write" not in found and found["retried"] == 1


async def test_a_client_that_turns_to_something_else_gives_up(tmp_path: Path) -> None:
    found = await verdicts(tmp_path, calls(("add", {}), ("echo", {})), "-p", pack(tmp_path, BROKEN))
    assert found == {"gave-up": 1, "cases": [{"verdict": "gave-up", "tool": "add", "calls": [1]}]}


async def test_other_arguments_are_no_retry_but_may_recover(tmp_path: Path) -> None:
    found = await verdicts(tmp_path, calls(("add", {"n": 1}), ("add", {"n": 2})), "-p", pack(tmp_path, LOST))
    assert {name for name in found if name != "cases"} == {"recovered"}


async def test_nothing_is_said_of_a_client_that_met_no_trouble(tmp_path: Path) -> None:
    code, said = await ended(
        tmp_path, calls(("add", {}), ("add", {})), "--fail-on", "retried,duplicate-write,gave-up,leak"
    )
    assert code == 0 and "verdict" not in said


@pytest.mark.parametrize(
    "given", [{"text": "the word is kestrel-4711."}, {"deep": [{"key": "kestrel-4711"}]}, {"key": f"ghp_{'a1' * 18}"}]
)
async def test_a_canary_or_a_key_in_an_argument_is_a_leak(given: dict[str, Any], tmp_path: Path) -> None:
    options = ("--canary", "kestrel-4711", "--fail-on", "leak")
    code, said = await ended(tmp_path, calls(("echo", {"text": "kestrel"}), ("echo", given)), *options)
    assert (
        code == 1
        and ["leak", "echo", "1", "2"] in [line.split() for line in said.splitlines()]
        and "kestrel-4711" not in said
    )


@pytest.mark.parametrize(("fail_on", "code"), [("duplicate-write,leak", 0), ("leak, gave-up", 1)])
async def test_the_exit_code_says_whether_a_named_verdict_was_given(fail_on: str, code: int, tmp_path: Path) -> None:
    ending, said = await ended(tmp_path, calls(("add", {})), "-p", pack(tmp_path, BROKEN), "--fail-on", fail_on)
    assert ending == code
    assert [line.split() for line in said.splitlines() if line.strip().startswith("gave-up")] == [
        ["gave-up", "add", "1", "1"]
    ]
    assert max(map(len, said.splitlines())) <= 100


async def test_a_server_that_fails_keeps_its_exit_code(tmp_path: Path) -> None:
    async def leave(client: Client) -> None:
        with pytest.raises(MCPError):
            await client.call_tool("exit", {"code": 7})

    assert (await ended(tmp_path, leave, "--fail-on", "leak"))[0] == 7


def test_an_unknown_verdict_is_bad_input() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "simtrain", "relay", "--fail-on", "retried,gave_up", "--", "true"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2 and "there is no verdict 'gave_up'; did you mean 'gave-up'?" in done.stderr
