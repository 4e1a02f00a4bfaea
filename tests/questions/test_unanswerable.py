"""Questions without an answer: nothing in their world answers them, as the finished pages show, and facts as each site tells them."""

from __future__ import annotations

import re
import shutil
import sqlite3
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from echoing import headings
from second_gold.comparing import SecondGold

from simtrain.contracts.question import Question, QuestionSet
from simtrain.contracts.world import Variant, World
from simtrain.files.yaml_files import read_document
from simtrain.questions.asking import made_questions
from simtrain.questions.making import QuestionMaker
from simtrain.scenarios.find import shipped_root
from simtrain.worlds.search.source import SearchSource

pytestmark = pytest.mark.slow

SIZE = Variant(rows=(("pages", 1000),))
COUNT = 60


@dataclass
class Told:
    """A world: its questions without an answer, its finished pages, and second builders over the facts and over what each site says."""

    world: World
    questions: list[Question]
    pages: list[tuple[str, str, str | None]]
    """Title, text, and type of what the page is about."""
    builders: list[SecondGold]


@pytest.fixture(scope="module", params=["kestrel_reach", "ombrecht_archives"])
def told(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Told:
    source = SearchSource.load(read_document(shipped_root() / "worlds" / f"{request.param}.yaml"))
    file, world = source.build_file(SIZE), source.build(SIZE)
    folder = tmp_path_factory.mktemp("sites")
    with closing(sqlite3.connect(file)) as connection:
        pages = connection.execute("select title, body, type from _pages").fetchall()
        sites = [site for (site,) in connection.execute("select distinct site from _claims order by 1")]
    files = [file, *(as_told_by(site, file, folder) for site in sites)]
    questions = [item.question for item in QuestionMaker(world, unanswerable=1.0, seed=5).make(COUNT)]
    return Told(world, questions, pages, [SecondGold(one) for one in files])


def as_told_by(site: int, file: Path, folder: Path) -> Path:
    """The facts of a world as one of its sites tells them, its mistakes and what it is behind with."""
    copy = folder / f"site{site}.sqlite"
    shutil.copy(file, copy)
    with closing(sqlite3.connect(copy)) as connection, connection:
        claims = connection.execute(
            "select a.type, a.name, c.value, c.entity from _claims c join _attributes a on a.id = c.attribute where c.site = ?",
            (site,),
        ).fetchall()
        assert claims
        for table, attribute, value, entity in claims:
            connection.execute(f"update {table} set {attribute} = ? where id = ?", (value, entity))
    return copy


def holding(told: Told, name: str) -> list[tuple[str, str, str | None]]:
    """The pages that speak of a name."""
    return [page for page in told.pages if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", f"{page[0]}\n{page[1]}", re.I)]


def test_they_come_of_every_kind_and_in_the_forms_of_those_that_can_be_answered(told: Told) -> None:
    assert len(told.questions) == COUNT
    kinds = Counter(question.premise.kind for question in told.questions if question.premise)
    assert min(kinds[kind] for kind in ("invented", "namesake", "apart")) >= 8
    assert kinds["untold"] >= 2 or "ombrecht" in told.world.name
    for question in told.questions:
        assert question.premise is not None
        assert all(name in question.query for name in question.premise.names)
        assert headings(question.query) == [column.name for column in question.columns]


def test_neither_the_facts_nor_what_any_site_says_gives_a_row_with_a_value(told: Told) -> None:
    for question in told.questions:
        for builder in told.builders:
            assert builder.difference(question.query, question.language, None) is None, question.query


def test_an_invented_name_stands_on_no_page(told: Told) -> None:
    names = [
        name for one in told.questions if one.premise and one.premise.kind == "invented" for name in one.premise.names
    ]
    assert names
    assert all(not holding(told, name) for name in names)


def test_a_namesake_is_told_of_but_never_as_what_the_question_takes_it_for(told: Told) -> None:
    own_page = 0
    for question in told.questions:
        if question.premise is None or question.premise.kind != "namesake":
            continue
        for name in question.premise.names:
            assert holding(told, name)
            pages = [(title, kind) for title, _, kind in holding(told, name) if kind]
            assert len({kind for title, kind in pages if title == name}) <= 1
            own_page += any(title.startswith(name) for title, _ in pages)
    assert own_page >= 5


def test_what_is_apart_is_told_of(told: Told) -> None:
    for question in told.questions:
        if question.premise is not None and question.premise.kind in ("apart", "untold"):
            assert all(holding(told, name) for name in question.premise.names)


def test_no_page_about_a_thing_tells_what_is_said_to_be_untold(told: Told) -> None:
    looked = list(
        made_questions(
            told.world, QuestionSet(count=40, hops=(0, 0), rows=(1, 2), compose=("looked_up",), unanswerable=1.0)
        )
    )
    untold = [item.question for item in looked if item.question.premise and item.question.premise.kind == "untold"]
    assert untold
    for question in untold:
        assert question.premise is not None
        if question.language != "en":
            continue
        for name in question.premise.names:
            for title, body, _ in told.pages:
                if name not in title:
                    continue
                for heading in headings(question.query)[1:]:
                    label = re.sub(r" \(.*\)$| date$", "", heading).split()[-1]
                    said = re.findall(rf"[^.\n]*\b{re.escape(label[:5])}\w*[^.\n]*", body, re.I)
                    assert not [line for line in said if re.search(r"\d", line)], (name, heading, said)


def test_a_set_of_questions_has_its_share_of_them() -> None:
    source = SearchSource.load(read_document(shipped_root() / "worlds" / "kestrel_reach.yaml"))
    world = source.build(SIZE)
    for asked in (QuestionSet(count=60), QuestionSet(count=60, compose=("looked_up",), rows=(1, 3))):
        made = [item.question.answer for item in made_questions(world, asked)]
        assert len(made) == 60
        assert 0.05 <= made.count("unanswerable") / 60 <= 0.1
    none = [item.question.answer for item in made_questions(world, QuestionSet(count=30, unanswerable=0))]
    assert "unanswerable" not in none
