"""The relay over HTTP: untouched bodies and events, as they come, for this machine only, and one real write."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import real_servers
from mcp import Client, MCPError
from raw_http import STREAM, Asked, RawServer, chunks, fetch, opened, reply
from serving_bakery import bakery_scenario, serving
from twice import Breaks, Twice

from simtrain.contracts.perturbation import Armed, Perturbation, When
from simtrain.mcp.relay.http_relay import HttpRelay
from simtrain.mcp.relay.journal import RelayJournal
from simtrain.mcp.relay.perturb import Perturber, RelayRules
from simtrain.mcp.relay.upstream import RelayLimits
from simtrain.mcp_wire.client import connect
from simtrain.mcp_wire.targets import HttpTarget
from simtrain.perturbations.dropped_tool import DroppedTool
from simtrain.perturbations.latency import Latency
from simtrain.perturbations.renamed_tools import RenamedTools
from simtrain.perturbations.schema_drift import SchemaDrift
from simtrain.perturbations.transient_error import TransientError
from simtrain.perturbations.truncated_output import TruncatedOutput
from simtrain.values.errors import InputError
from simtrain.worlds.recorded.recorded_sessions import read_exchanges
from simtrain.worlds.recorded.recording import Recorder
from tests.mcp.test_relay import RELAY, frames

pytestmark = pytest.mark.slow

MODERN = {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}
ERAS = pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])


def armed(perturbation: Perturbation, label: str = "it", **when: Any) -> Armed:
    return Armed(label, label, When(**when), perturbation)


@asynccontextmanager
async def relaying(
    url: str,
    *perturbations: Armed,
    record: Path | None = None,
    rules: RelayRules | None = None,
    limits: RelayLimits | None = None,
) -> AsyncGenerator[HttpRelay]:
    recorder = None if record is None else Recorder(record, server="raw", transport="http")
    perturber = Perturber(perturbations, rules=rules)
    try:
        async with (
            asyncio.timeout(60),
            HttpRelay(HttpTarget(url), perturber=perturber, journal=RelayJournal(recorder), limits=limits) as relay,
        ):
            yield relay
    finally:
        if recorder is not None:
            recorder.close()


def call(identity: Any, tool: str, _meta: Any = None, **arguments: Any) -> bytes:
    params = {"name": tool, "arguments": arguments} | ({"_meta": _meta} if _meta else {})
    return json.dumps({"jsonrpc": "2.0", "id": identity, "method": "tools/call", "params": params}).encode()


def odd(asked: Asked, **members: Any) -> bytes:
    """A reply written in an unusual way."""
    text = json.dumps(json.dumps({"said": asked.frame["params"]["arguments"]}))
    return (
        f'{{ "result":{{"content" : [{{"text":{text}, "type":"text"}}], "x":"\\u00fc\\/", "n":1e2}},'
        f'"id" : {json.dumps(asked.frame["id"])}, "jsonrpc":"2.0" }}\n'
    ).encode()


async def plainly(asked: Asked) -> AsyncIterator[bytes]:
    yield reply(odd(asked), headers="X-Strange: yes\r\nMcp-Session-Id: the-session\r\n")


async def in_events(asked: Asked) -> AsyncIterator[bytes]:
    note = b'{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"half"}}'
    yield STREAM + b": hello\r\n\r\nid: 1\r\nevent: message\r\ndata:" + note + b"\r\n\r\n"
    yield b"retry: 10\ndata: " + odd(asked).strip() + b"\nid: 2\n\ndata: no JSON at all\n\n: the end"


@pytest.mark.parametrize("answer", [plainly, in_events])
async def test_not_a_byte_of_request_or_reply_is_changed(answer: Any, tmp_path: Path) -> None:
    body = b'  {"method":"tools/call", "id":"a", "jsonrpc":"2.0","params":{"arguments":{"b":"\\u00fc"},"name":"echo"}} '
    headers = {
        "Mcp-Session-Id": "given",
        "X-Mine": "1",
        "Authorization": "Bearer abc",
        "Connection": "close, X-Hop",
        "X-Hop": "1",
    }
    never = armed(TransientError(), nth=99)
    async with (
        RawServer(answer) as server,
        relaying(server.url, record=tmp_path / "a.jsonl") as plain,
        relaying(server.url, never) as bent,
    ):
        direct, *relayed = [await fetch(url, body, headers=headers) for url in (server.url, plain.url, bent.url)]
        for status, found, content in relayed:
            assert (status, content) == (direct[0], direct[2])
            assert {name: found[name] for name in direct[1] if name != "connection"} == {
                name: value for name, value in direct[1].items() if name != "connection"
            }
        for asked in server.asked[1:]:
            assert asked.body == body and asked.target == "/mcp"
            assert asked.headers["host"] == server.url.split("/")[2] and asked.headers["accept-encoding"] == "identity"
            assert (asked.headers["x-mine"], asked.headers["authorization"]) == (
                "1",
                "Bearer abc",
            ) and "x-hop" not in asked.headers
    text = (tmp_path / "a.jsonl").read_text()
    assert "Bearer" not in text and "abc" not in text and "the-session" not in text and "given" not in text
    (exchange,) = read_exchanges(tmp_path / "a.jsonl")
    assert exchange.params == {"arguments": {"b": "ü"}, "name": "echo"} and len(exchange.notifications) == (
        answer is in_events
    )


async def test_events_are_passed_on_as_they_come() -> None:
    more = asyncio.Event()

    async def slowly(asked: Asked) -> AsyncIterator[bytes]:
        yield STREAM + b"data: 1\n\nda"
        await more.wait()
        yield b"ta: 2\n\n"

    async with RawServer(slowly) as server, relaying(server.url) as relay:
        reader, writer, _ = await opened(relay.url, method="GET")
        await reader.readuntil(b"\r\n\r\n")
        events = chunks(reader)
        assert await anext(events) == b"data: 1\n\n"
        more.set()
        assert await anext(events) == b"data: 2\n\n"
        writer.close()


async def test_a_client_that_leaves_takes_the_servers_stream_with_it() -> None:
    async def endless(asked: Asked) -> AsyncIterator[bytes]:
        yield STREAM + b": begun\n\n"
        await asked.left.wait()

    async with RawServer(endless) as server, relaying(server.url) as relay:
        reader, writer, _ = await opened(relay.url, method="GET")
        await reader.readuntil(b": begun\n\n")
        writer.transport.abort()
        await server.asked[0].left.wait()


async def test_a_server_that_dies_in_the_middle_does_so_for_the_client_too() -> None:
    async def dying(asked: Asked) -> AsyncIterator[bytes]:
        if asked.method == "GET":
            yield b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n: a\n\n\r\n"
        else:
            yield b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{"jsonrpc'

    async with RawServer(dying) as server, relaying(server.url) as relay:
        reader, writer, _ = await opened(relay.url, method="GET")
        await reader.readuntil(b": a\n\n")
        with pytest.raises((asyncio.IncompleteReadError, ConnectionError, ValueError)):
            _ = [chunk async for chunk in chunks(reader)]
        writer.close()
        status, _, content = await fetch(relay.url, call(1, "echo"))
        assert status == 502 and "the server cannot be reached" in json.loads(content)["error"]["message"]
        assert server.connections == 2


async def test_a_server_that_is_not_there_is_502_and_comes_back() -> None:
    async with RawServer(plainly) as server:
        url = server.url
    async with relaying(url) as relay:
        status, _, content = await fetch(relay.url, call(1, "echo"))
        assert status == 502 and json.loads(content)["error"]["message"].startswith(
            "simtrain relay: the server cannot be reached"
        )


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 421),
        ({"Host": "127.0.0.1.evil.example"}, 421),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Host": "localhost:1", "Origin": "http://localhost:3000"}, 200),
    ],
)
async def test_pages_of_other_sites_are_turned_away(headers: dict[str, str], status: int) -> None:
    async with RawServer(plainly) as server, relaying(server.url) as relay:
        assert (await fetch(relay.url, call(1, "echo"), headers=headers))[0] == status
        assert len(server.asked) == (status == 200)
        if status == 200:
            assert server.asked[0].headers["origin"] == server.url.removesuffix("/mcp")


async def test_a_body_above_the_limit_is_413_and_goes_nowhere() -> None:
    async with RawServer(plainly) as server, relaying(server.url, limits=RelayLimits(body=1000)) as relay:
        assert (await fetch(relay.url, call(1, "echo", text="x" * 2_000_000)))[0] == 413
        assert server.asked == []


@pytest.mark.parametrize(
    "raw",
    [
        b"NONSENSE\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
        b"\x16\x03\x01" * 30000,
    ],
)
async def test_what_is_no_http_ends_its_own_connection_only(raw: bytes) -> None:
    async with RawServer(plainly) as server, relaying(server.url) as relay:
        reader, writer = await asyncio.open_connection("127.0.0.1", relay.port)
        writer.write(raw)
        with suppress(ConnectionError):
            assert (await reader.read()).partition(b" ")[2].startswith(b"400 ")
        writer.close()
        assert (await fetch(relay.url, call(1, "echo")))[0] == 200


async def test_a_server_that_never_answers_has_a_limit() -> None:
    async def silent(asked: Asked) -> AsyncIterator[bytes]:
        await asked.left.wait()
        yield b""

    async with RawServer(silent) as server, relaying(server.url, limits=RelayLimits(reply=0.2)) as relay:
        status, _, content = await fetch(relay.url, call(1, "echo"))
        assert status == 502 and "no reply within 0.2 s" in json.loads(content)["error"]["message"]


@pytest.mark.parametrize("answer", [plainly, in_events])
@pytest.mark.parametrize("meta", [None, MODERN["_meta"]], ids=["handshake", "modern"])
async def test_calls_are_bent_in_documents_and_in_events(answer: Any, meta: Any, tmp_path: Path) -> None:
    record = tmp_path / "rec.jsonl"
    bent = (
        armed(TransientError(status=502), "fails", nth=1),
        armed(TruncatedOutput(keep=0.5, marker="~"), "cuts", nth=2),
        armed(SchemaDrift(rename={"said": "heard"}), "drifts", nth=3),
        armed(Latency(seconds=9, jitter=0), "late", nth=4),
    )
    async with RawServer(answer) as server, relaying(server.url, *bent, record=record) as relay:
        bodies = [(await fetch(relay.url, call(n, "echo", _meta=meta, a=n)))[2] for n in (1, 2, 3, 4)]
        assert [asked.frame["id"] for asked in server.asked] == [2, 3, 4]
        _, _, untouched = await fetch(server.url, call(4, "echo", _meta=meta, a=4))
    failed = json.loads(bodies[0])
    assert failed["id"] == 1 and failed["result"]["isError"] is True
    assert ("resultType" in failed["result"]) == (meta is not None)
    cut, drifted = (result_of(body) for body in bodies[1:3])
    whole = json.dumps({"said": {"a": 2}})
    assert cut == {"content": [{"type": "text", "text": whole[: len(whole) // 2] + "~"}], "x": "ü/", "n": 100.0}
    assert json.loads(drifted["content"][0]["text"]) == {"heard": {"a": 3}}
    assert bodies[3] == untouched
    if answer is in_events:
        assert bodies[1].startswith(b": hello\r\n\r\nid: 1\r\n") and bodies[1].endswith(
            b"data: no JSON at all\n\n: the end"
        )
        assert b"retry: 10\nid: 2\ndata: {" in bodies[1]
    fired = [
        note["by"][0]["label"] for frame in frames(record) if (note := frame.perturbed) and frame.sender == "server"
    ]
    assert fired == ["fails", "cuts", "drifts", "late"]
    # What the server said, not what the client got.
    assert [result["content"][0]["text"] for exchange in read_exchanges(record) if (result := exchange.result)] == [
        json.dumps({"said": {"a": n}}) for n in (2, 3, 4)
    ]


def result_of(body: bytes) -> Any:
    lines = [line.removeprefix(b"data: ") for line in body.splitlines() if b'"result"' in line]
    return json.loads(lines[0] if lines else body)["result"]


async def test_a_reply_on_another_stream_of_the_session_is_bent_as_well() -> None:
    async def polling(asked: Asked) -> AsyncIterator[bytes]:
        if asked.method == "POST":
            yield STREAM + b"id: 1\ndata:\n\n"
        else:
            said = {"jsonrpc": "2.0", "id": 5, "result": {"content": [{"type": "text", "text": "abcdef"}]}}
            yield STREAM + b"id: 2\ndata: " + json.dumps(said).encode() + b"\n\n"

    cutting = armed(TruncatedOutput(keep=0.5, marker="~"))
    async with RawServer(polling) as server, relaying(server.url, cutting) as relay:
        session = {"Mcp-Session-Id": "s"}
        _, _, first = await fetch(relay.url, call(5, "echo"), headers=session)
        assert first == b"id: 1\ndata:\n\n"
        _, _, second = await fetch(relay.url, method="GET", headers={**session, "Last-Event-ID": "1"})
        assert result_of(second)["content"][0]["text"] == "abc~"


@pytest.mark.parametrize("answer", [plainly, in_events])
@pytest.mark.parametrize(("rules", "count"), [(RelayRules(), 1), (RelayRules(allow_duplicates=True), 2)])
async def test_a_second_real_call_needs_leave(answer: Any, rules: RelayRules, count: int) -> None:
    async with RawServer(answer) as server, relaying(server.url, armed(Twice()), rules=rules) as relay:
        _, _, content = await fetch(relay.url, call(7, "pay", x=1))
        assert [asked.frame["params"]["arguments"] for asked in server.asked] == [{"x": 1}, {"x": 1, "again": True}][
            :count
        ]
        assert len({asked.frame["id"] for asked in server.asked}) == count
    said = json.loads(result_of(content)["content"][0]["text"])["said"]
    assert said == server.asked[-1].frame["params"]["arguments"]
    assert b'"id":7' in content.replace(b" ", b"")


@pytest.mark.parametrize("late", [False, True])
async def test_a_perturbation_that_breaks_down_bends_nothing(late: bool) -> None:
    async with RawServer(plainly) as server, relaying(server.url, armed(Breaks(late=late))) as relay:
        assert (await fetch(relay.url, call(7, "pay", x=1)))[2] == (await fetch(server.url, call(7, "pay", x=1)))[2]


async def test_a_request_is_never_sent_again_on_a_connection_that_died() -> None:
    async def once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # Keeps its connection open, and breaks it off when the second request is there.
        for number in range(2):
            head = await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0]))
            calls.append(number)
            if number == 0:
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
        writer.transport.abort()

    calls: list[int] = []
    server = await asyncio.start_server(once, "127.0.0.1", 0)
    async with server, relaying(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp") as relay:
        assert (await fetch(relay.url, call(1, "pay")))[0] == 200
        assert (await fetch(relay.url, call(2, "pay")))[0] == 502
        assert calls == [0, 1]


async def test_a_redirection_within_the_server_stays_within_the_relay() -> None:
    async def elsewhere(asked: Asked) -> AsyncIterator[bytes]:
        yield reply(b"", status="307 Temporary Redirect", headers=f"Location: http://{asked.headers['host']}/mcp/\r\n")

    async with RawServer(elsewhere) as server, relaying(server.url) as relay:
        status, headers, _ = await fetch(relay.url, call(1, "echo"))
        assert (status, headers["location"]) == (307, "/mcp/")


@ERAS
async def test_the_official_client_sees_the_same_through_the_relay(mode: str, tmp_path: Path) -> None:
    async with serving([bakery_scenario(tmp_path)]) as served:
        said: list[Any] = []
        for url in (served.door.url + "/cakes/mcp", None):
            async with (
                relaying(served.door.url + "/cakes/mcp", record=tmp_path / f"{mode}.jsonl") as relay,
                Client(url or relay.url, mode=mode) as client,
            ):
                tools = (await client.list_tools()).model_dump_json()
                listed = (await client.call_tool("list", {})).model_dump_json()
                said.append((tools, listed, (await client.list_resources()).model_dump_json()))
        assert said[0] == said[1]
    calls = [exchange for exchange in read_exchanges(tmp_path / f"{mode}.jsonl") if exchange.method == "tools/call"]
    assert len(calls) == 1 and calls[0].era == ("2025-11-25" if mode == "legacy" else mode)


@ERAS
async def test_the_official_client_meets_perturbations(mode: str, tmp_path: Path) -> None:
    bent = (
        armed(DroppedTool(tools="get"), "drops"),
        armed(TruncatedOutput(keep=0.5), "cuts", tools="list", nth=2),
        armed(TransientError(), "fails", tools="list", nth=3),
        armed(SchemaDrift(rename={"stock": "in_stock"}), "drifts", tools="list", nth=4),
    )
    async with (
        serving([bakery_scenario(tmp_path)]) as served,
        relaying(served.door.url + "/cakes/mcp", *bent) as relay,
        Client(relay.url, mode=mode) as client,
    ):
        assert [tool.name for tool in (await client.list_tools()).tools] == ["list"]
        # The client checks structured content against the output schema, and raises where it does not fit.
        whole, cut, failed, drifted = [await client.call_tool("list", {}) for _ in range(4)]
        assert len(cut.content[0].text) < len(whole.content[0].text) and cut.structured_content is not None
        assert failed.is_error
        assert drifted.structured_content["cakes"][0].keys() == {"id", "name", "price", "in_stock"}
        with pytest.raises(MCPError, match="Unknown tool: get"):
            await client.call_tool("get", {"name": "x"})


@ERAS
async def test_reads_are_bent_as_well(mode: str, tmp_path: Path) -> None:
    bent = (
        armed(TransientError(), "fails", tools="resources/read", nth=1),
        armed(TruncatedOutput(keep=0.5, marker=""), "cuts", tools=["resources/read", "prompts/get"], nth=[2, 4]),
    )
    recording = tmp_path / "recording.jsonl"
    async with (
        serving([bakery_scenario(tmp_path)]) as served,
        relaying(served.door.url + "/cakes/mcp", *bent, record=recording) as relay,
        Client(relay.url, mode=mode) as client,
    ):
        with pytest.raises(MCPError, match=r"5\d\d"):
            await client.read_resource("bakery://board")
        cut, whole = [(await client.read_resource("bakery://board")).contents[0] for _ in range(2)]
        said = (await client.get_prompt("sell", {"cake": "Linzer"})).messages[0]
        assert cut.text == whole.text[: len(whole.text) // 2] and cut.mime_type == whole.mime_type
        assert (said.role, said.content.text) == ("user", "Sell L")
        steps = [step.action.tool for held in served.stage.host for step in held.environment.steps]
    # The first was kept back: it never reached the server.
    assert steps == ["cakes.resources/read"] * 2 + ["cakes.prompts/get"]
    whole_texts = [exchange.response for exchange in read_exchanges(recording) if exchange.method == "resources/read"]
    assert [response["result"]["contents"][0]["text"] for response in whole_texts] == [whole.text] * 2


async def test_many_clients_at_once_get_each_their_own_replies() -> None:
    async with (
        RawServer(in_events) as server,
        relaying(server.url, armed(Latency(seconds=1), probability=0.5)) as relay,
    ):

        async def one(number: int) -> Any:
            _, _, content = await fetch(relay.url, call(1, "echo", mine=number))
            return json.loads(result_of(content)["content"][0]["text"])["said"]["mine"]

        assert await asyncio.gather(*map(one, range(100))) == list(range(100))


async def test_a_real_server_says_the_same_over_http(tmp_path: Path) -> None:
    port = free_port()
    command = real_servers.command("everything", "streamableHttp", env={"PORT": str(port)})
    process = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.PIPE, stdout=subprocess.DEVNULL)
    assert process.stderr is not None
    try:
        async with asyncio.timeout(30):
            while b"listening" not in (line := await process.stderr.readline()):
                assert line, "the server did not start"
        url = f"http://127.0.0.1:{port}/mcp"
        said: list[str] = []
        async with relaying(url, record=tmp_path / "rec.jsonl") as relay:
            for address in (url, relay.url):
                async with connect(HttpTarget(address), era="2025-11-25", capabilities={"sampling": {}}) as client:
                    listed = await client.list("tools/list")
                    asked = {"name": "trigger-sampling-request", "arguments": {"prompt": "hi"}}
                    replies = [
                        (found.response, found.notifications, found.asks)
                        for found in [
                            await client.request("tools/call", {"name": "echo", "arguments": {"message": "hi"}}),
                            await client.request(
                                "tools/call",
                                {"name": "trigger-long-running-operation", "arguments": {"duration": 0.2, "steps": 2}},
                                progress=True,
                            ),
                            await client.request("tools/call", asked),
                        ]
                    ]
                    said.append(json.dumps([client.greeting, listed, replies]))
        assert said[0] == said[1]
        assert [
            len(exchange.asks) for exchange in read_exchanges(tmp_path / "rec.jsonl") if exchange.method == "tools/call"
        ] == [0, 0, 1]
    finally:
        process.terminate()
        await process.communicate()


async def test_the_command_says_where_it_listens_and_ends_on_a_signal(tmp_path: Path) -> None:
    async with RawServer(plainly) as server:
        words = [*RELAY, server.url, "--record", str(tmp_path / "rec.jsonl"), "--json"]
        process = await asyncio.create_subprocess_exec(*words, stderr=asyncio.subprocess.PIPE)
        assert process.stderr is not None
        async with asyncio.timeout(30):
            said = json.loads(await process.stderr.readline())
            assert said["server"] == server.url
            assert (await fetch(said["url"], call(1, "echo")))[0] == 200
            process.terminate()
            _, rest = await process.communicate()
        found = json.loads(rest)
        assert process.returncode == 0 and (found["frames"], found["fired"], found["cases"]) == (2, {}, [])
    assert len(read_exchanges(tmp_path / "rec.jsonl")) == 1


async def test_a_port_that_is_taken_is_one_line() -> None:
    async with RawServer(plainly) as server:
        port = int(server.url.rpartition(":")[2].partition("/")[0])
        with pytest.raises(InputError, match=f"port {port} cannot be used: .*; choose another with --port"):
            async with HttpRelay(
                HttpTarget(server.url), perturber=Perturber(()), journal=RelayJournal(None), port=port
            ):
                pass


def free_port() -> int:
    import socket

    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def said_by(client: str) -> tuple[dict[str, str], dict[str, Any]]:
    """How a request shows which client sent it: by its session, or by what it says of itself."""
    if client.startswith("session"):
        return {"mcp-session-id": client}, {}
    info = {"io.modelcontextprotocol/clientInfo": {"name": client, "version": "1"}}
    return {}, {"_meta": MODERN["_meta"] | info}


async def to_each_its_own(asked: Asked) -> AsyncIterator[bytes]:
    """A server that has a tool more for clients called `...more`; calls are answered with the name of the tool that was called."""
    frame = asked.frame
    name = frame["params"].get("_meta", {}).get("io.modelcontextprotocol/clientInfo", {}).get("name", "")
    more = (asked.headers.get("mcp-session-id") or name).endswith("more")
    tools = [
        {"name": tool, "inputSchema": {"type": "object"}} for tool in ("list_users", *(["get_user"] if more else []))
    ]
    called = {"content": [{"type": "text", "text": frame["params"].get("name")}]}
    result = {"tools": tools} if frame["method"] == "tools/list" else called
    yield reply(json.dumps({"jsonrpc": "2.0", "id": frame["id"], "result": result}).encode())


@pytest.mark.parametrize("kind", ["session", "client"])
async def test_every_client_has_the_tools_that_it_was_shown(kind: str) -> None:
    async def ask(url: str, client: str, method: str, **params: Any) -> Any:
        headers, meta = said_by(f"{kind} {client}".replace(" ", "-"))
        frame = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params | meta}
        _, _, body = await fetch(url, json.dumps(frame).encode(), headers=headers)
        return json.loads(body)["result"]

    async with (
        RawServer(to_each_its_own) as server,
        relaying(server.url, armed(RenamedTools(arguments=False), "renames")) as relay,
    ):
        names = {
            client: [tool["name"] for tool in (await ask(relay.url, client, "tools/list"))["tools"]]
            for client in ("more", "less")
        }
        assert names == {"more": ["enumerate_users", "fetch_user"], "less": ["enumerate_users"]}
        for client, tool, reached in (
            ("more", "fetch_user", "get_user"),
            ("less", "enumerate_users", "list_users"),
            ("more", "enumerate_users", "list_users"),
            # Who did not list the tools knows them from whoever listed them last.
            ("new", "enumerate_users", "list_users"),
        ):
            said = await ask(relay.url, client, "tools/call", name=tool, arguments={})
            assert said["content"][0]["text"] == reached
