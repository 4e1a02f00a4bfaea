"""Verification: the same calls on a real server and on its stand-in, compared strictly, with figures that tell the truth."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import Environment
from jinja2.meta import find_undeclared_variables
from notes_server import ID, SCHEMAS, WORLD, result, schema

from simtrain.mcp.verify.comparison import difference
from simtrain.mcp.verify.draw import Draw, NothingToDraw, Past, occurs
from simtrain.mcp.verify.findings import Findings, Thresholds
from simtrain.mcp.verify.pairing import Pairing
from simtrain.mcp.verify.plan import SEQUENCE, UNKNOWN_TOOL, Generator, deal
from simtrain.mcp.verify.play import VerifyOptions, play, verify
from simtrain.mcp.verify.real_server import ServerResponse
from simtrain.mcp.verify.report import facts, write
from simtrain.mcp.verify.stand_in import stand_in
from simtrain.mcp.verify.subject import Subject, makes
from simtrain.mcp.verify.subjects import SUBJECTS, subject_of
from simtrain.mcp.verify.subjects.generic import Generic, Recorded
from simtrain.mcp.verify.subjects.git import Git
from simtrain.mcp.verify.subjects.time import Time
from simtrain.mcp_wire.manifest import Exchange, Manifest, ServerManifest, Surface, write_manifest
from simtrain.scenarios.find import shipped_root
from simtrain.values.errors import InputError
from simtrain.values.seeding import Stream
from simtrain.values.types import JsonObject, JsonValue

pytestmark = pytest.mark.slow

UUIDS = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|N\d{3}")
ONE, OTHER = "6f1d7c1e-0b7a-4c8e-9d35-0e6f1f2a3b4c", "00000000-0000-4000-8000-000000000000"
REAL = shlex.join([sys.executable, str(Path(__file__).parents[1] / "support" / "notes_server.py")])


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    path = tmp_path / "notes.yaml"
    path.write_text(WORLD)
    return path


async def findings_of(world: Path, command: str = REAL, *, calls: int = 120, seed: int = 0, **options: Any) -> Findings:
    own = stand_in(str(world))
    chosen = VerifyOptions(calls, seed, pairs=(re.compile(ID),), **options)
    return await verify(own, subject_of(own.name), command, chosen)


def run(*words: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "simtrain", "verify", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def said(text: str, **more: Any) -> JsonObject:
    return {"result": {"content": [{"type": "text", "text": text}], **more}}


# What agrees


async def test_a_world_that_does_what_the_server_does_agrees_on_every_call(notes: Path) -> None:
    findings = await findings_of(notes)
    assert findings.divergences() == []
    assert findings.total.agreement == 1.0
    assert set(findings.tools()) == {*SCHEMAS, UNKNOWN_TOOL}
    assert findings.total.accepted > 40
    assert findings.total.stateful > 40


@pytest.mark.parametrize(
    ("tool", "right", "wrong"),
    [
        ("add", "select id, text, created from notes", "select id, text from notes"),
        ("get", "No note {{ id }}.", "There is no note {{ id }}."),
        ("edit", "set text = :text where", "set text = upper(:text) where"),
        ("remove", "delete from notes where id = :id", "delete from notes where id > :id"),
        ("list", "order by rowid", "order by rowid desc"),
    ],
)  # fmt: skip
async def test_a_tool_that_answers_otherwise_loses_agreement(tool: str, right: str, wrong: str, tmp_path: Path) -> None:
    start, end = WORLD.index(f"- name: {tool}\n"), WORLD.find("- name:", WORLD.index(f"- name: {tool}\n") + 1)
    end = end if end > 0 else len(WORLD)
    assert right in WORLD[start:end]
    broken = tmp_path / "notes.yaml"
    broken.write_text(WORLD[:start] + WORLD[start:end].replace(right, wrong) + WORLD[end:])
    findings = await findings_of(broken)
    assert findings.tools()[tool].agreement < 1.0
    assert any(divergence["tool"] == tool for divergence in findings.divergences())


async def test_a_divergence_says_what_was_called_before_and_what_both_sides_answered(tmp_path: Path) -> None:
    broken = tmp_path / "notes.yaml"
    broken.write_text(WORLD.replace("order by rowid", "order by rowid desc"))
    findings = await findings_of(broken)
    found = next(item for item in findings.divergences() if item["tool"] == "list")
    assert found["problem"].startswith("content[0].text")
    assert len(found["before"]) == found["index"]
    assert (
        found["real"]["result"]["structuredContent"]["count"]
        == found["stand_in"]["result"]["structuredContent"]["count"]
    )
    # Both are told in the stand-in's terms.
    assert {note["id"][0] for note in found["real"]["result"]["structuredContent"]["notes"]} == {"N"}


async def test_the_same_seed_makes_the_same_calls_whatever_runs_at_once(notes: Path) -> None:
    one = await findings_of(notes, parallel=1)
    other = await findings_of(notes, parallel=3)
    assert [outcome.call for outcome in one.outcomes] == [outcome.call for outcome in other.outcomes]
    different = await findings_of(notes, seed=1)
    assert [outcome.call for outcome in one.outcomes] != [outcome.call for outcome in different.outcomes]


async def test_one_sequence_is_played_as_it_was_among_all(tmp_path: Path) -> None:
    broken = tmp_path / "notes.yaml"
    broken.write_text(WORLD.replace("order by rowid", "order by rowid desc"))
    all_of_them = await findings_of(broken)
    number = all_of_them.divergences()[-1]["sequence"]
    alone = await findings_of(broken, only=number)
    assert [outcome.call for outcome in alone.outcomes] == [outcome.call for outcome in all_of_them.sequences[number]]
    assert number > 0 and {divergence["sequence"] for divergence in alone.divergences()} == {number}
    with pytest.raises(InputError, match="there is no sequence 6: 120 calls are 6 sequences"):
        await findings_of(broken, only=6)


async def test_a_call_during_which_the_second_changes_may_have_seen_either(notes: Path) -> None:
    own = stand_in(str(notes))
    findings = await play(
        own,
        subject_of(own.name),
        {tool.name: tool.input_schema for tool in own.world.tools},
        VerifyOptions(100, pairs=(re.compile(ID),)),
        bench=lambda _: Straddling(notes.parent),
    )
    assert findings.divergences() == []
    assert findings.total.accepted > 30


class Straddling:
    """The notes server on a bench where every call takes place around the turn of a second, and notes see one or the other."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._notes: dict[str, dict[str, str]] = {}
        self._calls = 0

    async def fresh(self, sequence: int) -> None:
        self._notes = {}

    async def call(self, tool: str, arguments: JsonObject) -> ServerResponse:
        self._calls += 1
        begun, ended = 2e9 + self._calls - 0.1, 2e9 + self._calls + 0.1
        params = {"name": tool, "arguments": arguments}
        return ServerResponse(
            {"result": result(self._notes, params, ended if self._calls % 2 else begun)}, begun, ended
        )

    async def close(self) -> None:
        return


