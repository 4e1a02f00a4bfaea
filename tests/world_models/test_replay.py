"""A recording answers: by the same JSON, by what means the same, and only where the same writes came before."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simtrain import load_scenario, open_episode
from simtrain.contracts.request import Caller
from simtrain.contracts.scenario import Scenario
from simtrain.mcp_wire.client import connect
from simtrain.mcp_wire.manifest import Exchange
from simtrain.mcp_wire.targets import StdioTarget
from simtrain.values.errors import InputError, SimulatorFault
from simtrain.values.types import Action
from simtrain.worlds.recorded.recorded_sessions import RecordedSession, read_exchanges
from simtrain.worlds.recorded.replay_index import CALL, NotRecorded, ReplayIndex

NOTES = (sys.executable, str(Path(__file__).parents[1] / "support" / "notes_server.py"))
READS = {"get", "list"}


def call(name: str, answer: Any, **arguments: Any) -> Exchange:
    result = {"content": [{"type": "text", "text": json.dumps(answer)}]}
    return Exchange(CALL, {"name": name, "arguments": arguments}, {"result": result}, "2025-11-25")


def replay_index(
    *exchanges: Exchange, match: Any = "sequence", tools: dict[str, Any] | None = None, **more: Any
) -> ReplayIndex:
    return ReplayIndex([RecordedSession("shop", exchanges, tools or {})], match=match, reads=READS.__contains__, **more)


def answer(playback: Any, name: str, **arguments: Any) -> Any:
    result = playback.find(CALL, {"name": name, "arguments": arguments}).response["result"]
    return json.loads(result["content"][0]["text"])


def test_the_order_of_members_and_the_envelope_do_not_count() -> None:
    playing = replay_index(call("get", 1, id=7, view={"a": 1, "b": [2]}), match="exact").play()
    params = {"_meta": {"progressToken": 3}, "arguments": {"view": {"b": [2], "a": 1}, "id": 7}, "name": "get"}
    assert playing.find(CALL, params).params["arguments"]["id"] == 7
    with pytest.raises(NotRecorded):
        answer(playing, "get", id=7.0001, view={"a": 1, "b": [2]})


@pytest.mark.parametrize(
    "arguments", [{"q": " red   shoes\n"}, {"q": "red shoes", "n": 10}, {"q": "red shoes", "n": 10.0, "x": None}]
)
def test_what_means_the_same_is_found(arguments: dict[str, Any]) -> None:
    tools = {"get": {"name": "get", "inputSchema": {"properties": {"q": {}, "n": {"default": 10}, "x": {}}}}}
    assert answer(replay_index(call("get", "found", q="red shoes"), tools=tools).play(), "get", **arguments) == "found"
    with pytest.raises(NotRecorded):
        answer(replay_index(call("get", "found", q="red shoes"), tools=tools, match="exact").play(), "get", **arguments)


def test_of_calls_that_mean_the_same_the_one_that_is_the_same_answers() -> None:
    playing = replay_index(call("get", 1, q="a b"), call("get", 2, q="a  b"), match="normalised").play()
    assert [answer(playing, "get", q=q) for q in ("a  b", "a b", "a  b")] == [2, 1, 2]


def test_takes_of_one_call_come_in_turn_and_the_last_one_stays() -> None:
    for match in ("exact", "normalised", "sequence"):
        playing = replay_index(call("get", 1, id=1), call("get", 2, id=1), match=match).play()
        assert [answer(playing, "get", id=1) for _ in range(4)] == [1, 2, 2, 2]


def test_a_read_after_a_write_sees_what_was_recorded_after_it() -> None:
    shop = replay_index(
        call("list", 0), call("add", "ok", x=1), call("list", 1), call("add", "ok", x=2), call("list", 2)
    )
    playing = shop.play()
    assert [answer(playing, "list"), answer(playing, "list")] == [0, 0]
    answer(playing, "add", x=1)
    assert [answer(playing, "list"), answer(playing, "list")] == [1, 1]
    answer(playing, "add", x=2)
    assert answer(playing, "list") == 2
    assert answer(shop.play(), "list") == 0


def test_after_a_write_that_was_not_recorded_so_nothing_answers() -> None:
    shop = replay_index(
        call("list", 0), call("add", "ok", x=1), call("list", 1), call("add", "ok", x=2), call("list", 2)
    )
    playing = shop.play()
    with pytest.raises(NotRecorded, match="was not recorded before any write, only at another point"):
        answer(playing, "add", x=2)
    for name, arguments in (("list", {}), ("add", {"x": 1})):
        with pytest.raises(NotRecorded, match=r"comes after add .*, which was not recorded so"):
            answer(playing, name, **arguments)


class Shop:
    """A store of numbers: what a tape must never contradict."""

    def __init__(self) -> None:
        self.stock: dict[int, int] = {}

    def do(self, step: tuple[str, int]) -> Any:
        name, item = step
        if name == "add":
            self.stock[item] = self.stock.get(item, 0) + 1
            return "ok"
        return self.stock.get(item, 0) if name == "get" else sorted(self.stock.items())


STEPS = st.lists(st.tuples(st.sampled_from(["add", "get", "list"]), st.integers(0, 2)), max_size=12)


@given(st.lists(STEPS, min_size=1, max_size=3), STEPS)
def test_what_a_tape_answers_is_what_the_server_would_have_said(
    recorded: list[list[tuple[str, int]]], asked: list[tuple[str, int]]
) -> None:
    recorded_sessions: list[RecordedSession] = []
    for steps in recorded:
        shop = Shop()
        recorded_sessions.append(
            RecordedSession("shop", tuple(call(step[0], shop.do(step), item=step[1]) for step in steps), {})
        )
    playing, real = ReplayIndex(recorded_sessions, reads=READS.__contains__).play(), Shop()
    for step in asked:
        truth = real.do(step)
        try:
            said = answer(playing, step[0], item=step[1])
        except NotRecorded:
            continue
        assert said == json.loads(json.dumps(truth))


@given(STEPS)
def test_a_recorded_course_can_be_played_again_from_end_to_end(steps: list[tuple[str, int]]) -> None:
    shop = Shop()
    said = [call(step[0], shop.do(step), item=step[1]) for step in steps]
    playing = replay_index(*said).play()
    assert [playing.find(CALL, exchange.params).response for exchange in said] == [
        exchange.response for exchange in said
    ]


OLD, NEW, OTHER = (str(UUID(int=n)) for n in (1, 2, 3))


def test_an_id_of_the_caller_is_mapped_through_the_whole_episode() -> None:
    shop = replay_index(call("add", {"id": OLD}, id=OLD), call("get", {"id": OLD, "n": 1}, id=OLD))
    playing = shop.play()
    assert answer(playing, "add", id=NEW) == {"id": NEW}
    assert answer(playing, "get", id=NEW) == {"id": NEW, "n": 1}
    with pytest.raises(NotRecorded, match="other ids or times"):
        answer(playing, "get", id=OTHER)


def test_an_id_that_the_recording_knows_is_never_taken_for_another() -> None:
    playing = replay_index(call("get", 1, id=OLD), call("get", 2, id=NEW), match="normalised").play()
    assert [answer(playing, "get", id=NEW), answer(playing, "get", id=OLD)] == [2, 1]
    # It stands for neither of the two more than for the other.
    with pytest.raises(NotRecorded, match="other ids or times"):
        answer(playing, "get", id=OTHER)
    one = replay_index(call("get", 1, id=OLD), call("list", [NEW])).play()
    with pytest.raises(NotRecorded):
        answer(one, "get", id=NEW)


def test_instants_are_mapped_and_folders_are_moved() -> None:
    then, now = "2031-03-03T09:00:00Z", "2040-01-01T10:30:00Z"
    playing = replay_index(
        call("get", {"at": then, "file": "file:///old/place/a.txt"}, at=then, path="/old/place/a.txt"),
        folders={"/old/place": "/new"},
    ).play()
    assert answer(playing, "get", at=now, path="/new/a.txt") == {"at": now, "file": "file:///new/a.txt"}
    with pytest.raises(NotRecorded):
        answer(playing, "get", at=now, path="/newer/a.txt")


def test_a_miss_names_the_nearest_recorded_call() -> None:
    shop = replay_index(call("get", 1, id="U7"), call("get", 1, id="Q1"), call("list", []))
    with pytest.raises(NotRecorded) as missed:
        answer(shop.play(), "get", id="U8")
    assert str(missed.value) == 'get {"id":"U8"} was not recorded; the nearest is get {"id":"U7"}'
    with pytest.raises(NotRecorded, match="the nearest is list"):
        answer(shop.play(), "lists")
    with pytest.raises(NotRecorded, match="nothing like it was"):
        answer(shop.play(), "completely_other")


def test_the_client_most_like_the_one_who_asks_is_answered_as_it_was() -> None:
    said = {
        Caller("2025-11-25", frozenset()): 1,
        Caller("2025-11-25", frozenset({"roots"})): 2,
        Caller("2026-07-28", frozenset()): 3,
    }
    takes = [
        replace(call("get", number), era=client.era, capabilities={name: {} for name in client.capabilities})
        for client, number in said.items()
    ]
    for client, number in said.items():
        found = replay_index(*takes).play().find(CALL, takes[0].params, caller=client)
        assert found.response == takes[number - 1].response


def test_what_one_client_wrote_counts_for_all_of_them() -> None:
    other = replace(call("add", "ok", x=1), era="2026-07-28")
    playing = replay_index(call("list", 0), other, call("list", 1)).play()
    modern = Caller("2026-07-28")
    assert [answer(playing, "list"), answer(playing, "list")] == [0, 0]
    playing.find(CALL, other.params, caller=modern)
    assert answer(playing, "list") == 1


def test_a_secret_argument_is_found_although_it_was_not_written_down() -> None:
    assert answer(replay_index(call("get", 1, password="[redacted]")).play(), "get", password="swordfish") == 1


SHOP_WORLD = """\
kind: service
name: shop
schema: "create table notes (id text primary key, text text not null);"
tools:
  - name: add
    description: Add.
    input: {text: {type: string}}
    ids: {id: "N{seq:03}"}
    write: ["insert into notes values (:id, :text)"]
    read: {one: "select id, text from notes where id = :id"}
  - name: get
    description: Get.
    input: {id: {type: string}}
    read: {one: "select id, text from notes where id = :id", missing: "No note {{ id }}."}
  - {name: list, description: List., input: {}, read: {notes: "select id, text from notes"}}
