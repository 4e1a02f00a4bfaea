"""Gold tables: no row that the question's words call for is missing, and none is there that they leave out."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from question_web import question_source
from second_gold.comparing import SecondGold

from simtrain.questions.composing import Bounds
from simtrain.questions.making import QuestionMaker
from simtrain.worlds.search.world import SearchWorld


@pytest.fixture(scope="module")
def gaps(tmp_path_factory: pytest.TempPathFactory) -> SearchWorld:
    """The world of stations, every fourth of which has no operator."""
    source = question_source(tmp_path_factory.mktemp("gaps"))
    with closing(sqlite3.connect(source.path)) as connection, connection:
        connection.execute("update station set operator = null where id % 4 = 0")
    return source.build()


def test_a_look_up_gives_a_row_for_everything_that_it_names(gaps: SearchWorld) -> None:
    maker = QuestionMaker(
        gaps, bounds=Bounds(hops=(1, 3), rows=(3, 30)), families=["looked_up"], languages=["en"], seed=1
    )
    without = 0
    for item in maker.make(30):
        if item.question.answer == "unanswerable":
            continue
        named = sorted(item.question.parameters.values())
        assert sorted(row[item.question.key[0]] for row in item.gold) == named
        without += any("N/A" in row.values() for row in item.gold)
    assert without >= 3


def test_a_ranking_is_of_the_end_that_its_words_name(tmp_path: Path) -> None:
    source = question_source(tmp_path)
    maker = QuestionMaker(source.build(), bounds=Bounds(hops=(0, 2), rows=(3, 30)), families=["topped", "best"], seed=1)
    made = [item for item in maker.make(24) if item.question.answer == "table"]
    second = SecondGold(source.path)
    assert [second.difference(item.question.query, item.question.language, item.gold) for item in made] == [None] * len(
        made
    )
    highest = [" desc," in item.question.sql or " > " in item.question.sql for item in made]
    assert any(highest) and not all(highest)