# Comparison


def test_an_absent_is_error_is_a_false_one() -> None:
    assert difference(said("x", isError=False), said("x"), Pairing({}, {})) is None


@pytest.mark.parametrize(
    ("real", "own", "place"),
    [
        (said("x", isError=True), said("x"), "channel"),
        ({"error": {"code": -32602, "message": "x"}}, said("x", isError=True), "channel"),
        ({"error": {"code": -32602, "message": "x"}}, {"error": {"code": -32603, "message": "x"}}, "error.code"),
        ({"error": {"code": -32602, "message": "x"}}, {"error": {"code": -32602, "message": "y"}}, "error.message"),
        (said("x"), said("x "), "content[0].text"),
        (said("x"), said("x", structuredContent={}), "structuredContent"),
        (said("x", structuredContent={"a": 1}), said("x", structuredContent={"a": 2}), "structuredContent.a"),
        (said("x", structuredContent={"a": 1}), said("x", structuredContent={"a": True}), "structuredContent.a"),
        (said("x", structuredContent={"a": 1}), said("x", structuredContent={"a": 1, "b": 1}), "structuredContent.b"),
        (said("x", structuredContent={"a": [1]}), said("x", structuredContent={"a": [1, 1]}), "structuredContent.a"),
        (said("3 of 7 files"), said("3 of 8 files"), "content[0].text"),
        ({"result": {"content": []}}, said("x"), "content"),
    ],
)
def test_every_difference_has_a_place(real: JsonObject, own: JsonObject, place: str) -> None:
    assert (difference(real, own, Pairing({}, {"id": UUIDS})) or "").startswith(place)


