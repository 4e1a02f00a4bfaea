"""Enriching: pages are worded anew, facts stay where they were said, and a world is built with the words ever after."""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from small_universe import UNIVERSE

from simtrain.cli import main
from simtrain.files.yaml_files import read_document
from simtrain.llm.client import ChatClient
from simtrain.testing import FakeOpenAI, Say
from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject
from simtrain.worlds.search.file import open_file
from simtrain.worlds.search.pages.enriching import enrich
from simtrain.worlds.search.pages.rewording import cut, digest, faults, joined
from simtrain.worlds.search.source import SearchSource

pytestmark = pytest.mark.slow

WORLD = "small_universe.yaml"
BODY = "The mine **Ostra Velun** opened on 3 May 2101.\n\n- **Crew:** 12\n- [All mines](/mines)\n\nIt has 12 shafts; see [its sector](/s)."


def at(body: str, words: str, nth: int = 1) -> tuple[int, int]:
    place = -1
    for _ in range(nth):
        place = body.index(words, place + 1)
    return place, place + len(words)


@pytest.fixture
def apart():
    spans = [at(BODY, "Ostra Velun"), at(BODY, "3 May 2101"), at(BODY, "12"), at(BODY, "12", 2)]
    return cut(BODY, spans)


def test_facts_links_and_lists_are_set_aside(apart) -> None:
    assert apart.text == "The mine **⟦1⟧** opened on ⟦2⟧.\n\n⟦3⟧\n\nIt has ⟦4⟧ shafts; see ⟦5⟧."
    assert apart.part(3) == "- **Crew:** 12\n- [All mines](/mines)"
    assert apart.blocks == {3}
    assert joined(apart, apart.text)[0] == BODY


def test_other_words_may_stand_around_them_and_figures_before_names(apart) -> None:
    text = "Since ⟦2⟧ people have been digging at **⟦1⟧**, and ⟦4⟧ shafts lead down.\n\n⟦3⟧\n\nOf the region tells ⟦5⟧."
    assert faults(apart, text) == []
    body, starts = joined(apart, text)
    assert body[starts[1] :].startswith("Ostra Velun") and body[starts[5] :].startswith("[its sector](/s)")


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (("⟦2⟧", "long ago"), "⟦2⟧ stands 0 times"),
        (("⟦2⟧", "⟦2⟧ or ⟦2⟧"), "⟦2⟧ stands 2 times"),
        (("⟦5⟧", "⟦5⟧ ⟦9⟧"), "there is no ⟦9⟧"),
        (("⟦3⟧", "See ⟦3⟧"), "a line of its own"),
        (("shafts", "shafts and 7 towers"), "'7' may not be used"),
        (("shafts", "shafts and seven towers"), "'seven' may be"),
        (("shafts", "shafts near Velport"), "'Velport' may be"),
        (("shafts", "shafts [here](/x)"), "'[' may not be used"),
        (("shafts", "<b>shafts</b>"), "'<' may not be used"),
        (("It has", "- It has"), "no lists"),
        (("shafts", "shafts " + "and so on " * 40), "words beside the marks"),
    ],
)
def test_what_loses_repeats_or_invents_something_is_found(apart, change: tuple[str, str], fault: str) -> None:
    assert any(fault in found for found in faults(apart, apart.text.replace(*change)))


def test_one_figure_or_name_may_not_change_places_with_another(apart) -> None:
    figures = apart.text.replace("⟦2⟧", "⟦x⟧").replace("⟦4⟧", "⟦2⟧").replace("⟦x⟧", "⟦4⟧")
    assert faults(apart, figures) == ["⟦2⟧ and ⟦4⟧ have changed places, and must keep their order"]
    names = apart.text.replace("⟦1⟧", "⟦x⟧").replace("⟦5⟧", "⟦1⟧").replace("⟦x⟧", "⟦5⟧")
    assert faults(apart, names) == ["⟦1⟧ and ⟦5⟧ have changed places, and must keep their order"]
    same = cut("Twice 3, and 3 again.", [(6, 7), (13, 14)])
    assert faults(same, "Twice ⟦2⟧, and ⟦1⟧ again.") == []


def rewrite(text: str) -> str:
    """Another wording: every paragraph of prose gets a sentence of its own in front."""
    lines = text.split("\n")
    return "\n".join(f"So it is told. {line}" if re.search("[a-z]", line) else line for line in lines)


