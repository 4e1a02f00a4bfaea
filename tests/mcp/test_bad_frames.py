"""Bad frames sent to what `simtrain serve` serves: clear errors, no hang, no traceback, and everybody else goes on."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from bakery import WORLD
from raw_http import fetch, opened
from serving_bakery import SHELF, free_bakery, serving

from simtrain.mcp.serve.ports import Listening
from simtrain.mcp.serve.targets import load_target
from simtrain.runs.run_folder import read_run
from simtrain.testing import FakeOpenAI, Say

pytestmark = pytest.mark.slow

MODERN = "2026-07-28"
META = {"io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/clientCapabilities": {}}
HANDSHAKE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}},
}
CAKE = {"id": "K1", "name": "x", "price": 1, "stock": 1}
LISTED = {"name": "cakes__list", "arguments": {}}
PARSE, REQUEST, METHOD, PARAMS = -32700, -32600, -32601, -32602


@dataclass(frozen=True)
class Served:
    """A serving process, its addresses, and where its trajectories go."""

    process: subprocess.Popen[bytes]
    facts: dict[str, Any]
    out: Path

    def open(self) -> str:
        """The URL of a new episode."""
        headers = {"authorization": f"Bearer {self.facts['control_token']}"}
        return httpx.post(f"{self.facts['control']}/episodes", json={}, headers=headers).json()["url"]


@contextmanager
def started(folder: Path, *words: str) -> Iterator[subprocess.Popen[bytes]]:
    """`simtrain serve` in a process of its own; at the end it has said nothing on standard error, and wrote a whole run."""
    (folder / "free.yaml").write_text(WORLD + SHELF)
    command = [sys.executable, "-m", "simtrain", "serve", "free.yaml", "--out", "run", *words]
    with (folder / "errors").open("wb") as errors:
        process = subprocess.Popen(
            command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, bufsize=0
        )
    try:
        yield process
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            pipe.close()
    assert "Traceback" not in (folder / "errors").read_text()
    assert (folder / "run" / "failures.jsonl").read_bytes() == b""
    assert all(one.stop.reason == "answered" for one in read_run(folder / "run"))
    assert (folder / "run" / "summary.json").exists()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One serving process for all tests of frames over HTTP: each leaves it as able as it was."""
    folder = tmp_path_factory.mktemp("served")
    with started(folder, "--port", "0", "--json") as process:
        assert process.stdout is not None
        yield Served(process, json.loads(process.stdout.readline()), folder / "run")


class Sender:
    """A client that sends whatever it is told, in one era or the other."""

    def __init__(self, url: str, *, modern: bool) -> None:
        self.url, self.modern = url, modern
        self.headers: dict[str, str] = {}

    async def greet(self) -> None:
        if not self.modern:
            _, headers, _ = await fetch(self.url, json.dumps(HANDSHAKE).encode())
            self.headers = {"mcp-session-id": headers["mcp-session-id"], "mcp-protocol-version": "2025-11-25"}

    async def send(self, message: Any) -> tuple[int, Any]:
        """HTTP status and parsed reply to a frame, or to bytes."""
        headers = dict(self.headers)
        if self.modern:
            method, params = "tools/call", {}
            if isinstance(message, dict) and isinstance(message.get("method"), str):
                method, params = message["method"], message.get("params")
                if isinstance(params, dict):
                    message = {**message, "params": {**params, "_meta": META}}
            named = params.get("name", params.get("uri")) if isinstance(params, dict) else None
            headers = {"mcp-protocol-version": MODERN, "mcp-method": method}
            headers |= {"mcp-name": named} if isinstance(named, str) else {}
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        status, _, content = await fetch(self.url, body, headers=headers)
        return status, json.loads(content) if content else None

    async def works(self) -> bool:
        """Whether a proper call is answered."""
        _, reply = await self.send(frame())
        return len(reply["result"]["structuredContent"]["cakes"]) == 8


def frame(**changes: Any) -> dict[str, Any]:
    """A good call, changed; a change to `...` takes the member out."""
    whole = {"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": LISTED, **changes}
    return {key: value for key, value in whole.items() if value is not ...}


ERAS = pytest.mark.parametrize("modern", [False, True], ids=["handshake", "modern"])