def test_ids_are_paired_once_and_for_all() -> None:
    pairing = Pairing({}, {"id": UUIDS})
    assert difference(said(f"made {ONE}"), said("made N001"), pairing) is None
    assert difference(said(f"made {OTHER}"), said("made N002"), pairing) is None
    assert difference(said(f"{ONE} and {OTHER}"), said("N001 and N002"), pairing) is None
    assert difference(said(f"{ONE} and {OTHER}"), said("N002 and N001"), pairing) is not None
    assert difference(said("made 11111111-0000-4000-8000-000000000000"), said("made N001"), pairing) is not None
    assert pairing.for_real({"id": "N001"}) == {"id": ONE}
    assert pairing.from_real({"id": OTHER}) == {"id": "N002"}


def test_what_is_no_token_is_never_paired() -> None:
    pairing = Pairing({}, {"id": UUIDS})
    assert not pairing.same_text(f"{ONE}: 3 items", "N001: 4 items")
    assert not pairing.same_text("a note", "N001")
    assert pairing.for_real("N001") == "N001"


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=30))
def test_a_pairing_is_always_one_to_one(pairs: list[tuple[int, int]]) -> None:
    pairing = Pairing({}, {"id": re.compile(r"[rs]\d")})
    met: set[tuple[int, int]] = set()
    for real, own in pairs:
        if pairing.same_text(f"id r{real}", f"id s{own}"):
            met.add((real, own))
    assert len({real for real, _ in met}) == len(met) == len({own for _, own in met})


def test_roots_are_translated_both_ways_and_nothing_else_is() -> None:
    pairing = Pairing({"/files": "/tmp/x/w1/files"}, {})
    assert pairing.for_real({"path": "/files/a.txt"}) == {"path": "/tmp/x/w1/files/a.txt"}
    assert pairing.for_real(["../files/a", "a/files", "..//files"]) == ["../files/a", "a/files", "..//files"]
    assert pairing.for_real(["//files/a", "file:///files/a"]) == ["//tmp/x/w1/files/a", "file:///tmp/x/w1/files/a"]
    assert pairing.from_real({"/tmp/x/w1/files/a.txt": ["/tmp/x/w1/files"]}) == {"/files/a.txt": ["/files"]}
    assert pairing.same_text("read /tmp/x/w1/files/a.txt", "read /files/a.txt")
    assert not pairing.same_text("read /tmp/x/w1/files/a.txt", "read /files/b.txt")


# The plan


@given(st.integers(1, 20), st.integers(200, 2000), st.integers(0, 3))
def test_every_tool_has_its_share_and_no_call_is_lost(tools: int, calls: int, seed: int) -> None:
    class Weighted(Subject):
        weights = {"t0": 9.0, "t1": 0.1}  # noqa: RUF012

    names = [f"t{number}" for number in range(tools)]
    plan = deal(names, Weighted(), calls=calls, seed=seed)
    dealt = [tool for sequence in plan for tool in sequence]
    assert len(dealt) == calls
    assert all(len(sequence) == SEQUENCE for sequence in plan[:-1])
    assert all(dealt.count(name) >= 0.03 * calls for name in names)


def test_a_draw_from_what_earlier_calls_established_is_marked() -> None:
    past = Past({"file": ["a"]})
    draw = Draw(Stream(1), past)
    assert draw.existing("file") == "a"
    assert draw.established == []
    past.note("file", "b")
    assert draw.earlier("file") == "b"
    assert draw.established == ["b"]
    past.drop("file", "a", "b")
    with pytest.raises(NothingToDraw):
        draw.existing("file")
    assert Draw(Stream(1), past).gone("file") in ("a", "b")


def test_a_call_depends_on_what_stands_in_it_and_not_on_what_was_drawn_and_left_out() -> None:
    assert occurs("N001", {"ids": ["N001"]})
    assert occurs(["Ada", "likes tea"], {"query": "LIKES TEA"})
    assert occurs({"repo": "/r", "name": 7}, {"number": 7})
    assert occurs("/files/a", {"edits": [{"path": "/files/a/b"}]})
    assert not occurs("N001", {"ids": ["N002"], "count": 1})
    assert not occurs(["", None], {"text": "", "other": None})


