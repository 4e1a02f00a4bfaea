"""The relay on standard input and output: untouched bytes, bent calls, one real write, and an end to everything."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
import real_servers
from real_runs import alive

from simtrain.mcp_wire.client import connect
from simtrain.mcp_wire.eras import ALL_CAPABILITIES
from simtrain.mcp_wire.targets import StdioTarget
from simtrain.worlds.recorded.recorded_sessions import read_exchanges
from simtrain.worlds.recorded.recording import Frame, read_runs

pytestmark = pytest.mark.slow

HERE = Path(__file__).parents[1] / "support"
RELAY = (sys.executable, str(HERE / "relaying.py"))
ODD = (sys.executable, str(HERE / "odd_server.py"))
SDK = (sys.executable, str(HERE / "sdk_server.py"))


def relay(*options: str | Path, server: tuple[str, ...] = ODD) -> tuple[str, ...]:
    return (*RELAY, *map(str, options), "--", *server)


def request(identity: Any, method: str, **params: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": identity, "method": method, "params": params}).encode() + b"\n"


def call(identity: Any, tool: str, **arguments: Any) -> bytes:
    return request(identity, "tools/call", name=tool, arguments=arguments)


def pack(folder: Path, *perturbations: dict[str, Any], name: str = "pack") -> Path:
    path = folder / f"{name}.yaml"
    path.write_text(json.dumps({"name": name, "perturbations": perturbations}))
    return path


def said(line: bytes) -> Any:
    """What the odd server says that it was asked, and how often `add` was called."""
    return json.loads(json.loads(line)["result"]["content"][0]["text"])


def frames(path: Path) -> list[Frame]:
    return [frame for run in read_runs(path) for frame in run.frames]


def talk(command: tuple[str, ...], *lines: bytes) -> list[bytes]:
    """All that a server answers to some lines and the end of its input."""
    done = subprocess.run(command, input=b"".join(lines), capture_output=True, timeout=60)
    return done.stdout.splitlines(keepends=True)


def replies(command: tuple[str, ...], *lines: bytes) -> dict[Any, bytes]:
    """The replies by the ids of their requests: bent ones may overtake others."""
    found = [line for line in talk(command, *lines) if line.lstrip().startswith(b"{")]
    return {json.loads(line)["id"]: line for line in found}


@asynccontextmanager
async def started(*command: str) -> AsyncGenerator[Process]:
    process = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, stderr=PIPE, limit=2**26)
    try:
        async with asyncio.timeout(60):
            yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate(b"")


async def asked(process: Process, line: bytes) -> bytes:
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(line)
    return await process.stdout.readline()


BOTH = [
    request(1, "initialize", protocolVersion="2025-11-25", capabilities={}),
    b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n',
    b'  {"id" : "two", "method":"tools/list","jsonrpc":"2.0"}\n',
    call(3, "echo", text="\u00fc\U0001f600", big=2**70),
    call("3", "add"),
]


def test_not_a_byte_is_changed_in_either_direction(tmp_path: Path) -> None:
    logs = [tmp_path / name for name in ("direct", "relayed", "armed")]
    direct = talk((*ODD, str(logs[0])), *BOTH)
    recorded = talk(relay("--record", tmp_path / "rec.jsonl", server=(*ODD, str(logs[1]))), *BOTH)
    never = pack(
        tmp_path, {"use": "transient_error", "when": {"nth": 99}}, {"use": "truncated_output", "when": {"tools": "x"}}
    )
    armed = talk(relay("--perturb", never, server=(*ODD, str(logs[2]))), *BOTH)
    assert len(direct) == 5 and direct[1].endswith(b"\r\n")
    assert recorded == direct and armed == direct
    assert logs[0].read_bytes() == logs[1].read_bytes() == logs[2].read_bytes() == b"".join(BOTH)


def test_every_frame_is_recorded_with_its_time(tmp_path: Path) -> None:
    talk(relay("--record", tmp_path / "rec.jsonl"), *BOTH)
    found = frames(tmp_path / "rec.jsonl")
    assert [frame.sender for frame in found].count("client") == 5
    assert next(frame.text for frame in found if frame.frame is None) == "warming up ..."
    assert [frame.frame for frame in found if frame.sender == "client"] == [json.loads(line) for line in BOTH]
    assert all(later.seconds >= 0 for later in found) and {frame.era for frame in found if frame.frame} == {
        "2025-11-25"
    }
    exchanges = read_exchanges(tmp_path / "rec.jsonl")
    assert [exchange.method for exchange in exchanges] == ["initialize", "tools/list", "tools/call", "tools/call"]
    assert exchanges[2].params["arguments"]["big"] == 2**70


@pytest.mark.parametrize("era", ["2025-11-25", "2026-07-28"])
async def test_both_eras_pass_through(era: str, tmp_path: Path) -> None:
    answers: list[Any] = []
    for command in (SDK, relay("--record", tmp_path / "rec.jsonl", server=SDK)):
        async with connect(StdioTarget(command), era=era, capabilities=ALL_CAPABILITIES) as client:
            listed = await client.list("tools/list")
            replies = [
                await client.request("tools/call", {"name": name, "arguments": {}}, progress=True)
                for name in ("count", "steps", "ask", "nope")
            ]
            said = [(reply.response, reply.notifications, reply.asks, len(reply.rounds)) for reply in replies]
            answers.append(json.dumps([client.greeting, listed, said]))
    direct, relayed = answers
    assert relayed == direct
    recorded = [exchange for exchange in read_exchanges(tmp_path / "rec.jsonl") if exchange.method == "tools/call"]
    assert {exchange.era for exchange in recorded} == {era}
    assert recorded[1].notifications and (recorded[2].rounds if era == "2026-07-28" else recorded[2].asks)


async def test_a_real_server_says_the_same_through_the_relay(tmp_path: Path) -> None:
    command = tuple(real_servers.command("memory", tmp_path / "graph.jsonl"))
    entity = {"entities": [{"name": "Ada", "entityType": "person", "observations": ["counts"]}]}
    answers: list[str] = []
    for words in (command, relay("--record", tmp_path / "rec.jsonl", server=command)):
        (tmp_path / "graph.jsonl").unlink(missing_ok=True)
        async with connect(StdioTarget(words), era="2025-11-25") as client:
            calls = [
                ("create_entities", entity),
                ("read_graph", {}),
                ("delete_entities", {"entityNames": ["Ada"]}),
                ("nope", {}),
            ]
            replies = [
                (await client.request("tools/call", {"name": name, "arguments": given})).response
                for name, given in calls
            ]
            answers.append(json.dumps([client.greeting, await client.list("tools/list"), replies]))
    assert answers[0] == answers[1]


async def test_a_frame_is_passed_on_before_the_next_one_comes() -> None:
    async with started(*relay()) as process:
        assert process.stdout is not None
        assert await process.stdout.readline() == b"warming up ...\n"
        for number in range(3):
            assert said(await asked(process, call(number, "add"))) == {"count": number + 1, "said": {}}


async def test_a_line_of_20_megabytes_passes() -> None:
    async with started(*relay()) as process:
        assert process.stdout is not None
        await process.stdout.readline()
        assert len(await asked(process, call(1, "echo", text="x" * 20_000_000))) > 20_000_000


def test_an_error_before_the_call_never_reaches_the_server(tmp_path: Path) -> None:
    failing = pack(tmp_path, {"use": "transient_error", "with": {"status": 503}, "when": {"tools": "add", "nth": 1}})
    found = replies(relay("--perturb", failing, "--record", tmp_path / "rec.jsonl"), call(1, "add"), call(2, "add"))
    refused = json.loads(found[1])
    assert refused["id"] == 1 and refused["result"]["isError"] is True
    assert "Service Unavailable" in refused["result"]["content"][0]["text"]
    assert said(found[2])["count"] == 1
    by = [{"label": "transient_error", "use": "transient_error", "matching": 1, "changed": ["reply", "wire"]}]
    sent, answered = [frame for frame in frames(tmp_path / "rec.jsonl") if frame.perturbed is not None]
    assert sent.perturbed == {"by": by, "frame": None}
    assert answered.frame is None and answered.perturbed == {"by": by, "frame": refused}
    # The recording is what the server said: the kept-back call is not in it.
    assert [exchange.params["name"] for exchange in read_exchanges(tmp_path / "rec.jsonl")] == ["add"]


def test_a_reply_is_truncated_and_keeps_whatever_else_it_said(tmp_path: Path) -> None:
    cutting = pack(tmp_path, {"use": "truncated_output", "with": {"keep": 0.25, "marker": "~"}, "when": {"nth": 2}})
    found = replies(
        relay("--perturb", cutting),
        call(1, "echo", text="one"),
        call(2, "echo", text="a longer text"),
        call(3, "echo", text="three"),
    )
    whole = json.dumps({"count": 0, "said": {"text": "a longer text"}}, indent=1)
    result = json.loads(found[2])["result"]
    assert result["content"] == [{"type": "text", "text": whole[: len(whole) // 4] + "~"}] and result["unknown"] == "ü/"
    assert [said(found[number])["said"]["text"] for number in (1, 3)] == ["one", "three"]


def test_a_dropped_tool_is_neither_listed_nor_reached(tmp_path: Path) -> None:
    dropping = pack(tmp_path, {"use": "dropped_tool", "with": {"tools": "ad*"}})
    log = tmp_path / "log"
    command = relay("--perturb", dropping, server=(*ODD, str(log)))
    found = replies(command, call(0, "add"), request(1, "tools/list"), call(2, "add"), call(3, "echo"))
    for identity in (0, 2):
        assert json.loads(found[identity]) == {
            "jsonrpc": "2.0",
            "id": identity,
            "error": {"code": -32602, "message": "Unknown tool: add"},
        }
    result = json.loads(found[1])["result"]
    assert [tool["name"] for tool in result["tools"]] == ["echo", "put"] and next(iter(result["tools"][0])) == "x-extra"
    assert result["_meta"] == {"z": 1, "a": None}
    assert said(found[3]) == {"count": 0, "said": {}} and b'"add"' not in log.read_bytes()


def test_fields_are_renamed(tmp_path: Path) -> None:
    drifting = pack(tmp_path, {"use": "schema_drift", "with": {"rename": {"count": "total"}}, "when": {"tools": "add"}})
    found = replies(relay("--perturb", drifting), call(1, "add"), call(2, "echo"))
    assert said(found[1]) == {"total": 1, "said": {}} and said(found[2]) == {"count": 1, "said": {}}
    # As it was written, with line breaks.
    assert "\n" in json.loads(found[1])["result"]["content"][0]["text"]


async def test_a_delay_is_waited_for_in_real_time_and_holds_up_nobody_else(tmp_path: Path) -> None:
    slow = pack(tmp_path, {"use": "latency", "with": {"seconds": 0.5, "jitter": 0}, "when": {"tools": "add"}})
    async with started(*relay("--perturb", slow, "--real-time")) as process:
        assert process.stdin is not None and process.stdout is not None
        await process.stdout.readline()
        begun = monotonic()
        process.stdin.write(call(1, "add") + call(2, "echo"))
        assert json.loads(await process.stdout.readline())["id"] == 2
        assert json.loads(await process.stdout.readline())["id"] == 1
        assert monotonic() - begun >= 0.5


def test_a_delay_is_virtual_unless_it_is_to_be_real(tmp_path: Path) -> None:
    slow = pack(tmp_path, {"use": "latency", "with": {"seconds": 3000, "jitter": 0}})
    direct, late = (
        talk(ODD, call(1, "add")),
        talk(relay("--perturb", slow, "--record", tmp_path / "rec.jsonl"), call(1, "add")),
    )
    assert late == direct
    (noted,) = [frame.perturbed for frame in frames(tmp_path / "rec.jsonl") if frame.perturbed is not None]
    assert noted["virtual_seconds"] == 3000 and "frame" not in noted


def test_a_late_reply_still_arrives_after_the_end_of_the_input(tmp_path: Path) -> None:
    slow = pack(tmp_path, {"use": "latency", "with": {"seconds": 0.3, "jitter": 0}})
    assert said(talk(relay("--perturb", slow, "--real-time"), call(1, "add"))[1]) == {"count": 1, "said": {}}


@pytest.mark.parametrize(
    ("tool", "listed", "options", "count"),
    [
        ("add", True, (), 1),
        ("put", False, (), 1),
        ("put", True, (), 2),
        ("echo", True, (), 2),
        ("add", True, ("--allow-duplicates",), 2),
    ],
)
async def test_a_second_real_call_needs_leave(
    tool: str, listed: bool, options: tuple[str, ...], count: int, tmp_path: Path
) -> None:
    doubling = pack(tmp_path, {"use": "twice"})
    log = tmp_path / "log"
    words = relay("--perturb", doubling, "--record", tmp_path / "rec.jsonl", *options, server=(*ODD, str(log)))
    async with started(*words) as process:
        assert process.stdout is not None
        await process.stdout.readline()
        if listed:
            await asked(process, request(1, "tools/list"))
        answer = await asked(process, call(7, tool, x=1))
        await process.communicate(b"")
    assert log.read_text().count('"tools/call"') == count
    assert json.loads(answer)["id"] == 7 and said(answer)["said"] == (
        {"x": 1} if count == 1 else {"x": 1, "again": True}
    )
    refusals = [
        frame.perturbed["refused"]
        for frame in frames(tmp_path / "rec.jsonl")
        if frame.perturbed and "refused" in frame.perturbed
    ]
    assert refusals == ([] if count == 2 else [f"a second real call of {tool}, which may write"])
    assert (
        len([exchange for exchange in read_exchanges(tmp_path / "rec.jsonl") if exchange.method == "tools/call"])
        == count
    )


@pytest.mark.parametrize("late", [False, True])
def test_a_perturbation_that_breaks_down_bends_nothing(late: bool, tmp_path: Path) -> None:
    broken = pack(tmp_path, {"use": "breaks", "with": {"late": late}})
    answers = talk(relay("--perturb", broken, "--record", tmp_path / "rec.jsonl"), call(1, "add"))
    assert answers == talk(ODD, call(1, "add"))
    notes = [frame.perturbed for frame in frames(tmp_path / "rec.jsonl") if frame.perturbed]
    assert [note["failed"] for note in notes] == ["ZeroDivisionError: a mistake"]


def test_the_same_seed_meets_the_same_calls(tmp_path: Path) -> None:
    some = pack(tmp_path, {"use": "transient_error", "when": {"probability": 0.5}})
    calls = [call(number, "echo") for number in range(40)]

    def refused(seed: int) -> list[int]:
        found = replies(relay("--perturb", some, "--seed", str(seed)), *calls)
        return sorted(number for number, line in found.items() if "isError" in json.loads(line)["result"])

    first = refused(1)
    assert first == refused(1) != refused(2) and 8 < len(first) < 32


async def test_perturbations_work_over_several_rounds_of_the_modern_era(tmp_path: Path) -> None:
    both = pack(
        tmp_path,
        {"use": "truncated_output", "with": {"keep": 0.5, "marker": "~"}, "when": {"tools": "ask", "nth": 1}},
        {"use": "latency", "with": {"seconds": 5}, "when": {"tools": "ask", "nth": 2}},
    )
    command = relay("--perturb", both, "--record", tmp_path / "rec.jsonl", server=SDK)
    async with connect(StdioTarget(command), era="2026-07-28", capabilities=ALL_CAPABILITIES) as client:
        await client.list("tools/list")
        replies = [await client.request("tools/call", {"name": "ask", "arguments": {}}) for _ in range(3)]
    texts = [reply.response["result"]["content"][0]["text"] for reply in replies]
    assert [len(reply.rounds) for reply in replies] == [1, 1, 1]
    assert texts[0] == texts[1][: len(texts[1]) // 2] + "~" and texts[1] == texts[2]
    assert replies[0].response["result"]["resultType"] == "complete"
    fired = [
        note["by"][0]["label"] for frame in frames(tmp_path / "rec.jsonl") if (note := frame.perturbed) is not None
    ]
    assert fired == ["truncated_output", "latency"]


@pytest.mark.parametrize(
    ("perturbation", "reason"),
    [
        ({"use": "partial_update"}, "needs the state of a world, but behind a relay there is a real server"),
        ({"use": "latency", "when": {"state": "select 1"}}, "is triggered by the state of a world"),
        ({"use": "latency", "when": {"turns": [1, 2]}}, "is triggered by turns, which a relay cannot see"),
        ({"use": "latecy"}, "did you mean 'latency'"),
    ],
)
def test_what_cannot_work_in_a_relay_is_refused_at_once(
    perturbation: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    words = relay("--perturb", pack(tmp_path, perturbation), server=(*ODD, str(log)))
    done = subprocess.run(words, input="", capture_output=True, text=True)
    assert (
        done.returncode == 2 and done.stderr.count("\n") == 1 and reason in done.stderr and "pack.yaml" in done.stderr
    )
    assert not log.exists() and done.stdout == ""


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--", "no-such-program-anywhere"), "no-such-program-anywhere cannot be started"),
        (("--port", "8700", "--", "cat"), "--port is for the relay of a URL"),
        (("--record", "no/such/folder/rec.jsonl", "--", "cat"), "cannot be written"),
        (("--perturb", "no_such_pack", "--", "cat"), "unknown perturbation 'no_such_pack'"),
        (("http://",), "is not an http"),
    ],
)
def test_bad_input_is_one_line(words: tuple[str, ...], problem: str) -> None:
    done = subprocess.run([*RELAY, *words], input="", capture_output=True, text=True)
    assert done.returncode == 2 and problem in done.stderr and done.stderr.count("\n") == 1


async def test_the_server_ends_with_the_relay_and_the_relay_with_the_server(tmp_path: Path) -> None:
    async with started(
        *relay("--json", server=("sh", "-c", f"echo $$ > {tmp_path}/pid; sleep 100 & exec sleep 100"))
    ) as process:
        pid = await written(tmp_path / "pid")
        process.send_signal(signal.SIGTERM)
        _, errors = await process.communicate()
        assert process.returncode == 0 and json.loads(errors.splitlines()[-1])["frames"] == 0, errors
        assert not alive(pid)


def test_the_relay_ends_as_the_server_does() -> None:
    assert subprocess.run(relay(), input=call(1, "exit", code=7), capture_output=True).returncode == 7


STUBBORN = """\
trap '' TERM
echo $$ > {0}/pid
sh -c 'trap "" TERM; echo $$ > {0}/child; sleep 100; sleep 100' &
wait
sleep 100; sleep 100
"""


async def test_a_server_that_ignores_the_end_of_its_input_is_ended_with_all_its_children(tmp_path: Path) -> None:
    async with started(*relay(server=("sh", "-c", STUBBORN.format(tmp_path)))) as process:
        pids = [await written(tmp_path / name) for name in ("pid", "child")]
        begun = monotonic()
        await process.communicate(b"")
        assert process.returncode == 0 and 2 < monotonic() - begun < 8
        assert not any(map(alive, pids))


async def test_a_call_that_the_client_cancels_is_waited_for_no_more(tmp_path: Path) -> None:
    slow = pack(tmp_path, {"use": "latency", "with": {"seconds": 30, "jitter": 0}, "when": {"tools": "add"}})
    async with started(*relay("--perturb", slow, "--real-time")) as process:
        assert process.stdin is not None and process.stdout is not None
        await process.stdout.readline()
        cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
        process.stdin.write(call(1, "add") + json.dumps(cancel).encode() + b"\n")
        begun = monotonic()
        await process.communicate(b"")
        assert process.returncode == 0 and monotonic() - begun < 10


def test_files_can_stand_in_for_pipes(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"".join(BOTH))
    with (tmp_path / "in").open("rb") as source, (tmp_path / "out").open("wb") as sink:
        assert subprocess.run(relay(), stdin=source, stdout=sink, stderr=subprocess.DEVNULL, timeout=60).returncode == 0
    assert (tmp_path / "out").read_bytes() == b"".join(talk(ODD, *BOTH))


def test_a_client_that_is_gone_ends_the_relay() -> None:
    source, sink = os.pipe()
    reader, writer = os.pipe()
    process = subprocess.Popen(relay(), stdin=source, stdout=writer, stderr=subprocess.DEVNULL)
    for descriptor in (source, writer, reader):
        os.close(descriptor)
    os.write(sink, call(1, "echo") + call(2, "echo"))
    os.close(sink)
    assert process.wait(timeout=20) == 0


async def written(path: Path) -> int:
    async with asyncio.timeout(20):
        while not (path.exists() and path.read_text().strip()):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    return int(path.read_text())


def test_a_slow_server_may_finish_what_it_was_asked() -> None:
    slow = 'sleep 3; while read line; do sleep 1; echo \'{"jsonrpc":"2.0","id":1,"result":{}}\'; done'
    assert replies(relay(server=("sh", "-c", slow)), request(1, "ping")).keys() == {1}
