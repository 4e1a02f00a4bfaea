"""Verification of what is shown, apart from what is answered; and of a server against its own recorded past."""

from __future__ import annotations

import json
import re
import shlex
import sys
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from notes_server import ID, WORLD

from simtrain.mcp.verify.cassette import recheck
from simtrain.mcp.verify.findings import Thresholds
from simtrain.mcp.verify.listing_comparison import alike
from simtrain.mcp.verify.pairing import Pairing
from simtrain.mcp_wire.client import connect, shown
from simtrain.mcp_wire.manifest import Exchange, Manifest, ServerManifest, Surface, write_manifest
from simtrain.mcp_wire.targets import parse_target
from simtrain.values.errors import InputError
from tests.mcp.test_verify import REAL, findings_of, run

pytestmark = pytest.mark.slow

TOOL: dict[str, Any] = {
    "name": "get",
    "title": "Get",
    "description": "One note.",
    "inputSchema": {"type": "object", "properties": {"id": {"type": "string"}}},
    "outputSchema": {"type": "object"},
    "annotations": {"readOnlyHint": True},
    "icons": [{"src": "a.png"}],
}
GREETING: dict[str, Any] = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {"listChanged": True}},
    "serverInfo": {"name": "notes", "version": "1"},
    "instructions": "Take notes.",
}
LISTS: dict[str, Any] = {
    "tools/list": [TOOL, {**TOOL, "name": "add"}],
    "resources/list": [{"uri": "notes://all", "name": "All"}],
    "resources/templates/list": [{"uriTemplate": "notes://{id}", "name": "One"}],
    "prompts/list": [{"name": "sum_up", "arguments": [{"name": "id", "required": True}]}],
}
MEMBER = {"resources/list": "resources", "resources/templates/list": "resourceTemplates", "prompts/list": "prompts"}


def surface(greeting: dict[str, Any] = GREETING, lists: dict[str, Any] = LISTS, era: str = "2025-11-25") -> Surface:
    pages = {method: ({MEMBER.get(method, "tools"): deepcopy(items)},) for method, items in lists.items()}
    return Surface(era, {}, deepcopy(greeting), pages)


def changed(method: str, key: str, value: Any) -> Surface:
    """The surface with one member of the last entry of a list changed; taken away where the value is None."""
    lists = deepcopy(LISTS)
    lists[method][-1][key] = value
    if value is None:
        del lists[method][-1][key]
    return surface(lists=lists)


def test_the_same_surface_is_the_same_in_every_part() -> None:
    found = alike(surface(), surface(), Pairing({}, {}))
    assert not found.differences
    assert (found.total.equal, found.total.of) == (9, 9)
    assert all(count.equal == count.of for count in found.parts.values())


@pytest.mark.parametrize(
    ("other", "place", "part"),
    [
        (surface({**GREETING, "serverInfo": {"name": "notes", "version": "2"}}), "serverInfo", "serverInfo"),
        (surface({**GREETING, "instructions": "Take notes"}), "instructions", "instructions"),
        (surface({**GREETING, "capabilities": {"tools": {"listChanged": 1}}}), "capabilities", "capabilities"),
        (surface({**GREETING, "extra": 1}), "extra", "extra"),
        (changed("tools/list", "title", "get"), "tools.add.title", "tools: title"),
        (changed("tools/list", "description", "One note"), "tools.add.description", "tools: description"),
        (changed("tools/list", "inputSchema", {"type": "object"}), "tools.add.inputSchema", "tools: inputSchema"),
        (changed("tools/list", "outputSchema", None), "tools.add.outputSchema", "tools: outputSchema"),
        (changed("tools/list", "annotations", {"readOnlyHint": 1}), "tools.add.annotations", "tools: annotations"),
        (changed("tools/list", "icons", []), "tools.add", "tools: the rest"),
        (changed("tools/list", "name", "put"), "tools.put", "tools"),
        (surface(lists={**LISTS, "tools/list": LISTS["tools/list"][::-1]}), "tools: order", "tools: order"),
        (surface(lists={**LISTS, "tools/list": [*LISTS["tools/list"], TOOL]}), "tools.get (2)", "tools"),
        (changed("resources/list", "name", "Everything"), "resources.notes://all", "resources"),
        (changed("resources/templates/list", "name", "Any"), "templates.notes://{id}", "templates"),
        (changed("prompts/list", "arguments", []), "prompts.sum_up", "prompts"),
    ],
)
def test_every_part_that_differs_is_told_with_its_place(other: Surface, place: str, part: str) -> None:
    found = alike(surface(), other, Pairing({}, {}))
    assert place in [difference["place"] for difference in found.differences]
    count = found.parts[part]
    assert count.equal < count.of
    if part != "tools: order":
        assert found.total.equal < found.total.of


