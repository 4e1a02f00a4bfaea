"""Drafts: worlds that a model proposes for captured servers, what sends a proposal back, and the skeleton without a model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import real_servers
from drafting import TODO_PROBES, capture, connected, draft, served, simtrain
from planted_defects import DEFECTS, Defect

from simtrain.mcp.draft.judging import Objection, judge
from simtrain.mcp.draft.observed import Observed, read_observed
from simtrain.mcp.draft.proposal import read_proposal
from simtrain.mcp_wire.manifest import Exchange, Manifest, ServerManifest, Surface, write_manifest
from simtrain.scenarios.load import load_world
from simtrain.testing import FakeOpenAI, Say
from simtrain.values.errors import InputError

pytestmark = pytest.mark.slow

GOOD = (Path(__file__).parents[1] / "support" / "todo_proposal.yaml").read_text()

THINGS = """\
schema: create table things (id integer primary key, note text not null);
rows: {things: [{id: 1, note: Old lamp}]}
tools:
  - name: list_things
    read: {items: "select id, note from things order by id"}
    text: "{{ items | tojson }}"
    structured: false
  - name: add_thing
    let: {new_id: select max(id) + 1 from things}
    write: ["insert into things values (:new_id, :note)"]
    text: "Added {{ new_id }}"
    structured: false
  - name: guess
    open: it computes something
"""


@pytest.fixture(scope="module")
def todo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The manifest of a real list of tasks from PyPI, with recorded calls."""
    folder = tmp_path_factory.mktemp("todo")
    return capture(real_servers.todo(folder / "home"), folder / "todo.json", name="todo", probes=TODO_PROBES)


def things(path: Path, *, guessed: int = 1) -> Path:
    """A manifest of a small server, as if it had been captured."""
    none: dict[str, Any] = {"type": "object", "properties": {}}
    noted = {"type": "object", "properties": {"note": {"type": "string"}}, "required": ["note"]}
    tools = [
        {"name": "list_things", "inputSchema": none, "annotations": {"readOnlyHint": True}},
        {"name": "add_thing", "description": "line\n  - name: evil\u2028x", "inputSchema": noted},
        {"name": "guess", "inputSchema": none},
    ]
    old, new = {"id": 1, "note": "Old lamp"}, {"id": 2, "note": "Green chair"}
    calls: list[tuple[str, dict[str, Any], str]] = [
        ("list_things", {}, json.dumps([old], separators=(",", ":"))),
        ("add_thing", {"note": "Green chair"}, "Added 2"),
        ("list_things", {}, json.dumps([old, new], separators=(",", ":"))),
        *[("guess", {}, "42")] * guessed,
    ]
    greeting = {
        "serverInfo": {"name": "h", "version": "1"},
        "capabilities": {"tools": {}},
        "protocolVersion": "2025-11-25",
    }
    exchanges = tuple(
        Exchange(
            "tools/call",
            {"name": name, "arguments": arguments},
            {"result": {"content": [{"type": "text", "text": text}]}},
            "2025-11-25",
        )
        for name, arguments, text in calls
    )
    surface = Surface("2025-11-25", {}, greeting, {"tools/list": ({"tools": tools},)})
    write_manifest(Manifest({"h": ServerManifest("h", {"command": ["h"]}, (surface,), exchanges)}), path)
    return path


def asked(server: FakeOpenAI, number: int) -> str:
    """The last message of a request."""
    return server.chats[number]["messages"][-1]["content"]


async def objections(text: str, observed: Observed, manifest: Path) -> list[Objection]:
    try:
        proposal = read_proposal(text, observed.tools)
    except InputError as error:
        return [Objection("form", None, str(error))]
    return list((await judge(proposal, observed, name="todo", manifest=manifest)).objections)


@pytest.mark.full
async def test_a_good_proposal_for_a_real_server_is_accepted(todo: Path) -> None:
    assert await objections(GOOD, read_observed(todo), todo) == []


@pytest.mark.full
@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.name)
async def test_a_planted_defect_is_sent_back_with_its_reason(defect: Defect, todo: Path) -> None:
    assert GOOD.count(defect.old) >= 1
    found = await objections(GOOD.replace(defect.old, defect.new, 1), read_observed(todo), todo)
    assert any(
        (one.check, one.tool) == (defect.check, defect.tool) and defect.words in one.reason for one in found[:12]
    ), [str(one) for one in found[:12]]


@pytest.mark.full
async def test_a_proposal_that_is_mended_after_its_reasons_is_accepted_and_served(todo: Path, tmp_path: Path) -> None:
    world = tmp_path / "todo.yaml"
    broken = GOOD.replace("delete from tasks where id = :id", "delete from tasks where id = -:id")
    with FakeOpenAI([Say(broken), Say(f"Here it is:\n```yaml\n{GOOD}```\n")]) as server:
        report = draft(todo, world, "--model", "fake", "--base-url", server.url)
    assert (report["accepted"], report["rounds"], report["bound"]) == (True, 2, 5)
    assert (
        "held out: task_list" in asked(server, 1)
        and "recorded:" not in asked(server, 1).split("held out")[1].splitlines()[0]
    )
    async with connected(served(world)) as said:
        assert await said("task_create", name="Sow beans", priority="high") == "Task created successfully with ID: 1"
        assert (await said("task_get", id=1))["name"] == "Sow beans"
        assert await said("task_delete", id=1) == "Task deleted successfully"
        assert await said("task_get", id=1) == "Task not found"