NO_MESSAGES: dict[str, tuple[Any, int]] = {
    "no JSON": (b'{"jsonrpc": ', PARSE),
    "nothing": (b"", PARSE),
    "bytes": (b"\xff\xfe\x00", PARSE),
    "nesting without end": (b"[" * 100_000 + b"]" * 100_000, PARSE),
    "a number that is none": (json.dumps(frame(params={"a": float("nan")})).encode(), PARSE),
    "a number of 10,000 digits": (
        b'{"jsonrpc":"2.0","id":5,"method":"ping","params":{"a":' + b"9" * 10_000 + b"}}",
        PARSE,
    ),
    "a batch": ([frame(), frame(id=6)], REQUEST),
    "an empty batch": ([], REQUEST),
    "a number": (5, REQUEST),
    "null": (None, REQUEST),
    "another version": (frame(jsonrpc="1.0"), REQUEST),
    "no version": (frame(jsonrpc=...), REQUEST),
    "a broken id": (frame(id=1.5), REQUEST),
    "an id that is null": (frame(id=None), REQUEST),
    "an id that is true": (frame(id=True), REQUEST),
    "an id that is a list": (frame(id=[1]), REQUEST),
    "a method that is a number": (frame(method=5), REQUEST),
    "params that are a list": (frame(params=[1]), REQUEST),
    "params that are text": (frame(params="x"), REQUEST),
    "neither method nor result": (frame(method=..., params=...), REQUEST),
    "a result that is a number": (frame(method=..., params=..., result=5), REQUEST),
}


@ERAS
@pytest.mark.parametrize("name", NO_MESSAGES)
async def test_what_is_no_message_is_answered_with_an_error(name: str, modern: bool, served: Served) -> None:
    sender = Sender(served.open(), modern=modern)
    await sender.greet()
    message, code = NO_MESSAGES[name]
    status, reply = await sender.send(message)
    assert (status, reply["error"]["code"]) == (400, code)
    assert reply["id"] in (None, 5) and len(reply["error"]["message"]) < 200
    assert await sender.works()


WRONG: dict[str, tuple[dict[str, Any], int]] = {
    "arguments that are a list": (frame(params={"name": "cakes__list", "arguments": [1]}), PARAMS),
    "arguments that are text": (frame(params={"name": "cakes__list", "arguments": "x"}), PARAMS),
    "arguments that are false": (frame(params={"name": "cakes__list", "arguments": False}), PARAMS),
    "no name": (frame(params={"arguments": {}}), PARAMS),
    "no params": (frame(params=...), PARAMS),
    "params that are null": (frame(params=None), PARAMS),
    "a cursor that is a number": (frame(method="tools/list", params={"cursor": 5}), PARAMS),
    "no address to read": (frame(method="resources/read", params={}), PARAMS),
    "arguments of a prompt that are a list": (
        frame(method="prompts/get", params={"name": "sell", "arguments": [1]}),
        PARAMS,
    ),
    "an unknown method": (frame(method="nope/nope", params={}), METHOD),
    "half a method": (frame(method="tools", params={}), METHOD),
    "a method without a name": (frame(method="", params={}), METHOD),
    "a method that is not offered": (frame(method="completion/complete", params={"ref": 5}), METHOD),
}


@ERAS
@pytest.mark.parametrize("name", WRONG)
async def test_a_request_that_is_wrong_is_told_so_under_its_id(name: str, modern: bool, served: Served) -> None:
    sender = Sender(served.open(), modern=modern)
    await sender.greet()
    message, code = WRONG[name]
    _, reply = await sender.send(message)
    # A method of the specification is looked at whether it is offered or not.
    assert reply["error"]["code"] in (code, PARAMS) and reply["id"] == 5, reply
    assert await sender.works()


@ERAS
@pytest.mark.parametrize("identity", [2**70, 10**400, -1, "", "x" * 100_000, "zwölf"])
async def test_any_id_comes_back(identity: int | str, modern: bool, served: Served) -> None:
    sender = Sender(served.open(), modern=modern)
    await sender.greet()
    _, reply = await sender.send(frame(id=identity))
    assert reply["id"] == identity and "result" in reply


ODD = {
    "half a character": "a\ud800",
    "deep nesting": json.loads("[" * 150 + "]" * 150),
    "nesting beyond what can be written": json.loads("[" * 400 + "]" * 400),
    "a number of 300 digits": 10**300,
    "nearly four megabytes": "x" * 3_900_000,
    "control characters": "\x00\x1b[2J",
}