def model(answer: Callable[[str, int], str]) -> FakeOpenAI:
    """A model that answers by the page it is shown and by how often it was asked about it."""

    def reply(body: JsonObject) -> Say:
        messages = body["messages"]
        page = messages[1]["content"].partition("The page:\n\n")[2]  # type: ignore[index,call-overload]
        return Say(answer(page, len(messages) // 2))  # type: ignore[arg-type]

    return FakeOpenAI(reply)


def write_world(folder: Path, more: str = "") -> Path:
    file = folder / WORLD
    file.write_text(UNIVERSE + more)
    return file


def connection_of(folder: Path, world: Path) -> sqlite3.Connection:
    source = SearchSource.load(read_document(world))
    return open_file(source.build_file(path=folder / f"{source.identity()}.sqlite"))


def said(connection: sqlite3.Connection) -> list[tuple[str, int, int, str]]:
    """What is stated where, whatever the place on the page."""
    sql = (
        "select p.url, s.attribute, s.entity, substr(p.body, s.start + 1, s.length) from _statements s"
        " join _pages p on p.id = s.page order by 1, 2, 3, 4"
    )
    return connection.execute(sql).fetchall()


@pytest.mark.full
def test_a_world_is_built_with_the_words_and_states_what_it_stated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SIMTRAIN_CACHE", str(tmp_path / "cache"))
    plain = connection_of(tmp_path, write_world(tmp_path))
    with model(lambda page, _: rewrite(page)) as server, pytest.raises(SystemExit) as ended:
        main(["world", "enrich", WORLD, "--model", "fake", "--base-url", server.url, "--out", "words.jsonl", "--json"])
    assert ended.value.code in (0, None)
    report = json.loads(capsys.readouterr().out)
    assert report["refused"] == 0 and report["kept"] == plain.execute("select count(*) from _pages").fetchone()[0]
    enriched = connection_of(tmp_path, write_world(tmp_path, "enriched: words.jsonl\n"))
    assert said(enriched) == said(plain)
    count = "select count(*) from _pages where body like '%So it is told.%'"
    assert enriched.execute(count).fetchone()[0] > 0 == plain.execute(count).fetchone()[0]
    found = enriched.execute("select count(*) from _index where _index match 'told'").fetchone()[0]
    assert found == enriched.execute(count).fetchone()[0]
    with pytest.raises(SystemExit):
        main(["world", "check", WORLD, "--questions", "0", "--against", WORLD, "--json"])
    checked = json.loads(capsys.readouterr().out)
    assert checked["pages"]["pages"] == report["kept"]
    assert checked["pages"]["problems"] == []


def test_a_fault_is_mended_once_else_the_page_keeps_its_words(tmp_path: Path) -> None:
    connection_of(tmp_path, write_world(tmp_path)).close()
    file = next(tmp_path.glob("*.sqlite"))
    out = tmp_path / "words.jsonl"

    async def ask(answer: Callable[[str, int], str], limit: int) -> tuple[int, int, int]:
        async with model(answer) as server:
            client = ChatClient("fake", base_url=server.url)
            done = await enrich(file, out, client, limit=limit)
            await client.close()
            return done.kept, done.refused, len(server.chats)

    assert asyncio.run(ask(lambda page, _: page.replace("⟦1⟧", "nobody"), 4)) == (0, 4, 8)
    assert out.read_bytes() == b""
    assert asyncio.run(ask(lambda page, asked: rewrite(page) if asked > 1 else "no", 3)) == (3, 0, 6)
    assert asyncio.run(ask(lambda page, _: rewrite(page), 5)) == (2, 0, 2), "pages that are done are passed over"


def test_a_run_of_which_nothing_can_be_used_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SIMTRAIN_CACHE", str(tmp_path / "cache"))
    write_world(tmp_path)
    asked = ["world", "enrich", WORLD, "--model", "fake", "--limit", "2", "--out", "words.jsonl", "--base-url"]
    with model(lambda page, _: page.replace("⟦1⟧", "nobody")) as server, pytest.raises(SystemExit) as ended:
        main([*asked, server.url])
    assert ended.value.code == 1
    assert capsys.readouterr().out.endswith("No page was worded anew.\n")


def test_a_page_that_was_cut_off_is_no_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SIMTRAIN_CACHE", str(tmp_path / "cache"))
    write_world(tmp_path)
    asked = ["world", "enrich", WORLD, "--model", "fake", "--limit", "2", "--out", "words.jsonl", "--max-tokens", "90"]

    def cut(body: JsonObject) -> Say:
        page = next(message["content"] for message in body["messages"] if message["role"] == "user")
        return Say(rewrite(page.partition("The page:\n\n")[2]), finish_reason="length")

    with FakeOpenAI(cut) as server, pytest.raises(SystemExit) as ended:
        main([*asked, "--base-url", server.url, "--json"])
    report = json.loads(capsys.readouterr().out)
    assert (ended.value.code, report["kept"], report["refused"]) == (1, 0, 2)
    assert set(report["faults"].values()) == {"it was cut off at the token limit (max_tokens)"}
    assert {chat["max_tokens"] for chat in server.chats} == {90}


def test_words_that_change_a_fact_are_refused_at_the_build(tmp_path: Path) -> None:
    plain = connection_of(tmp_path, write_world(tmp_path))
    url, body = plain.execute("select url, body from _pages order by id limit 1").fetchone()
    words = tmp_path / "words.jsonl"
    world = write_world(tmp_path, "enriched: words.jsonl\n")
    words.write_text(json.dumps({"url": url, "was": digest(body), "text": "Nothing is told here."}) + "\n")
    with pytest.raises(InputError, match=r"words\.jsonl:1: .*stands 0 times"):
        connection_of(tmp_path, world)
    words.write_text('{"url": 3}\n')
    with pytest.raises(InputError, match=r"words\.jsonl:1"):
        connection_of(tmp_path, world)
    words.unlink()
    with pytest.raises(InputError, match="there is no file"):
        connection_of(tmp_path, world)