async def test_a_tool_may_stay_open_when_the_model_insists(tmp_path: Path) -> None:
    manifest, world = things(tmp_path / "h.json"), tmp_path / "h.yaml"
    with FakeOpenAI([Say(THINGS), Say(THINGS)]) as server:
        report = draft(manifest, world, "--model", "fake", "--base-url", server.url)
    assert (report["accepted"], report["rounds"], report["bound"]) == (True, 2, 2)
    assert "open: guess: it is left open, and 1 replies of it were recorded" in asked(server, 1)
    assert report["tools"]["guess"] == {"bound": False, "reason": "it computes something", "calls": 1, "same": 0}
    assert "# Open: it computes something" in world.read_text() and len(load_world(world).build().tools) == 3
    async with connected(served(world)) as said:
        assert await said("add_thing", note="Blue vase") == "Added 2"
        assert await said("list_things") == [{"id": 1, "note": "Old lamp"}, {"id": 2, "note": "Blue vase"}]
        assert "not supported" in await said("guess")


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('order by id"}', 'where id = 1"}', "replay: list_things: call 3"),
        ("select id, note", "select id, case id when 2 then 'Green chair' else note end as note", "read after write: list_things"),
        ("    read: {items:", '    write: ["delete from things where id > 9"]\n    read: {items:', "reads: list_things: it writes"),
    ],
)  # fmt: skip
def test_what_is_never_mended_is_left_open_in_the_end(old: str, new: str, reason: str, tmp_path: Path) -> None:
    manifest, world = things(tmp_path / "h.json", guessed=0), tmp_path / "h.yaml"
    with FakeOpenAI([Say(THINGS.replace(old, new))] * 2) as server:
        words = (manifest, "--out", world, "--model", "fake", "--base-url", server.url, "--rounds", "2")
        shown = simtrain("world", "draft", *words, code=1)
    assert len(server.chats) == 2 and reason in asked(server, 1)
    assert "round 2 of 2: sent back, 1 objections" in shown
    text = world.read_text()
    assert "not accepted: after 2 rounds" in text and "# Open: the checks refused it" in text
    assert "# 1 of 3 tools are bound" in text


def test_a_model_that_says_nothing_of_use_leaves_a_skeleton(tmp_path: Path) -> None:
    manifest, world = things(tmp_path / "h.json"), tmp_path / "h.yaml"
    with FakeOpenAI([Say("I cannot do this.")] * 2) as server:
        words = (manifest, "--out", world, "--model", "fake", "--base-url", server.url, "--rounds", "2")
        simtrain("world", "draft", *words, code=1)
    assert "form: proposal.yaml:1: the top level must be a mapping" in asked(server, 1)
    assert "none of the 2 proposals" in world.read_text() and len(load_world(world).build().tools) == 3


def test_without_a_model_it_is_a_skeleton_that_says_so_and_serves(tmp_path: Path) -> None:
    manifest, world = things(tmp_path / "h.json"), tmp_path / "h.yaml"
    report = draft(manifest, world)
    assert (report["bound"], report["accepted"], report["rounds"]) == (0, False, 0)
    assert {tool["reason"] for tool in report["tools"].values()} == {"nobody has written it yet"}
    assert "a skeleton: no model was asked" in world.read_text()
    assert [tool.name for tool in load_world(world).build().tools] == ["h.list_things", "h.add_thing", "h.guess"]
    shown = simtrain("world", "draft", manifest, "--out", world, "--force")
    assert "0 of 3 tools are bound to SQL" in " ".join(shown.split())


def test_of_several_servers_one_is_named(tmp_path: Path) -> None:
    both, out = things(tmp_path / "h.json"), tmp_path / "one.yaml"
    servers = json.loads(both.read_text())
    servers["servers"] = {"one": servers["servers"]["h"], "two": servers["servers"]["h"]}
    both.write_text(json.dumps(servers))
    assert "name one with --server: one, two" in simtrain("world", "draft", both, "--out", out, code=2)
    assert "did you mean 'one'" in simtrain("world", "draft", both, "--out", out, "--server", "onee", code=2)
    assert not out.exists()
    draft(both, out, "--server", "one")
    assert "manifest: one.manifest.json" in out.read_text()
    assert "--force replaces it" in simtrain("world", "draft", both, "--out", out, "--server", "one", code=2)


def test_bad_input_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    out, manifest = tmp_path / "w.yaml", things(tmp_path / "h.json")
    no_manifest = tmp_path / "no.json"
    no_manifest.write_text("[]")
    torn = tmp_path / "torn.jsonl"
    torn.write_text('{"format":"simtrain-recording/9","server":"x","transport":"stdio"}\n')
    assert "this is not a manifest" in simtrain("world", "draft", no_manifest, "--out", out, code=2)
    assert "not 'simtrain-recording/1'" in simtrain(
        "world", "draft", manifest, "--recording", torn, "--out", out, code=2
    )
    assert "ends in .yaml" in simtrain("world", "draft", manifest, "--out", tmp_path / "w.json", code=2)
    assert "goes with --model" in simtrain("world", "draft", manifest, "--out", out, "--base-url", "http://x", code=2)
    assert not out.exists()
    assert max(map(len, simtrain("world", "draft", "--help").splitlines())) <= 80
