"""`simtrain world check` as a whole, and that each of its audits can fail."""

from __future__ import annotations

import asyncio
import json
import re
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from marking import first_here
from small_universe import UNIVERSE

from simtrain.cli import main
from simtrain.cli.built_worlds import search_source
from simtrain.contracts.question import Column, Question, QuestionSet
from simtrain.contracts.world import Variant, World
from simtrain.llm.client import ChatClient
from simtrain.questions.asking import made_questions
from simtrain.scenarios.find import find
from simtrain.scenarios.find import names as shipped_names
from simtrain.scenarios.load import load_world
from simtrain.testing import FakeOpenAI, Say
from simtrain.validation.search_worlds.check import ALIKE, WorldCheck
from simtrain.validation.search_worlds.names import check_names, real_names
from simtrain.validation.search_worlds.overlap import overlap, runs
from simtrain.validation.search_worlds.questions import (
    CHANCE,
    Audited,
    ClosedBook,
    QuestionAudit,
    closed_book,
    leaked_cells,
)
from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject
from tests.support.databases import open_database

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def world() -> World:
    return load_world(find("worlds", "kestrel_reach")).build()


@pytest.fixture(scope="module")
def questions(world: World) -> list[Question]:
    return [made.question for made in made_questions(world, QuestionSet(count=20))]


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, Any]:
    with pytest.raises(SystemExit) as ended:
        main(["world", "check", *arguments])
    return int(ended.value.code or 0), json.loads(capsys.readouterr().out)


def audited(world: World, *questions: Question, reachable: frozenset[int] | None = None) -> Audited:
    pages = frozenset(row["id"] for row in world.query("select id from _pages")) if reachable is None else reachable
    return asyncio.run(QuestionAudit(world, pages).audit(questions))