"""
SHOP_SCENARIO = """\
name: notes
world: world.yaml
prompt: Write a note.
world_models: MODELS
rubric: [{use: answer, with: {value: 1}}]
"""


def scenario(folder: Path, models: Any) -> Scenario:
    (folder / "world.yaml").write_text(SHOP_WORLD)
    (folder / "notes.yaml").write_text(SHOP_SCENARIO.replace("MODELS", json.dumps(models)))
    return load_scenario(folder / "notes.yaml")


async def play(found: Scenario, *calls: tuple[str, dict[str, Any]]) -> list[Any]:
    said: list[Any] = []
    async with open_episode(found) as environment:
        for number, (tool, arguments) in enumerate(calls):
            said.append(await environment.step(Action(str(number), tool, arguments)))
    return said


LIVE = {"use": "live", "with": {"command": list(NOTES), "recording": "rec.jsonl"}}
REPLAY = {"use": "replay", "with": {"recording": "rec.jsonl"}}
CALLS = (("list", {}), ("add", {"text": "milk"}), ("list", {}), ("get", {"id": "nothing"}))


@pytest.fixture
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SIMTRAIN_ALLOW_LIVE", "1")
    return tmp_path


async def test_a_live_episode_is_replayed_to_the_letter(recorded: Path) -> None:
    live = await play(scenario(recorded, [LIVE]), *CALLS)
    assert live[1].structured["text"] == "milk" and live[3].is_error and live[3].text == "No note nothing."
    again = await play(scenario(recorded, [REPLAY]), *CALLS)
    assert [said.wire for said in again] == [said.wire for said in live]
    assert {said.provenance.source for said in again} == {"replay"}
    assert [exchange.method for exchange in read_exchanges(recorded / "rec.jsonl")][:3] == [
        "initialize",
        "tools/list",
        CALL,
    ]


async def test_every_live_episode_has_a_server_of_its_own(recorded: Path) -> None:
    found = scenario(recorded, [LIVE])
    for _ in range(2):
        first, *_ = await play(found, *CALLS)
        assert first.structured["count"] == 0
    assert len(read_exchanges(recorded / "rec.jsonl")) == 2 * (2 + len(CALLS))


async def test_a_miss_is_loud_or_goes_down_the_chain(recorded: Path) -> None:
    await play(scenario(recorded, [LIVE]), *CALLS)
    unheard = ("add", {"text": "bread"})
    with pytest.raises(SimulatorFault, match=r'rec.jsonl: add .*"bread".* was not recorded; the nearest is add .*milk'):
        await play(scenario(recorded, [REPLAY]), unheard)
    chain = [{**REPLAY, "with": {**REPLAY["with"], "miss": "next"}}, {"use": "embedded"}]
    answers = await play(scenario(recorded, chain), ("list", {}), unheard, ("list", {}))
    assert [said.provenance.source for said in answers] == ["replay", "embedded", "embedded"]
    assert answers[2].content == {"notes": [{"id": "N001", "text": "bread"}]}


async def test_another_recording_is_another_scenario(recorded: Path) -> None:
    await play(scenario(recorded, [LIVE]), *CALLS)
    before = scenario(recorded, [REPLAY]).digest
    assert scenario(recorded, [REPLAY]).digest == before
    await play(scenario(recorded, [LIVE]), ("list", {}))
    assert scenario(recorded, [REPLAY]).digest != before


def test_a_recording_that_is_missing_or_damaged_is_refused_with_the_scenario(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"rec\.jsonl: cannot be read"):
        scenario(tmp_path, [REPLAY])
    (tmp_path / "rec.jsonl").write_text("nonsense\n")
    with pytest.raises(InputError, match=r"rec\.jsonl:1: "):
        scenario(tmp_path, [REPLAY])


async def test_a_scenario_cannot_start_a_program_unless_the_user_allows_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SIMTRAIN_ALLOW_LIVE", raising=False)
    trap = tmp_path / "started"
    found = scenario(tmp_path, [{"use": "live", "with": {"command": ["touch", str(trap)]}}])
    with pytest.raises(
        InputError, match=r"would use the real server .*; if you trust the scenario, add --allow-live"
    ) as refused:
        await play(found, ("list", {}))
    with pytest.raises(InputError):
        await found.answering[0].world_model.ready()
    assert "\n" not in str(refused.value) and not trap.exists()


@pytest.mark.parametrize(
    ("knobs", "problem"),
    [
        ({}, "a live server needs one of `command`, `url` and `shell`"),
        ({"command": "x", "url": "http://127.0.0.1:1/mcp"}, "needs one of `command`, `url` and `shell`"),
        ({"command": "x", "env": ["NO_SUCH_VARIABLE_HERE"]}, "NO_SUCH_VARIABLE_HERE is not set"),
        ({"command": ["no-such-program-anywhere"]}, "cannot be started"),
        ({"url": "gopher://x"}, "is not an http"),
    ],
)
async def test_a_live_server_that_cannot_be_is_one_line(knobs: dict[str, Any], problem: str, recorded: Path) -> None:
    with pytest.raises(InputError, match=problem) as refused:
        await play(scenario(recorded, [{"use": "live", "with": knobs}]), ("list", {}))
    assert "\n" not in str(refused.value)


async def test_a_server_that_dies_is_the_simulators_fault_and_what_it_said_is_kept(recorded: Path) -> None:
    dying = {"use": "live", "with": {"command": [*NOTES, "dies"], "recording": "rec.jsonl"}}
    with pytest.raises(SimulatorFault, match="out of ink"):
        await play(scenario(recorded, [dying]), ("list", {}), ("list", {}), ("list", {}))
    assert [exchange.method for exchange in read_exchanges(recorded / "rec.jsonl")].count(CALL) == 2


async def test_a_recorded_server_speaks_the_same_over_a_raw_client(recorded: Path) -> None:
    async with connect(StdioTarget(NOTES), era="2025-11-25") as client:
        direct = await client.list("tools/list")
    await play(scenario(recorded, [LIVE]))
    assert read_exchanges(recorded / "rec.jsonl")[1].result == direct[0]


def test_the_command_line_lets_a_scenario_start_its_server_for_one_run(tmp_path: Path) -> None:
    scenario(tmp_path, [LIVE])
    environment = {name: value for name, value in os.environ.items() if name != "SIMTRAIN_ALLOW_LIVE"}
    words = [sys.executable, "-m", "simtrain", "run", str(tmp_path / "notes.yaml"), "--agent", "nop", "--json"]
    refused = subprocess.run([*words, "--out", str(tmp_path / "a")], env=environment, capture_output=True, text=True)
    assert refused.returncode == 2 and refused.stderr.count("\n") == 1 and "--allow-live" in refused.stderr
    words += ["--out", str(tmp_path / "b"), "--allow-live"]
    played = subprocess.run(words, env=environment, capture_output=True, text=True)
    assert played.returncode == 0 and json.loads(played.stdout)["played"] == 1, played.stderr
