"""The raw client: real servers in both eras, and servers that misbehave."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import subprocess
import sys
import threading
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path

import pytest
import real_servers
from mcp.server import MCPServer
from pytest import raises

from simtrain.mcp_wire.client import Client, connect, open_connection
from simtrain.mcp_wire.connection import ConnectionLimits
from simtrain.mcp_wire.eras import ALL_CAPABILITIES, HANDSHAKE, HANDSHAKE_VERSIONS, MODERN
from simtrain.mcp_wire.faults import ConnectionLost, ErrorReply, NotSpoken, TimedOut
from simtrain.mcp_wire.frames import decode_frames, encode_frame
from simtrain.mcp_wire.headers import encode_header, mirrored, parameter_headers
from simtrain.mcp_wire.stdio import environment
from simtrain.mcp_wire.targets import HttpTarget, StdioTarget, parse_target, server_name
from simtrain.values.errors import InputError

pytestmark = pytest.mark.slow

HERE = Path(__file__).parents[1] / "support"
CALL = {"name": "get_text", "arguments": {"text": "a"}}


def misbehaving(how: str, *more: str, env: dict[str, str] | None = None) -> StdioTarget:
    return StdioTarget((sys.executable, str(HERE / "misbehaving_server.py"), how, *more), env)


def is_alive(process: int) -> bool:
    """Whether a process runs; one that has ended may wait to be collected by init."""
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(process)], capture_output=True, text=True).stdout.strip()
    return bool(state) and not state.startswith("Z")


@contextlib.asynccontextmanager
async def client_of(
    how: str, *, timeout: float = 20.0, limits: ConnectionLimits | None = None
) -> AsyncGenerator[Client]:
    async with connect(misbehaving(how), era=HANDSHAKE, timeout=timeout, limits=limits) as client:
        yield client


@pytest.fixture(scope="module")
def everything_url() -> Iterator[str]:
    """The reference server `everything` over streamable HTTP."""
    words = [*real_servers.command("everything"), "streamableHttp"]
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with subprocess.Popen(
        words, env=os.environ | {"PORT": str(port)}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if str(port) in line:
                break
        yield f"http://127.0.0.1:{port}/mcp"
        process.kill()


@pytest.fixture(scope="module")
def sdk_url() -> Iterator[str]:
    """A server of the Python SDK over streamable HTTP, which speaks both eras."""
    import uvicorn

    server = MCPServer("sums")

    @server.tool()
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    listening = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(server.streamable_http_app(), log_level="error", http="h11", ws="none")
    running = uvicorn.Server(config)
    thread = threading.Thread(target=running.run, kwargs={"sockets": [listening]})
    thread.start()
    yield f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
    running.should_exit = True
    thread.join()


@pytest.mark.parametrize("era", [HANDSHAKE, MODERN])
async def test_an_sdk_server_is_spoken_to_over_http_in_both_eras(sdk_url: str, era: str) -> None:
    async with connect(HttpTarget(sdk_url), era=era) as client:
        pages = await client.list("tools/list")
        exchange = await client.request("tools/call", {"name": "add", "arguments": {"a": 1, "b": 2}})
    assert [tool["name"] for tool in pages[0]["tools"]] == ["add"]
    assert exchange.result is not None and exchange.result["structuredContent"] == {"result": 3}
    assert ("resultType" in exchange.result) == (era == MODERN)
    assert exchange.params == {"name": "add", "arguments": {"a": 1, "b": 2}} and exchange.era == era


@pytest.mark.parametrize("era", [HANDSHAKE, MODERN])
@pytest.mark.full
async def test_a_python_server_is_spoken_to_over_stdio_in_both_eras(era: str) -> None:
    target = StdioTarget(tuple(real_servers.command("time", "--local-timezone", "UTC")))
    async with connect(target, era=era) as client:
        assert len((await client.list("tools/list"))[0]["tools"]) == 2
        unknown = await client.request("no/such", {})
    assert unknown.response["error"]["code"] == -32601


@pytest.mark.parametrize("version", HANDSHAKE_VERSIONS)
async def test_every_revision_of_the_handshake_era_can_be_asked_for(version: str) -> None:
    async with connect(misbehaving("well"), era=version) as client:
        assert client.version == version


async def test_a_server_of_the_handshake_era_does_not_speak_the_modern_one() -> None:
    with raises(NotSpoken, match="does not speak 2026-07-28"):
        async with connect(misbehaving("well"), era=MODERN):
            pass


async def test_questions_progress_and_logs_are_kept_with_the_call_they_belong_to_over_http(everything_url: str) -> None:
    async with connect(HttpTarget(everything_url), era=HANDSHAKE, capabilities=ALL_CAPABILITIES) as client:
        long = {"name": "trigger-long-running-operation", "arguments": {"duration": 0.3, "steps": 3}}
        asking = {"name": "trigger-sampling-request", "arguments": {"prompt": "hello"}}
        slow, asked = await asyncio.gather(
            client.request("tools/call", long, progress=True), client.request("tools/call", asking)
        )
    progress = [note["params"]["progress"] for note in slow.notifications if note["method"] == "notifications/progress"]
    assert progress == [1, 2, 3] and "_meta" not in slow.params
    assert [ask["method"] for ask in asked.asks] == ["sampling/createMessage"]
    assert "canned" in str(asked.response)


async def test_questions_and_progress_are_answered_over_stdio() -> None:
    target = StdioTarget(tuple(real_servers.command("everything")))
    async with connect(target, era=HANDSHAKE, capabilities=ALL_CAPABILITIES) as client:
        form = await client.request("tools/call", {"name": "trigger-elicitation-request", "arguments": {}})
    assert [ask["method"] for ask in form.asks] == ["elicitation/create"]
    assert form.asks[0]["answer"]["result"]["action"] == "accept"
    assert "User provided the requested information" in str(form.response)


async def test_what_a_client_has_not_declared_it_refuses() -> None:
    from simtrain.mcp_wire.answers import Canned
    from simtrain.mcp_wire.traffic import Traffic

    async with open_connection(misbehaving("well")) as connection:
        traffic = Traffic(
            misbehaving("well"), connection, capabilities={"roots": {}}, answers=Canned(roots=("file:///a/b",))
        )
        assert (await traffic.answer("roots/list", {}))["result"]["roots"] == [{"uri": "file:///a/b", "name": "b"}]
        assert (await traffic.answer("sampling/createMessage", {}))["error"]["code"] == -32601
        assert await traffic.answer("ping", {}) == {"result": {}}


async def test_pages_are_all_asked_for_and_kept_apart() -> None:
    async with client_of("pages") as client:
        pages = await client.list("tools/list")
    assert [page["tools"][0]["name"] for page in pages] == ["get_0", "get_1", "get_2"]
    assert [page.get("nextCursor") for page in pages] == ["1", "2", None]


async def test_a_cursor_that_comes_again_ends_the_list() -> None:
    async with client_of("same-cursor") as client:
        with raises(ConnectionLost, match="twice"):
            await client.list("tools/list")


async def test_an_error_reply_is_an_answer_to_a_request_and_a_fault_to_a_list() -> None:
    async with client_of("well") as client:
        assert (await client.request("resources/list")).response["error"]["message"] == "Method not found"
        with raises(ErrorReply) as fault:
            await client.list("resources/list")
    assert fault.value.error == {"code": -32601, "message": "Method not found"}


async def test_order_numbers_and_unknown_fields_arrive_as_they_were_sent() -> None:
    async with client_of("well") as client:
        page = (await client.list("tools/list"))[0]
    assert list(page) == ["tools", "zeta", "alpha"]
    assert page["alpha"] == {"b": 1.0, "a": 2**70} and isinstance(page["alpha"]["b"], float)


@pytest.mark.parametrize("how", ["chatty", "prints-before-json"])
async def test_what_a_server_prints_before_its_json_is_passed_over_and_kept(how: str) -> None:
    async with client_of(how) as client:
        assert "fine" in str((await client.request("tools/call", CALL)).response)
        assert client.connection.strays.count >= 1
        assert client.connection.strays.first[0] in ("Listening on stdio ...", "DEBUG about to answer")


async def test_a_server_that_dies_in_a_call_is_named_with_its_last_words() -> None:
    async with client_of("dies") as client:
        with raises(ConnectionLost, match=r"misbehaving.* ended with exit code 1.*out of memory"):
            await client.request("tools/call", CALL)
        with raises(ConnectionLost):
            await client.request("tools/list")


async def test_twenty_megabytes_arrive_whole() -> None:
    async with client_of("huge") as client:
        exchange = await client.request("tools/call", CALL)
    assert exchange.result is not None and len(exchange.result["content"][0]["text"]) == 20_000_000


async def test_a_line_above_the_limit_ends_the_connection_with_a_clear_fault() -> None:
    async with client_of("huge", limits=ConnectionLimits(frame=1024 * 1024)) as client:
        with raises(ConnectionLost, match="more than 1 MiB"):
            await client.request("tools/call", CALL)


async def test_a_wrong_id_is_named_when_time_is_up_and_other_calls_go_on() -> None:
    async with client_of("wrong-id") as client:
        with raises(TimedOut, match="1 of its answers had an id"):
            await client.request("tools/call", CALL, timeout=0.5)
        assert await client.list("tools/list")


async def test_a_call_that_is_never_answered_ends_at_its_limit() -> None:
    async with client_of("never-answers") as client:
        with raises(TimedOut, match=r"did not answer tools/call within 0\.3 s"):
            await client.request("tools/call", CALL, timeout=0.3)
        assert await client.list("tools/list")


async def test_an_answer_without_result_or_error_is_a_fault() -> None:
    async with client_of("no-result") as client:
        with raises(ConnectionLost, match="neither a result nor an error"):
            await client.request("tools/call", CALL)


async def test_half_a_surrogate_pair_arrives_and_can_be_written_again() -> None:
    async with client_of("surrogate") as client:
        exchange = await client.request("tools/call", CALL)
    assert exchange.result is not None and exchange.result["content"][0]["text"] == "half \ud83d of a pair"
    assert decode_frames(encode_frame({"jsonrpc": "2.0", "x": "\ud83d", "n": 2**70}))


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("refuses", "no such table"),
        ("mute", r"did not answer initialize within 0\.5 s"),
        ("ancient", "speaks .*1999-01-01"),
    ],
)
async def test_a_server_that_does_not_start_is_bad_input_with_its_last_words(how: str, said: str) -> None:
    with raises(InputError, match=said):
        async with client_of(how, timeout=0.5 if how == "mute" else 20.0):
            pass


@pytest.mark.parametrize("command", [("no-such-program-anywhere",), (str(HERE),)])
async def test_a_command_that_cannot_be_started_is_bad_input(command: tuple[str, ...]) -> None:
    with raises(InputError, match="cannot be started"):
        async with connect(StdioTarget(command), era=HANDSHAKE):
            pass


async def test_a_folder_that_is_not_there_is_named() -> None:
    with raises(InputError, match="there is no folder /no/such/folder"):
        async with connect(StdioTarget(misbehaving("well").command, cwd=Path("/no/such/folder")), era=HANDSHAKE):
            pass


async def test_nobody_behind_a_url_is_bad_input() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with raises(InputError, match="cannot be reached"):
        async with connect(HttpTarget(f"http://127.0.0.1:{port}/mcp"), era=HANDSHAKE):
            pass


async def test_a_server_that_ignores_the_end_of_its_input_is_ended(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    async with connect(misbehaving("ignores-the-end", str(note)), era=HANDSHAKE, limits=ConnectionLimits(close=0.5)):
        pass
    assert not is_alive(int(note.read_text()))


async def test_the_children_of_a_server_end_with_it(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    async with connect(misbehaving("leaves-a-child", str(note)), era=HANDSHAKE):
        child = int(note.read_text())
        assert is_alive(child)
    assert not is_alive(child)


def test_a_server_sees_no_keys_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    monkeypatch.setenv("LC_ALL", "C")
    seen = environment({"EXTRA": "1"})
    assert "OPENAI_API_KEY" not in seen and seen["EXTRA"] == "1" and seen["LC_ALL"] == "C" and "PATH" in seen


@pytest.mark.parametrize("text", ["", "   ", 'python "x', "http://", "https://:80/", "http://a:b/"])
def test_what_is_no_server_is_bad_input(text: str) -> None:
    with raises(InputError):
        parse_target(text)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("npx -y @modelcontextprotocol/server-memory@2026.8.31", "memory"),
        ("python3.11 -m mcp_server_git --repository x", "git"),
        ("uvx mcp-server-time --local-timezone UTC", "time"),
        ("npx @playwright/mcp@latest", "playwright"),
        ("/usr/bin/env A=b /x/node /n/@modelcontextprotocol/server-memory/dist/index.js", "memory"),
        ("docker run -i --rm -e TOKEN ghcr.io/github/github-mcp-server", "github"),
        ("https://mcp.linear.app/mcp", "linear"),
        ("http://127.0.0.1:8000/mcp", "127-0-0-1"),
    ],
)
def test_a_server_is_named_after_its_package_or_host(text: str, name: str) -> None:
    assert server_name(parse_target(text)) == name


def test_messages_hold_no_secrets_of_a_url() -> None:
    assert str(HttpTarget("https://user:secret@host.example/mcp?key=secret")) == "https://host.example/mcp"


def test_parameters_travel_in_headers_where_a_tool_says_so() -> None:
    schema = {
        "type": "object",
        "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "deep": {"type": "object", "properties": {"on": {"type": "boolean", "x-mcp-header": "On"}}},
            "n": {"type": "integer"},
        },
    }
    declared = parameter_headers(schema)
    assert mirrored(declared, {"region": "Zürich", "deep": {"on": True}, "n": 1}) == {
        "Mcp-Param-Region": "=?base64?WsO8cmljaA==?=",
        "Mcp-Param-On": "true",
    }
    assert mirrored(declared, {"deep": 3}) == {} and encode_header("plain text") == "plain text"