@ERAS
@pytest.mark.parametrize("name", ODD)
async def test_odd_arguments_are_an_agents_mistake(name: str, modern: bool, served: Served) -> None:
    sender = Sender(served.open(), modern=modern)
    await sender.greet()
    _, reply = await sender.send(frame(params={"name": "cakes__get", "arguments": {"name": ODD[name]}}))
    assert reply.get("error", {}).get("code") == PARSE or reply["result"]["isError"] is True
    assert await sender.works()


@ERAS
async def test_twenty_megabytes_are_too_much(modern: bool, served: Served) -> None:
    sender = Sender(served.open(), modern=modern)
    await sender.greet()
    status, reply = await sender.send(frame(params={"name": "cakes__get", "arguments": {"name": "x" * 20_000_000}}))
    assert status == 413 and "larger than" in reply["error"]["message"]
    assert await sender.works()


@ERAS
@pytest.mark.parametrize("params", [{"requestId": 99}, {"requestId": [9]}, {}])
async def test_cancelling_what_is_not_under_way_does_nothing(modern: bool, params: Any, served: Served) -> None:
    sender = Sender(served.open(), modern=modern)
    await sender.greet()
    status, reply = await sender.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})
    assert (status, reply) == (202, None)
    assert await sender.works()


async def test_a_session_that_nobody_opened_is_not_found(served: Served) -> None:
    for session, status in (("nope", 404), ("\xe9", 404), ("", 404)):
        answered, _, _ = await fetch(served.open(), json.dumps(frame()).encode(), headers={"mcp-session-id": session})
        assert answered == status


@pytest.mark.parametrize(
    "path", ["/", "/mcp/../etc", "/w//mcp", "/w/%2e%2e/mcp", "/episodes", "/w/a/b/c/mcp", "/mcp%00"]
)
async def test_addresses_that_lead_nowhere_are_not_found(path: str, served: Served) -> None:
    origin = served.facts["mcp"].removesuffix("/mcp")
    status, _, content = await fetch(origin + path, json.dumps(HANDSHAKE).encode())
    assert status == 404 and "error" in json.loads(content)


# Clients that are slow, or leave.


