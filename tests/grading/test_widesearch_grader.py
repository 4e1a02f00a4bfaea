"""The grader over a search world: gold by SQL, names by the world's aliases, rewards mixed, pages cited."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from samples import refund, step
from small_web import SmallSource, write_small_web

from simtrain.contracts.question import Column, Question
from simtrain.contracts.trajectory import Reward, Step, Stop, Trajectory, Turn
from simtrain.contracts.world import FinishedWorld
from simtrain.grading.graders.widesearch import WideSearch
from simtrain.testing import FakeOpenAI, Say
from simtrain.values.errors import InputError, ModelFault
from simtrain.values.types import JsonObject
from tests.support.databases import open_database

pytestmark = pytest.mark.slow

QUESTION = Question.model_validate(
    {
        "id": "berths",
        "world": "small_web",
        "query": "Which ports have at least 7 berths? Give name, berths and harbourmaster.",
        "sql": "select name as Port, berths as Berths, harbourmaster as Master from port where berths >= :least",
        "parameters": {"least": 7},
        "key": ("Port",),
        "columns": (
            Column(name="Port", names="port"),
            Column(name="Berths", preprocess=("extract_number",), metric=("number_near",), criterion=0.0),
            Column(name="Master", metric=("llm_judge",)),
        ),
        "evidence": {
            "sql": 'select name as "Port", id as port from port where berths >= :least',
            "cells": {
                "Port": {"attribute": "port.name", "entity": "port"},
                "Berths": {"attribute": "port.berths", "entity": "port"},
                "Master": {"attribute": "port.harbourmaster", "entity": "port"},
            },
        },
    }
)
RIGHT = """| Port | Berths | Master |
|---|---|---|
| Velmora Quay | 12 | Isra Tolbane |
| Dranhollow | 7 | Oswin Karvel |
| Pell Harbour | 23 | Mirel Andvast |"""


@pytest.fixture
def world(tmp_path: Path) -> FinishedWorld:
    path = write_small_web(tmp_path / "small.world")
    with open_database(path) as connection:
        aliases = [
            ("port", 1, "Old Quay", "former"),
            ("port", 1, "The Port", "short"),
            ("port", 2, "The Port", "short"),
        ]
        connection.executemany("insert into _aliases values (?, ?, ?, ?)", aliases)
    connection.close()
    built = SmallSource(path).build()
    return FinishedWorld(built, built.open(), {})


def played(answer: str | None, *, case: JsonObject | None = None, opened: Sequence[str] = ()) -> Trajectory:
    steps = [step(number, "visit", {"url": [url], "goal": "read"}, "text") for number, url in enumerate(opened)]
    return replace(
        refund(),
        case=QUESTION.model_dump(mode="json") if case is None else case,
        turns=[Turn("", steps=steps)],
        answer=answer,
        stop=Stop("abstained" if answer is None else "answered"),
    )


def graded(world: FinishedWorld, trajectory: Trajectory, **knobs: Any) -> Reward:
    grader = WideSearch.model_validate(knobs)
    grader.check(world.initial, trajectory.case)
    return asyncio.run(grader.grade(trajectory, world))


def test_the_gold_is_what_the_sql_of_the_case_gives(world: FinishedWorld) -> None:
    assert [row["Berths"] for row in WideSearch.model_validate({}).gold(world.initial, played(None).case)] == [
        "12",
        "7",
        "23",
    ]
    assert graded(world, played(RIGHT)).value == 1.0
    assert graded(world, played(RIGHT.replace("| 7 |", "| 8 |"))).value == pytest.approx(8 / 9)
    assert graded(world, played(None)).value == 0.0


def test_a_bare_value_answers_a_question_of_one_value_and_no_other(world: FinishedWorld) -> None:
    asked = {
        "query": "Who is the harbourmaster of Pell Harbour?",
        "sql": "select harbourmaster as Master from port where name = :port",
        "parameters": {"port": "Pell Harbour"},
        "key": ("Master",),
        "columns": (Column(name="Master"),),
        "evidence": None,
    }
    for kind, value in (("single", 1.0), ("table", 0.0)):
        case = QUESTION.model_copy(update={**asked, "answer": kind}).model_dump(mode="json")
        assert graded(world, played("Mirel Andvast", case=case)).value == value
        assert graded(world, played("| Master |\n|---|\n| Mirel Andvast |", case=case)).value == 1.0


def test_the_detail_tells_figures_and_what_each_column_lost(world: FinishedWorld) -> None:
    detail = graded(world, played(RIGHT.replace("| 7 |", "| 8 |")), reward="row_f1").detail
    assert (detail["score"], detail["f1_by_row"]) == (0.0, pytest.approx(2 / 3))
    assert detail["columns"]["berths"] == {"right": 2.0, "wrong": 1.0, "absent": 0.0}


def test_the_question_may_stand_in_the_scenario_with_the_case_as_parameters(world: FinishedWorld) -> None:
    knobs = {"sql": QUESTION.sql, "key": ["Port"], "columns": [column.model_dump() for column in QUESTION.columns]}
    case: JsonObject = {"least": 20}
    answer = "| Port | Berths | Master |\n|---|---|---|\n| Pell Harbour | 23 | Mirel Andvast |"
    assert graded(world, played(answer, case=case), **knobs).value == 1.0
    with pytest.raises(InputError, match="the case is not a question"):
        graded(world, played(answer, case=case))
    with pytest.raises(ValidationError, match="go together"):
        WideSearch.model_validate({"sql": QUESTION.sql})


def test_an_alias_names_its_entity_unless_two_share_it(world: FinishedWorld) -> None:
    assert graded(world, played(RIGHT.replace("Velmora Quay", "old quay"))).value == 1.0
    assert graded(world, played(RIGHT.replace("Velmora Quay", "The Port"))).value == pytest.approx(2 / 3)


def test_compatible_figures_take_an_alias_only_as_it_is_written(world: FinishedWorld) -> None:
    pytest.importorskip("pandas")

    def after(name: str) -> float:
        answer = played(RIGHT.replace("Velmora Quay", name))
        return graded(world, answer, mode="compatible", as_of="2026-01-31").value

    assert after("Old Quay") == 1.0
    assert after("old quay") == after("**Old Quay**") == pytest.approx(2 / 3)


def test_rewards_are_mixed_by_weight(world: FinishedWorld) -> None:
    answer = played(RIGHT.replace("| 7 |", "| 8 |"))
    mixed = graded(world, answer, reward={"item_f1": 3, "row_f1": 1, "success": 1})
    assert mixed.value == pytest.approx((3 * 8 / 9 + 2 / 3 + 0) / 5)
    for weights in ({}, {"item_f1": 0}, {"item_f1": -1, "row_f1": 2}, {"beauty": 1}):
        with pytest.raises(ValidationError):
            WideSearch.model_validate({"reward": weights})


def test_a_right_cell_is_cited_when_a_page_that_states_it_was_opened(world: FinishedWorld) -> None:
    page = "https://ports.isles.example/ports/"
    urls = [
        f"{page}velmora-quay#top",
        f"{page}dranhollow",
        "https://ports.isles.example/ports",
        "https://elsewhere.example",
    ]
    assert graded(world, played(RIGHT), reward="citation").value == 0.0
    found = graded(world, played(RIGHT, opened=urls), reward="citation")
    assert found.value == found.detail["citation"] == pytest.approx(7 / 9)
    wrong = played(RIGHT.replace("| 7 |", "| 8 |"), opened=urls)
    assert graded(world, wrong, reward="citation").value == pytest.approx(6 / 9)
    with pytest.raises(InputError, match="needs a question with evidence"):
        graded(world, played(RIGHT, case={**played(None).case, "evidence": None}), reward="citation")


def test_a_page_that_has_moved_is_cited_and_one_that_failed_is_not(world: FinishedWorld) -> None:
    ports, page = "https://ports.isles.example", "/ports/velmora-quay"

    def cited(tool: str, arguments: JsonObject, content: JsonObject) -> float:
        text = json.dumps(content)
        visited = replace(played(RIGHT), turns=[Turn("", steps=[step(0, tool, arguments, text)])])
        return graded(world, visited, reward="citation").value or 0.0

    here = cited("web_extractor", {"url": ports + page}, {"url": ports + page})
    assert here == pytest.approx(3 / 9)
    assert cited("web_extractor", {"url": f"{ports}/archive{page}"}, {"url": f"{ports}/archive{page}"}) == here
    assert cited("web_extractor", {"url": f"{ports}/new{page}"}, {"url": ports + page, "content": "Velmora"}) == here
    failed: JsonObject = {"results": [], "failed_results": [{"url": ports + page, "error": "410 Gone"}]}
    assert cited("tavily_extract", {"urls": [ports + page]}, failed) == 0.0
    assert cited("web_search", {"query": "https://x.test"}, {"results": [{"url": ports + page}]}) == 0.0


def test_a_fact_that_does_not_exist_needs_no_page(world: FinishedWorld) -> None:
    case = {
        **played(None).case,
        "sql": QUESTION.sql.replace("harbourmaster as", "nullif(harbourmaster, 'Isra Tolbane') as"),
    }
    page = "https://ports.isles.example/ports/"
    urls = [f"{page}{name}" for name in ("velmora-quay", "dranhollow", "pell-harbour")]
    answer = played(RIGHT.replace("Isra Tolbane", "N/A"), case=case, opened=urls)
    assert graded(world, answer, reward="citation").value == 1.0


def test_who_declines_a_question_without_an_answer_is_right_once_its_names_were_looked_for(
    world: FinishedWorld,
) -> None:
    case = {
        **played(None).case,
        "answer": "unanswerable",
        "premise": {"kind": "namesake", "names": ["Velmora Quay", "Isra Tolbane"]},
    }

    def after(*steps: Step, answer: str | None = None) -> float | None:
        return graded(world, replace(played(answer, case=case), turns=[Turn("", steps=list(steps))])).value

    def searched(query: str, tool: str = "web_search") -> Step:
        return step(0, tool, {"query": query}, "nothing found")

    assert after() == 0.0
    both = (searched("quay of Velmora"), searched('"Isra Tolbane" harbour'))
    assert (after(*both), after(*both[:1]), after(*both[1:])) == (1.0, 0.0, 0.0)
    assert after(*both, answer=RIGHT) == 0.0
    # Where the name stands in a page that was opened, it was looked for as well.
    page = "https://ports.isles.example/ports/velmora-quay"
    assert after(step(0, "visit", {"url": page}, "text")) == 1.0
    # To write it down is no search, and a search that failed found nothing.
    assert after(searched("Velmora Quay Isra Tolbane", "dict_memory_create")) == 0.0
    failed = searched("Velmora Quay Isra Tolbane")
    assert after(replace(failed, observation=replace(failed.observation, is_error=True))) == 0.0
    assert after(step(0, "visit", {"url": "https://ports.isles.example/nowhere"}, "text")) == 0.0


def test_compatible_figures_are_a_mode_that_needs_its_day(world: FinishedWorld) -> None:
    pytest.importorskip("pandas")
    assert graded(world, played(RIGHT), mode="compatible", as_of="2026-01-31").value == 1.0
    with pytest.raises(ValidationError, match="depend on the day"):
        WideSearch.model_validate({"mode": "compatible"})


def test_a_model_judges_where_one_is_named_and_its_failure_is_no_zero(world: FinishedWorld) -> None:
    answer = played(RIGHT.replace("Oswin Karvel", "O. Karvel"))
    with FakeOpenAI([Say('{"verdicts": [1]}', prompt_tokens=9, completion_tokens=1), Say("?"), Say("?")]) as server:
        knobs = {"ask": {"model": "fake", "base_url": server.url, "backoff": 0.0}}
        found = graded(world, answer, **knobs)
        assert (found.value, found.detail["usage"]["tokens"]) == (1.0, 10)
        with pytest.raises(ModelFault):
            graded(world, answer, **knobs)


def test_what_the_question_gives_earns_nothing_and_the_public_figures_stay(world: FinishedWorld) -> None:
    named = {**played(None).case, "query": "Look up Velmora Quay, Dranhollow and Pell Harbour: berths and master."}
    echo = "| Port | Berths | Master |\n|---|---|---|\n| Velmora Quay | | |\n| Dranhollow | N/A | N/A |\n| Pell Harbour | | |"
    found = graded(world, played(echo, case=named))
    assert (found.value, found.detail["f1_by_item"]) == (0.0, pytest.approx(3 / 9))
    right = graded(world, played(RIGHT, case=named))
    assert (right.value, right.detail["f1_by_item"], right.detail["score"]) == (1.0, 1.0, 1.0)
    # Six cells are sought: three are found, one is claimed wrongly, two are left out.
    rows = "| Velmora Quay | 12 | N/A |\n| Dranhollow | 9 | |\n| Pell Harbour | 23 | Mirel Andvast |"
    part = f"| Port | Berths | Master |\n|---|---|---|\n{rows}"
    detail = graded(world, played(part, case=named)).detail["rewarded"]
    assert (detail["item_recall"], detail["item_precision"]) == (pytest.approx(3 / 6), pytest.approx(3 / 4))
    assert (detail["row_recall"], detail["row_precision"]) == (pytest.approx(1 / 3), pytest.approx(1 / 3))
    # Of the other rows every cell that says something is a claim.
    stray = graded(world, played(f"{RIGHT}\n| Nowhere | N/A | 5 |", case=named)).detail["rewarded"]
    assert (stray["item_recall"], stray["item_precision"]) == (1.0, pytest.approx(6 / 8))
    assert stray["row_precision"] == pytest.approx(3 / 4)


def test_a_value_where_there_is_none_is_a_wrong_claim_and_to_say_so_earns_nothing(world: FinishedWorld) -> None:
    sql = QUESTION.sql.replace("harbourmaster as", "nullif(harbourmaster, 'Isra Tolbane') as")
    case = {**played(None).case, "sql": sql}
    told = graded(world, played(RIGHT, case=case)).detail["rewarded"]
    assert (told["item_recall"], told["item_precision"]) == (1.0, pytest.approx(8 / 9))
    assert graded(world, played(RIGHT.replace("Isra Tolbane", "N/A"), case=case)).value == 1.0


def test_a_question_that_leaves_nothing_to_find_out_is_refused(world: FinishedWorld) -> None:
    sql = QUESTION.sql.replace("berths as", "null as").replace("harbourmaster as", "null as")
    case = {**played(None).case, "sql": sql, "query": "Velmora Quay, Dranhollow, Pell Harbour: what of their berths?"}
    with pytest.raises(InputError, match="nothing is left to find out"):
        graded(world, played(RIGHT, case=case))