@pytest.mark.full
def test_a_shipped_world_passes_every_part(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    names = tmp_path / "names.txt"
    names.write_text("Nowhere\n")
    code, found = run(
        capsys, "kestrel_reach", "--questions", "20", "--against", "korvessia_league", "--names", str(names), "--json"
    )
    assert (code, found["wrong"]) == (0, 0)
    assert found["constraints"]["constraints"] > 0
    assert found["reach"]["links"]["0"] == 4
    assert found["names"]["lists"]["names.txt"] == 1
    assert found["likeness"]["shares"]["korvessia_league"] < ALIKE
    assert (found["questions"]["questions"] > 15, found["questions"]["guess"] < CHANCE) == (True, True)


def test_a_list_of_names_that_cannot_be_read_is_refused_before_pages_are(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(WorldCheck, "read", lambda check: pytest.fail("pages were read"))
    with pytest.raises(SystemExit) as ended:
        main(["world", "check", "kestrel_reach", "--against", "kestrel_reach", "--names", "nothere.txt"])
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith("error: nothere.txt: no such file or directory")


@pytest.mark.full
def test_a_built_file_alone_is_checked_as_far_as_it_goes(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "korvessia.sqlite"
    search_source("korvessia_league").build_file(Variant(rows=(("pages", 250),)), path)
    code, found = run(capsys, str(path), "--against", "korvessia_league", "--json")
    assert code == 1
    assert set(found) == {"world", "file", "wrong", "pages", "conflicts", "sense", "reach", "names", "likeness"}
    assert re.fullmatch(r"\d+% of the five-word runs are those of korvessia_league", found["likeness"]["problems"][0])
    with open_database(path) as connection:
        connection.execute("update player set name = 'Londo Parisi' where id = 7")
    connection.close()
    _, found = run(capsys, str(path), "--against", "kestrel_reach", "--json")
    assert any("'Londo Parisi'" in problem for problem in found["pages"]["problems"])
    assert found["reach"]["wrong"] == 0
    with open_database(path) as connection:
        connection.execute("delete from _targets")
        connection.execute("insert into _index (_index) values ('delete-all')")
    connection.close()
    _, found = run(capsys, str(path), "--against", "kestrel_reach", "--json")
    assert found["reach"]["wrong"] > 50
    assert "is reached neither by links nor by a search" in found["reach"]["problems"][0]


@pytest.mark.full
def test_a_model_that_knows_the_answers_fails_the_world(
    world: World, questions: list[Question], capsys: pytest.CaptureFixture[str]
) -> None:
    def knowing(body: JsonObject) -> Say:
        asked = body["messages"][1]["content"]
        question = next(question for question in questions if question.query == asked)
        rows = question.gold(world.query)
        lines = [list(rows[0]), ["---"] * len(rows[0]), *[list(row.values()) for row in rows]]
        return Say("\n".join("| " + " | ".join(line) + " |" for line in lines))

    async def score(server: FakeOpenAI) -> ClosedBook:
        client = ChatClient("fake", base_url=server.url)
        try:
            return await closed_book(client, world, questions)
        finally:
            await client.close()

    with FakeOpenAI(knowing) as server:
        known = asyncio.run(score(server))
        assert (known.item_f1, known.cut) == (1.0, 0)
        assert "it knows them: an item F1 of 1.000" in known.problems
        assert all("tools" not in chat for chat in server.chats)
    with FakeOpenAI(lambda body: Say("I have never heard of them.")) as server:
        arguments = ("kestrel_reach", "--questions", "20", "--against", "kestrel_reach", "--base-url", server.url)
        code, found = run(capsys, *arguments, "--closed-book", "fake", "--json")
        assert (code, found["closed_book"]["item_f1"]) == (0, 0.0)
        assert len(server.chats) == sum(question.answer != "unanswerable" for question in questions)
        assert not any("max_tokens" in chat for chat in server.chats)


def test_replies_that_were_cut_off_do_not_show_that_a_model_knows_nothing(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    world = tmp_path / "small_universe.yaml"
    world.write_text(UNIVERSE)
    cut = iter([True, True, False])
    with FakeOpenAI(lambda _: Say("Let me think", finish_reason="length" if next(cut) else "stop")) as server:
        arguments = (str(world), "--questions", "3", "--against", str(world), "--base-url", server.url)
        code, found = run(capsys, *arguments, "--closed-book", "fake", "--max-tokens", "40", "--json")
        assert {chat["max_tokens"] for chat in server.chats} == {40}
        asked = len(server.chats)
    closed = found["closed_book"]
    assert (code, closed["item_f1"], closed["asked"], closed["cut"]) == (1, 0.0, asked, 2)
    assert closed["problems"] == [
        f"the model fake: 2 of {asked} replies were cut off at the token limit, which shows nothing"
    ]


def test_a_cell_on_no_page_within_reach_is_found(world: World, questions: list[Question]) -> None:
    assert audited(world, *questions).findings == ()
    found = audited(world, *questions, reachable=frozenset({1}))
    assert any("is on no page within reach" in str(finding) for finding in found.findings)


def asked(**fields: Any) -> Question:
    return Question.model_validate(
        {
            "id": "q",
            "world": "kestrel_reach",
            "query": "Which stations are there?",
            "sql": "select name as Station, crew as Crew from station limit 3",
            "key": ("Station",),
            "columns": (Column(name="Station", names="station"), Column(name="Crew")),
            **fields,
        }
    )


def test_a_table_that_depends_on_the_order_of_rows_is_found(world: World) -> None:
    assert "another table when rows are found in another order" in str(audited(world, asked()).findings[0])
    fixed = asked(sql="select name as Station, crew as Crew from station order by id limit 3")
    assert audited(world, fixed).findings == ()


def test_two_rows_with_one_key_and_no_rows_are_found(world: World) -> None:
    double = "select 'x' as Station, crew as Crew from station order by id limit 2"
    nothing = "select name as Station, crew as Crew from station where 0"
    assert "ambiguous: two rows with the key x" in str(audited(world, asked(sql=double)).findings[0])
    assert "yields no row" in str(audited(world, asked(sql=nothing)).findings[0])


def test_a_cell_that_the_question_tells_is_found(world: World) -> None:
    gold = asked(sql="select name as Station, crew as Crew from station order by id limit 3").gold(world.query)
    name = str(gold[0]["Station"])
    leaking = asked(query=f"Which stations are there beside {name}?")
    assert leaked_cells(leaking, gold) == [f"its cell {name!r} under station is in the question"]
    assert leaked_cells(leaking.model_copy(update={"parameters": {"name": name}}), gold) == []


def test_words_in_which_questions_are_put_tell_nothing(world: World) -> None:
    gold = asked(sql="select name as Station, crew as Crew from station order by id limit 3").gold(world.query)
    name = str(gold[0]["Station"])
    leaking = asked(query=f"Which stations are there beside {name}?")
    assert leaked_cells(leaking, gold, among=[leaking.query] * 9) != []
    assert leaked_cells(leaking, gold, among=[leaking.query] * 10) == []
    assert leaked_cells(leaking, gold, among=[*[leaking.query] * 10, *["Which ships?"] * 50]) != []


def test_what_can_be_guessed_is_found(world: World) -> None:
    radiation = "select name as Station, purpose as Purpose from station where purpose = 'mining' order by id limit 2"
    names = [row["Station"] for row in world.query(radiation)]
    question = asked(
        sql=radiation,
        query=f"What are {' and '.join(names)} for?",
        parameters={"one": names[0], "other": names[1]},
        columns=(Column(name="Station"), Column(name="Purpose")),
        evidence={
            "sql": 'select name as "Station", id as station from station',
            "cells": {
                "Station": {"attribute": "station.name", "entity": "station"},
                "Purpose": {"attribute": "station.purpose", "entity": "station"},
            },
        },
    )
    found = audited(world, question)
    assert (max(found.guesses.values()), "a guess that needs no model" in str(found.findings[-1])) == (1.0, True)


def test_names_in_a_list_are_taken_and_single_words_are_told(tmp_path: Path) -> None:
    mine = tmp_path / "mine.txt"
    mine.write_text("Velkora\nQuill Island\n\n")
    lists = {name: found for name, found in real_names(mine).items() if name not in ("faker", "zxcvbn")}
    assert lists["mine.txt"] == {"velkora", "quill island"}
    stations = [
        f"{name} Station" for name in ("Velkora Brannoch", "Drosthaer Quill", "Tameth Osk", "Tameth Ilvor", "Velkora")
    ]
    places = ["Quill Island", "London", "Velkora", "Tessaly Ridge"]
    names = [*(("station", name) for name in stations), *(("place", name) for name in places)]
    found = check_names(names, lists)
    assert found.taken == {
        "Velkora Station": "mine.txt",
        "Quill Island": "mine.txt",
        "London": "time zones",
        "Velkora": "mine.txt",
    }
    assert found.words == {"London": "time zones", "Velkora": "mine.txt"}
    with pytest.raises(InputError, match=r"none.txt: no such file"):
        real_names(tmp_path / "none.txt")


def test_the_lists_of_faker_are_read_where_it_is_installed() -> None:
    pytest.importorskip("faker")
    lists = real_names()
    assert len(lists["faker"]) > 50_000
    found = check_names([("person", name) for name in ("Elizabéth Miller", "Veithaxlorn Brasteph")], lists)
    assert found.taken == {"Elizabéth Miller": "faker"}


def test_the_prose_of_two_worlds_is_compared_without_names_and_numbers() -> None:
    one, other = (open_database(search_source(name).build_file()) for name in ("kestrel_reach", "ombrecht_archives"))
    own = runs(one)
    assert len(own) > 1000
    assert not any(letter.isdigit() for run in own for letter in run)
    assert overlap(own, own) == 1.0
    assert overlap(own, runs(other)) < ALIKE
    assert overlap(own, set()) == 0.0
    one.close()
    other.close()


SEARCH_WORLDS = sorted(
    name for name, path in shipped_names("worlds").items() if "\nkind: search\n" in f"\n{path.read_text('utf-8')}"
)


def test_the_four_ways_of_inventing_ship_in_at_least_eight_worlds() -> None:
    assert len(SEARCH_WORLDS) >= 8
    strategies = {search_source(name).spec.strategy for name in SEARCH_WORLDS}
    assert strategies == {"time_shifted", "long_tail", "private_simulation", "grounded"}


@pytest.mark.parametrize("name", first_here(SEARCH_WORLDS))
def test_every_shipped_world_is_consistent_and_reachable(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    other = "kestrel_reach" if name != "kestrel_reach" else "ombrecht_archives"
    code, found = run(capsys, name, "--questions", "15", "--against", other, "--json")
    problems = [problem for part in found.values() if isinstance(part, dict) for problem in part["problems"]]
    assert (problems, code) == ([], 0)
    assert found["likeness"]["shares"][other] < ALIKE


@pytest.mark.full
def test_no_two_shipped_worlds_read_alike() -> None:
    found: dict[str, set[str]] = {}
    for name in SEARCH_WORLDS:
        connection = open_database(search_source(name).build_file())
        found[name] = runs(connection)
        connection.close()
    shares = {(one, other): overlap(found[one], found[other]) for one, other in combinations(SEARCH_WORLDS, 2)}
    assert {pair: share for pair, share in shares.items() if share >= ALIKE} == {}