def test_calls_in_a_file_are_those_that_methods_make(tmp_path: Path) -> None:
    class Marked(Subject):
        @makes("add", weight=2)
        def new_note(self, draw: Draw) -> JsonObject:
            return {"text": draw.words(), **({"tags": [draw.word() for _ in range(2)]} if draw.chance(0.5) else {})}

        @makes("get")
        @makes("remove", "edge")
        def known_note(self, draw: Draw) -> JsonObject:
            return {"id": draw.existing("note"), draw.one(("head", "tail")): shouted(draw, 3)}

    def shouted(draw: Draw, count: int) -> str:
        return draw.words(most=count).upper()

    class Written(Subject):
        calls = tmp_path / "calls.yaml"
        helpers = (shouted,)

    Written.calls.write_text("""
values: {ends: [head, tail], two: 2}
calls:
  - valid: {add: 2}
    arguments:
      text: "{{ words() }}"
      tags: "{{ [word(), word()] if chance(0.5) else omit }}"
  - valid: {get: 1}
    edge: {remove: 1}
    let: {number: "{{ two + 1 }}"}
    arguments: {id: "{{ existing('note') }}", "{{ one(ends) }}": "{{ shouted(number) }}"}
""")
    past = Past({"note": ["n1", "n2"]})
    by_tool = {maker.tool: maker for maker in Marked().makers()}
    for maker in Written().makers():
        other = by_tool[maker.tool]
        assert (maker.kind, maker.weight) == (other.kind, other.weight)
        for seed in range(30):
            assert maker.arguments(Draw(Stream(seed), past)) == other.arguments(Draw(Stream(seed), past))


@pytest.mark.parametrize("name", SUBJECTS)
def test_every_name_in_a_file_of_calls_is_defined(name: str) -> None:
    subject = subject_of(name)
    assert subject.calls is not None
    document = yaml.safe_load(subject.calls.read_text("utf-8"))
    known = {
        *document.get("values", ()),
        *(helper.__name__ for helper in subject.helpers),
        *dir(Draw),
        "past",
        "omit",
        "dict",
    }
    for entry in document["calls"]:
        lets = entry.pop("let", {})
        for text in _texts([*lets.values(), entry["arguments"]]):
            unknown = find_undeclared_variables(Environment().parse(text)) - known - {*lets}
            assert not unknown, f"{text}: {unknown}"
    assert {maker.kind for maker in subject.makers()} == {"valid", "edge", "invalid"} or name == "memory"


def _texts(value: JsonValue) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            yield from (text for item in (*value, *value.values()) for text in _texts(item))
        case list():
            yield from (text for item in value for text in _texts(item))


async def test_a_subject_lays_out_the_world_and_makes_its_own_calls(tmp_path: Path, notes: Path) -> None:
    class Written(Subject):
        restart = True

        @makes("get", "valid")
        @makes("remove", "valid")
        def one(self, draw: Draw) -> JsonObject:
            return {"id": draw.earlier("id")}

        def learn(self, past: Past, call: Any, reply: JsonObject) -> None:
            if call.tool == "add":
                past.note("id", reply["structuredContent"]["id"])

        def lay_out(self, world: Any, root: Path) -> None:
            (root / "marker").write_text(world.name)

        def placeholders(self, root: Path) -> dict[str, str]:
            return {"place": str(root / "marker")}

    program = tmp_path / "placed.py"
    program.write_text(
        "import pathlib, sys, notes_server\nassert pathlib.Path(sys.argv[1]).read_text() == 'notes'\nnotes_server.main()"
    )
    placed = f"{shlex.quote(sys.executable)} {program} {{place}}"
    options = VerifyOptions(100, pairs=(re.compile(ID),))
    command = f"/usr/bin/env PYTHONPATH={Path(__file__).parents[1] / 'support'} {placed}"
    findings = await verify(stand_in(str(notes)), Written(), command, options)
    assert findings.total.agreement == 1.0
    assert findings.tools()["get"].stateful >= 5
    with pytest.raises(InputError, match=r"does not contain \{place\}"):
        await verify(stand_in(str(notes)), Written(), REAL, options)


def test_a_manifest_is_verified_by_the_calls_that_were_recorded(tmp_path: Path) -> None:
    params = {"name": "get", "arguments": {"id": "nobody"}}
    era = "2025-11-25"
    missing = Exchange("tools/call", params, {"result": result({}, params, 0.0)}, era)
    descriptor = {"name": "get", "inputSchema": schema(SCHEMAS["get"])}
    greeting = {"protocolVersion": era, "capabilities": {"tools": {}}, "serverInfo": {"name": "notes", "version": "1"}}
    surface = Surface(era, {}, greeting, {"tools/list": ({"tools": [descriptor]},)})
    path = tmp_path / "notes.json"
    write_manifest(Manifest({"notes": ServerManifest("notes", {}, (surface,), (missing,))}), path)
    done = run(path, "--against", REAL, "--calls", "400", "--json")
    assert done.returncode == 1, done.stderr
    report = json.loads(done.stdout)
    assert report["tools"]["get"]["agreed"] > 3
    told = [divergence for divergence in report["divergences"] if divergence["arguments"] == params["arguments"]]
    assert told == []
    # What the manifest does not show is a difference too.
    assert report["tools"]["add"]["agreed"] < report["tools"]["add"]["calls"]


