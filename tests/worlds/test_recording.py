"""Recordings: what is written, what is kept out, what is read back, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from simtrain.files.redaction import Redactor
from simtrain.mcp_wire.manifest import Exchange, Manifest, ServerManifest, Surface, write_manifest
from simtrain.values.errors import InputError
from simtrain.worlds.recorded.recorded_sessions import exchanges_of, frames_of, read_exchanges, read_sessions
from simtrain.worlds.recorded.recording import Frame, RecordedRun, Recorder, append_run, read_runs

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {"roots": {}},
}


def request(identity: Any, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": identity, "method": method, "params": params}


def response(identity: Any, **result: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": identity, "result": result}


def record(path: Path, *said: tuple[str, dict[str, Any] | None, dict[str, Any]]) -> Path:
    """A recording of (sender, frame, what surrounds it)."""
    recorder = Recorder(path, server="shop", transport="stdio")
    for number, (sender, frame, around) in enumerate(said):
        recorder.write(Frame(0, float(number), sender, frame, **around))  # pyright: ignore[reportArgumentType]
    recorder.close()
    return path


def test_requests_and_replies_become_exchanges(tmp_path: Path) -> None:
    call = request(2, "tools/call", name="get", arguments={"id": 7}, _meta={"progressToken": 5})
    path = record(
        tmp_path / "rec.jsonl",
        ("client", request(1, "initialize", capabilities={"sampling": {}}), {}),
        ("server", response(1, protocolVersion="2025-11-25"), {}),
        ("client", {"jsonrpc": "2.0", "method": "notifications/initialized"}, {}),
        ("client", call, {}),
        (
            "server",
            {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 5, "progress": 1}},
            {},
        ),
        ("server", request("a", "sampling/createMessage", messages=[]), {}),
        ("client", response("a", content="yes"), {}),
        ("server", response(2, content=[]), {}),
        ("client", request(3, "ping"), {}),
    )
    greeting, got = read_exchanges(path)
    assert greeting.method == "initialize" and greeting.seconds == 1.0
    assert got == Exchange(
        "tools/call",
        {"name": "get", "arguments": {"id": 7}},
        {"result": {"content": []}},
        "2025-11-25",
        {"sampling": {}},
        ({"method": "notifications/progress", "params": {"progressToken": 5, "progress": 1}},),
        ({"method": "sampling/createMessage", "params": {"messages": []}, "answer": {"result": {"content": "yes"}}},),
        seconds=4.0,
    )


def test_a_call_over_several_rounds_is_one_exchange(tmp_path: Path) -> None:
    asks = {"resultType": "input_required", "inputRequests": {"q": {"method": "roots/list"}}, "requestState": "s1"}
    call = request(1, "tools/call", name="pay", arguments={}, _meta=META)
    retry = request(
        2, "tools/call", name="pay", arguments={}, inputResponses={"q": {"roots": []}}, requestState="s1", _meta=META
    )
    other = request(3, "tools/call", name="pay", arguments={"n": 1}, _meta=META)
    path = record(
        tmp_path / "rec.jsonl",
        ("client", call, {"http": 1}),
        ("server", response(1, **asks), {"http": 1}),
        ("client", other, {"http": 2}),
        ("client", retry, {"http": 3}),
        ("server", response(2, content=[], resultType="complete"), {"http": 3}),
    )
    (found,) = read_exchanges(path)
    assert found.params == {"name": "pay", "arguments": {}} and found.era == "2026-07-28"
    assert found.capabilities == {"roots": {}}
    assert found.rounds == ({"result": asks, "answers": {"q": {"roots": []}}},)
    assert found.response == {"result": {"content": [], "resultType": "complete"}}


def test_two_clients_with_the_same_ids_are_kept_apart(tmp_path: Path) -> None:
    path = record(
        tmp_path / "rec.jsonl",
        ("client", request(1, "tools/call", name="a"), {"http": 1, "session": "s1"}),
        ("client", request(1, "tools/call", name="b"), {"http": 2, "session": "s2"}),
        ("client", request(1, "tools/call", name="c"), {"http": 3}),
        ("server", response(1, of="c"), {"http": 3}),
        ("server", response(1, of="b"), {"http": 2, "session": "s2"}),
        # The reply to the first comes on another stream of its session.
        ("server", response(1, of="a"), {"http": 4, "session": "s1"}),
    )
    assert [(exchange.params["name"], exchange.result) for exchange in read_exchanges(path)] == [
        ("a", {"of": "a"}),
        ("b", {"of": "b"}),
        ("c", {"of": "c"}),
    ]
    assert [exchange.resumed for exchange in read_exchanges(path)] == [True, False, False]


def test_the_server_counts_and_not_the_perturbation(tmp_path: Path) -> None:
    kept, cut, changed = (request(n, "tools/call", name=name) for n, name in ((1, "kept_back"), (2, "cut"), (3, "old")))
    path = record(
        tmp_path / "rec.jsonl",
        ("client", kept, {"perturbed": {"by": [], "frame": None}}),
        ("server", None, {"perturbed": {"by": [], "frame": response(1, isError=True)}}),
        ("client", cut, {}),
        ("server", response(2, text="whole"), {"perturbed": {"by": [], "frame": response(2, text="who")}}),
        ("client", changed, {"perturbed": {"by": [], "frame": request(3, "tools/call", name="new")}}),
        ("server", response(3, text="late"), {"perturbed": {"by": [], "virtual_seconds": 9.0}}),
    )
    assert [(exchange.params["name"], exchange.result) for exchange in read_exchanges(path)] == [
        ("cut", {"text": "whole"}),
        ("new", {"text": "late"}),
    ]


def test_no_secret_is_written(tmp_path: Path) -> None:
    path = tmp_path / "rec.jsonl"
    recorder = Recorder(path, server="shop", transport="http", redactor=Redactor(["hunter2-the-value"]))
    login = request(1, "tools/call", name="login", arguments={"password": "swordfish", "user": "ann"})
    recorder.write(Frame(0, 0.0, "client", login))
    said = response(1, content=[{"type": "text", "text": "you said hunter2-the-value"}])
    recorder.write(Frame(0, 0.0, "server", said))
    recorder.write(Frame(0, 0.0, "server", None, text="warning: hunter2-the-value"))
    perturbed = {"by": [], "frame": response(1, api_key="sk-live-1234")}
    recorder.write(Frame(0, 0.0, "server", None, perturbed=perturbed))
    recorder.close()
    text = path.read_text()
    assert "ann" in text and text.count("[redacted]") == 4
    assert not any(secret in text for secret in ("swordfish", "hunter2", "sk-live"))


@pytest.mark.parametrize(
    "before",
    ["x" * 1980 + " ", f"API_TOKEN={'y' * 15_960} "],
    ids=["where the shown text ends", "where the searched text ends"],
)
def test_no_beginning_of_a_secret_is_left_by_a_cut(before: str, tmp_path: Path) -> None:
    secret = "hunter2-" + "the-value-" * 8
    path = tmp_path / "rec.jsonl"
    recorder = Recorder(path, server="shop", transport="stdio", redactor=Redactor([secret]))
    recorder.write(Frame(0, 0.0, "server", None, text=before + secret + " and more"))
    recorder.close()
    assert "hunter2" not in path.read_text()
    (run,) = read_runs(path)
    assert len(run.frames[0].text or "") <= 2000


def test_input_that_is_not_a_frame_is_recorded_up_to_2000_characters(tmp_path: Path) -> None:
    words = "so it goes " * 10_000
    (run,) = read_runs(record(tmp_path / "rec.jsonl", ("server", None, {"text": words})))
    assert run.frames[0].text == words[:2000]


def test_a_torn_line_is_cut_off_and_the_next_run_is_appended(tmp_path: Path) -> None:
    path = record(tmp_path / "rec.jsonl", ("client", request(1, "ping"), {}), ("server", response(1), {}))
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"n":3,"t":2.0,"from":"cli')
    assert len(read_exchanges(path)) == 1
    record(path, ("client", request(1, "ping"), {}), ("server", response(1), {}))
    assert path.read_bytes() == whole + whole
    assert [len(recorded_session.exchanges) for recorded_session in read_sessions(path)] == [1, 1]


@pytest.mark.parametrize(
    ("line", "number", "problem"),
    [
        (b"{oops}\n", 3, "the line is not a frame of a recording; remove the line, or record again"),
        (b'["list"]\n', 3, "the line is not a frame"),
        (b'{"n":3,"t":"soon","from":"client","frame":{}}\n', 3, "the line is not a frame"),
        (b'{"n":3,"t":1,"from":"nobody","frame":{}}\n', 3, "the line is not a frame"),
        (
            b'{"format":"simtrain-recording/9","server":"x","transport":"stdio"}\n',
            3,
            "the format is 'simtrain-recording/9'",
        ),
        (b"[" * 100_000 + b"\n", 3, "the line is not a frame"),
    ],
)
def test_damage_is_named_with_its_line(line: bytes, number: int, problem: str, tmp_path: Path) -> None:
    path = record(tmp_path / "rec.jsonl", ("client", request(1, "ping"), {}))
    path.write_bytes(path.read_bytes() + line)
    with pytest.raises(InputError) as caught:
        read_exchanges(path)
    assert str(caught.value).startswith(f"{path}:{number}: {problem}") and "\n" not in str(caught.value)


@pytest.mark.parametrize("content", [b"a,b,c\n1,2,3\n", b"not even a line", b'{"some": "json"}\n'])
def test_another_file_is_refused_and_left_as_it_was(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    for use in (
        lambda: Recorder(path, server="x", transport="stdio"),
        lambda: append_run(path, [], server="x", transport="stdio"),
    ):
        with pytest.raises(InputError, match="recording"):
            use()
    with pytest.raises(InputError):
        read_exchanges(path)
    assert path.read_bytes() == content


def test_numbers_beyond_64_bits_and_lone_surrogates_survive(tmp_path: Path) -> None:
    odd = response(1, big=2**80, half="\ud83d")
    path = record(tmp_path / "rec.jsonl", ("client", request(1, "ping"), {}), ("server", odd, {}))
    assert read_exchanges(path)[0].response == {"result": odd["result"]}


def test_exchanges_made_into_frames_are_the_same_exchanges_again(tmp_path: Path) -> None:
    modern = Exchange(
        "tools/call", {"name": "pay", "arguments": {"n": 1}}, {"result": {"content": []}}, "2026-07-28", {"elicitation": {}},
        ({"method": "notifications/progress", "params": {"progressToken": 1, "progress": 1}},), (),
        ({"result": {"resultType": "input_required", "requestState": "x", "inputRequests": {}}, "answers": {"q": 1}},), seconds=0.5,
    )  # fmt: skip
    old = Exchange(
        "tools/call", {"name": "ask", "arguments": {}}, {"error": {"code": 1, "message": "no"}}, "2025-11-25", {}, (),
        ({"method": "roots/list", "params": {}, "answer": {"result": {"roots": []}}},), seconds=0.25,
    )  # fmt: skip
    assert exchanges_of(RecordedRun("x", "stdio", list(frames_of([modern, old])))) == [modern, old]
    append_run(tmp_path / "rec.jsonl", frames_of([modern, old]), server="x", transport="stdio")
    append_run(tmp_path / "rec.jsonl", frames_of([old]), server="x", transport="stdio")
    assert [recorded_session.exchanges for recorded_session in read_sessions(tmp_path / "rec.jsonl")] == [
        (modern, old),
        (old,),
    ]
    assert [frame.number for run in read_runs(tmp_path / "rec.jsonl") for frame in run.frames][:3] == [2, 3, 4]


def test_a_manifest_is_read_as_one_course_for_each_server(tmp_path: Path) -> None:
    ping = Exchange("ping", {}, {"result": {}}, "2025-11-25")
    tools = {"tools/list": ({"tools": [{"name": "get", "inputSchema": {}}]},)}
    server = ServerManifest("shop", {}, (Surface("2025-11-25", {}, {}, tools),), (ping,))
    other = ServerManifest("mail", {}, (Surface("2025-11-25", {}, {}, {}),))
    write_manifest(Manifest({"shop": server, "mail": other}), tmp_path / "m.json")
    shop, mail = read_sessions(tmp_path / "m.json")
    assert (shop.server, shop.exchanges, list(shop.tools)) == ("shop", (ping,), ["get"])
    assert (mail.server, mail.exchanges) == ("mail", ())


def test_the_file_is_one_json_object_a_line(tmp_path: Path) -> None:
    path = record(
        tmp_path / "rec.jsonl", ("client", request(1, "ping"), {"session": "s1", "http": 1, "era": "2025-11-25"})
    )
    head, line = (json.loads(text) for text in path.read_text().splitlines())
    assert head == {"format": "simtrain-recording/1", "server": "shop", "transport": "stdio"}
    assert line == {
        "n": 1, "t": 0.0, "from": "client", "session": "s1", "era": "2025-11-25", "http": 1, "frame": request(1, "ping"),
    }  # fmt: skip