@pytest.mark.parametrize(
    "sent",
    [b"", b"POST /mcp HTT", b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nX-A: 1\r\n"],
    ids=["nothing", "half a line", "headers without end"],
)
async def test_a_connection_whose_head_does_not_come_is_closed(sent: bytes, tmp_path: Path) -> None:
    async with serving(free_bakery(tmp_path), listening=Listening(patience=0.3)) as running:
        port = int(running.door.url.rpartition(":")[2])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(sent)
        async with asyncio.timeout(10):
            assert await reader.read() == b""
        writer.close()


async def test_a_body_that_does_not_come_is_408(tmp_path: Path) -> None:
    async with serving(free_bakery(tmp_path), listening=Listening(patience=0.3)) as running:
        for url, headers in (
            (f"{running.door.url}/mcp", {}),
            (f"{running.door.control_url}/episodes", {"authorization": f"Bearer {running.door.control_token}"}),
        ):
            reader, writer, _ = await opened(url, headers={**headers, "Transfer-Encoding": "chunked"})
            writer.write(b"5\r\n{")
            async with asyncio.timeout(10):
                assert (await reader.readline()).startswith(b"HTTP/1.1 408 ")
            writer.close()


@ERAS
async def test_a_call_whose_client_hangs_up_is_carried_out_and_holds_up_no_other_episode(
    modern: bool, tmp_path: Path
) -> None:
    (tmp_path / "free.yaml").write_text(WORLD)
    with FakeOpenAI([Say(f"**Environment Observation:**\n{json.dumps(CAKE)}")], latency=0.5) as model:
        chat = {"use": "chat", "tools": "cakes.get", "with": {"model": "fake", "base_url": model.url}}
        scenarios = load_target(str(tmp_path / "free.yaml"), world_models=[chat])
        async with serving(scenarios) as running:
            mine, other = await running.open(name="mine"), await running.open()
            sender, neighbour = Sender(mine["url"], modern=modern), Sender(other["url"], modern=modern)
            await sender.greet()
            await neighbour.greet()
            asked = frame(id=4, params={"name": "cakes__get", "arguments": {"name": "x"}})
            leaving = asyncio.create_task(sender.send(asked))
            while not model.chats:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            leaving.cancel()
            assert await neighbour.works()
            assert await sender.works()
            held = running.stage.host.find("mine")
            assert held is not None
            steps = [step.action.tool for step in held.environment.steps]
            assert steps == ["cakes.get", "cakes.list"] == [turn.steps[0].action.tool for turn in held.journal.turns]


async def test_streams_that_stand_end_with_the_server(tmp_path: Path) -> None:
    with started(tmp_path, "--port", "0", "--json") as process:
        assert process.stdout is not None
        url = json.loads(process.stdout.readline())["mcp"]
        sender = Sender(url, modern=False)
        await sender.greet()
        fetched, first, _ = await opened(url, method="GET", headers=sender.headers)
        asked = {**frame(method="subscriptions/listen"), "params": {"notifications": {}, "_meta": META}}
        headers = {"mcp-protocol-version": MODERN, "mcp-method": "subscriptions/listen"}
        listening, second, _ = await opened(url, json.dumps(asked).encode(), headers=headers)
        for reader in (fetched, listening):
            assert (await reader.readline()).startswith(b"HTTP/1.1 200 ")
        process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(20):
            # Chunked to the end, as a stream ends that nothing has cut off.
            assert [(await reader.read()).endswith(b"0\r\n\r\n") for reader in (fetched, listening)] == [True, True]
        first.close()
        second.close()


# Standard input and output.


def test_over_stdio_every_bad_line_has_an_answer(tmp_path: Path) -> None:
    lines = [
        json.dumps(message).encode() if not isinstance(message, bytes) else message
        for message, _ in NO_MESSAGES.values()
    ]
    expected = [code for (message, code), line in zip(NO_MESSAGES.values(), lines, strict=True) if line]
    big = json.dumps(frame(id=6, params={"name": "cakes__get", "arguments": {"name": "x" * 20_000_000}})).encode()
    with started(tmp_path, "--stdio") as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(json.dumps(HANDSHAKE).encode() + b"\n")
        assert json.loads(process.stdout.readline())["result"]["serverInfo"]["name"] == "bakery"
        for line, code in zip(filter(None, lines), expected, strict=True):
            process.stdin.write(line + b"\n")
            assert json.loads(process.stdout.readline())["error"]["code"] == code, line[:80]
        process.stdin.write(b"\n" + big + b"\n")
        answer = json.loads(process.stdout.readline())
        assert answer["id"] == 6 and answer["result"]["isError"] is True
        process.stdin.write(json.dumps(frame()).encode() + b"\n")
        assert json.loads(process.stdout.readline())["id"] == 5


def test_over_stdio_what_was_asked_before_the_end_is_answered(tmp_path: Path) -> None:
    with started(tmp_path, "--stdio") as process:
        asked = [HANDSHAKE, *(frame(id=number) for number in range(2, 12))]
        out, _ = process.communicate(b"".join(json.dumps(one).encode() + b"\n" for one in asked), timeout=30)
        assert {json.loads(line)["id"] for line in out.splitlines()} == set(range(1, 12))
    assert [len(one.steps) for one in read_run(tmp_path / "run")] == [10]


def test_over_stdio_a_client_that_reads_no_more_ends_the_server(tmp_path: Path) -> None:
    with started(tmp_path, "--stdio") as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(json.dumps(HANDSHAKE).encode() + b"\n")
        process.stdout.readline()
        process.stdout.close()
        process.stdin.write(json.dumps(frame()).encode() + b"\n")
        assert process.wait(20) == 0
    assert [len(one.steps) for one in read_run(tmp_path / "run")] == [1]


def test_over_stdio_a_client_that_never_reads_does_not_hold_up_the_end(tmp_path: Path) -> None:
    with started(tmp_path, "--stdio") as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(json.dumps(HANDSHAKE).encode() + b"\n")
        process.stdout.readline()
        os.set_blocking(process.stdin.fileno(), False)
        # Far more replies than a pipe holds, and nobody reads one of them.
        for number in range(2, 600):
            if not process.stdin.write(json.dumps(frame(id=number)).encode() + b"\n"):
                break