# The report and the command


async def test_thresholds_decide(tmp_path: Path) -> None:
    broken = tmp_path / "notes.yaml"
    broken.write_text(WORLD.replace("order by rowid", "order by rowid desc"))
    findings = await findings_of(broken, calls=60)
    assert findings.below(Thresholds(0.0, 0.0)) == []
    problems = findings.below(Thresholds(1.0, 1.0))
    assert problems[0].startswith("overall")
    assert any(problem.startswith("list") for problem in problems)


def test_the_command_reports_and_ends_as_it_found(notes: Path, tmp_path: Path) -> None:
    words = (notes, "--against", REAL, "--calls", "60", "--pair", ID)
    done = run(*words, "--json", "--out", tmp_path / "r.html")
    assert (done.returncode, done.stderr) == (0, "")
    report = json.loads(done.stdout)
    assert report["total"]["agreement"] == 1.0
    assert (tmp_path / "r.html").read_text().startswith("<!doctype html>")
    notes.write_text(WORLD.replace("No note", "Not a note"))
    done = run(*words, "--per-tool", "1", "--out", tmp_path / "r.json")
    assert done.returncode == 1
    assert "error: " in done.stderr
    assert "get" in done.stdout
    assert json.loads((tmp_path / "r.json").read_text())["divergences"]


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("--against", "no-such-program"), 2, "no-such-program"),
        (("--against", f"{REAL} toolless"), 2, "offers no tools"),
        (("--against", f"{REAL} {{root}}"), 2, "unknown placeholder {root}"),
        (("--against", REAL, "--pair", "("), 2, "--pair"),
        (("--against", REAL, "--out", "report.txt"), 2, "report.txt"),
        (("--against", f"{REAL} dies"), 1, "out of ink"),
        (("--against", f"{REAL} silent", "--timeout", "0.2", "--parallel", "4"), 1, "within 0.2 s"),
    ],
)
def test_what_cannot_be_verified_ends_in_one_line(words: tuple[str, ...], code: int, told: str, notes: Path) -> None:
    done = run(notes, *words, "--calls", "400")
    assert done.returncode == code
    last = done.stderr.splitlines()[-1]
    assert last.startswith("error: ")
    assert told in last
    assert "Traceback" not in done.stderr


async def test_nothing_of_a_reply_becomes_markup(tmp_path: Path) -> None:
    world = tmp_path / "notes.yaml"
    world.write_text(WORLD.replace("No note {{ id }}.", "<script>alert(1)</script>"))
    report = facts(await findings_of(world, calls=60), Thresholds())
    write(report, tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    assert "&lt;script&gt;alert(1)" in page
    assert "<script" not in page


@pytest.mark.parametrize(
    "described",
    [
        {},
        {"type": "object"},
        {"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]},
        {"type": "object", "properties": {"a": {"anyOf": [{"$ref": "#/properties/a"}]}}, "required": ["a"]},
        {"type": "object", "properties": {"a": {"type": "string", "minLength": 10**9}}, "required": ["a"]},
        {"type": "object", "properties": {"a": {"type": "array", "minItems": 10**9}}, "required": ["a"]},
        {
            "type": "object",
            "properties": {"a": {"type": ["string", "null"], "enum": []}, "b": True},
            "required": ["a", "b"],
        },
    ],
)
def test_any_schema_yields_calls_of_every_kind(described: JsonObject) -> None:
    generator = Generator(Subject(), {"t": described})
    past = Past({})
    made = [generator.call("t", past, Stream(seed)) for seed in range(60)]
    assert {call.kind for call in made} == {"valid", "edge", "invalid"}
    assert all(len(str(call.arguments)) < 200_000 for call in made)


def test_what_only_has_the_name_of_a_shipped_stand_in_is_not_taken_for_it(tmp_path: Path) -> None:
    capture = shutil.copy(shipped_root() / "worlds" / "git.manifest.json", tmp_path / "git.json")
    other = tmp_path / "memory.yaml"
    other.write_text(WORLD.replace("name: notes", "name: memory"))
    for name, kind in ((capture, Recorded), (other, Generic), ("git", Git), ("time", Time)):
        own = stand_in(str(name))
        assert own.name in SUBJECTS
        assert type(subject_of(own.name, world=own.world, captured=own.captured)) is kind