async def test_the_surface_is_compared_apart_from_what_is_answered(tmp_path: Path) -> None:
    world = tmp_path / "notes.yaml"
    world.write_text(WORLD)
    findings = await findings_of(world, calls=40)
    (compared,) = findings.surfaces
    # The server describes nothing, and its stand-in does.
    assert compared.parts["tools: inputSchema"].equal == compared.parts["tools: inputSchema"].of == 5
    assert "tools.add.description" in [difference["place"] for difference in compared.differences]
    assert findings.total.agreement == 1.0
    assert findings.below(Thresholds()) == []
    (problem,) = findings.below(Thresholds(surface=1.0))
    assert re.fullmatch(r"\d+ of \d+ parts of the surface are equal, below 100%", problem)


def test_the_command_tells_the_surface_in_the_table_and_as_json(tmp_path: Path) -> None:
    world, page = tmp_path / "notes.yaml", tmp_path / "r.html"
    world.write_text(WORLD)
    words = (world, "--against", REAL, "--calls", "20", "--pair", ID, "--out", page)
    done = run(*words)
    assert done.returncode == 0, done.stderr
    assert "tools: description" in done.stdout and "shown otherwise: tools.add.description" in done.stdout
    assert "tools.add.description" in page.read_text()
    done = run(*words, "--surface", "1", "--json")
    assert done.returncode == 1
    (shown_alike,) = json.loads(done.stdout)["surface"]["eras"]
    assert shown_alike["parts"]["tools: description"] == {"equal": 0, "of": 5}


# Cassettes


async def taped(folder: Path) -> Path:
    """A manifest of the notes server with a few calls that depend on each other."""
    async with connect(parse_target(REAL), era="2025-11-25") as client:
        seen, _ = await shown(client)
        made: list[Exchange] = []

        async def ask(tool: str, **arguments: Any) -> dict[str, Any]:
            made.append(await client.request("tools/call", {"name": tool, "arguments": arguments}))
            return (made[-1].result or {}).get("structuredContent") or {}

        note = await ask("add", text="tea")
        await ask("edit", id=note["id"], text="green tea")
        await ask("get", id=note["id"])
        await ask("get", id="nobody")
        made.append(await client.request("notes/no_such_method", {}))
    path = folder / "notes.json"
    write_manifest(Manifest({"notes": ServerManifest("notes", {}, (seen,), tuple(made))}), path)
    return path


TIMES = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)")


async def test_a_server_that_is_still_the_same_agrees_with_its_past(tmp_path: Path) -> None:
    findings = await recheck(await taped(tmp_path), REAL, pairs=[re.compile(ID), TIMES])
    assert findings.divergences() == []
    assert findings.total.calls == 5 and findings.total.agreement == 1.0
    assert findings.shown.equal == findings.shown.of > 5


@pytest.mark.parametrize(
    ("right", "wrong", "places"),
    [
        ("No note", "Not a note", ["content[0].text: other text"]),
        ('"name": "notes"', '"name": "notices"', []),
        ('"type": "string"', '"type": ["string"]', []),
    ],
)
async def test_a_server_that_has_changed_does_not(right: str, wrong: str, places: list[str], tmp_path: Path) -> None:
    here = Path(__file__).parents[1] / "support"
    text = (here / "notes_server.py").read_text()
    assert right in text
    program = tmp_path / "changed.py"
    program.write_text(text.replace(right, wrong))
    command = shlex.join(["/usr/bin/env", f"PYTHONPATH={here}", sys.executable, str(program)])
    findings = await recheck(await taped(tmp_path), command, pairs=[re.compile(ID), TIMES])
    assert [divergence["problem"] for divergence in findings.divergences()] == places
    assert (findings.shown.equal < findings.shown.of) is not bool(places)


async def test_what_is_asked_after_a_server_died_does_not_agree(tmp_path: Path) -> None:
    findings = await recheck(await taped(tmp_path), f"{REAL} dies", pairs=[re.compile(ID), TIMES])
    assert [outcome.problem is None for outcome in findings.outcomes] == [True, True, False, False, False]


async def test_the_command_compares_with_a_cassette(tmp_path: Path) -> None:
    path = await taped(tmp_path)
    done = run("--cassette", path, "--against", REAL, "--pair", ID, "--pair", TIMES.pattern, "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["cassette"] == "notes.json" and report["total"]["agreed"] == 5 and report["shortfalls"] == []


@pytest.mark.full
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--against", REAL), "either a stand-in or a --cassette"),
        (("notes", "--cassette", "notes.json", "--against", REAL), "either a stand-in or a --cassette"),
        (("--cassette", "nothing.json", "--against", REAL), "nothing.json: cannot be read"),
        (("--cassette", "{tape}", "--server", "note", "--against", REAL), "no server 'note' was recorded"),
        (("--cassette", "{tape}", "--against", "no-such-program"), "no-such-program"),
    ],
)
async def test_a_cassette_that_cannot_be_compared_ends_in_one_line(
    words: tuple[str, ...], told: str, tmp_path: Path
) -> None:
    path = await taped(tmp_path)
    done = run(*(word.replace("{tape}", str(path)) for word in words))
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: ") and told in line


async def test_an_empty_cassette_is_bad_input(tmp_path: Path) -> None:
    path = tmp_path / "empty.jsonl"
    path.write_text("")
    with pytest.raises(InputError):
        await recheck(path, REAL)
