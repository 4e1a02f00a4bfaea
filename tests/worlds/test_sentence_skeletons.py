"""Sentences of a world's pages are not the same ones again and again with other names in them."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from simtrain.contracts.world import Variant
from simtrain.files.yaml_files import read_document
from simtrain.validation.search_worlds.skeletons import MEASURED, MOST_SHARED, Skeletons, sentences, skeletons
from simtrain.worlds.search.file import open_file
from simtrain.worlds.search.source import SearchSource
from tests.worlds.test_search_voices import source, world
from tests.worlds.test_shipped_search_worlds import FOLDER, WORLDS

FULL = bool(os.environ.get("SIMTRAIN_FULL"))


def measured(path: Path) -> Skeletons:
    with closing(open_file(path)) as connection:
        return skeletons(connection, shown=3)


def at(name: str, pages: int, folder: Path) -> Skeletons:
    file = SearchSource.load(read_document(FOLDER / f"{name}.yaml"))
    return measured(file.build_file(Variant(rows=(("pages", pages),)), folder / f"{name}.sqlite"))


@pytest.mark.full
@pytest.mark.parametrize("name", WORLDS if FULL else WORLDS[::4])
def test_at_most_sixty_of_a_hundred_sentences_have_a_skeleton_of_more_than_ten_other_pages(
    name: str, tmp_path: Path
) -> None:
    assert at(name, MEASURED, tmp_path).share <= MOST_SHARED


@pytest.mark.parametrize("name", ["kestrel_reach", "skarnveil_wiki"])
def test_smaller_worlds_repeat_even_less(name: str, tmp_path: Path) -> None:
    found = at(name, 1000, tmp_path)
    assert found.share <= 0.4 and found.sentences > 3000


def test_sentences_are_those_of_paragraphs_comments_and_items_and_no_records() -> None:
    body = (
        "# A heading.\n\n**First post.** It has 4.5 m of [water](/a.b). Is it so? “Yes.” They left\n\n"
        "| A cell. | B |\n- **Length:** 4.5 m\n- It is so, they say.\n\n**gull**\nA comment!\n\n[Office](/) | [Ships](/s)"
    )
    assert list(sentences(body)) == [
        "First post.", "It has 4.5 m of water.", "Is it so?", "“Yes.”", "It is so, they say.", "A comment!",
    ]  # fmt: skip


def test_what_differs_in_names_numbers_and_dates_alone_is_one_skeleton(tmp_path: Path) -> None:
    path = source(world()).build_file(path=tmp_path / "world.sqlite")
    with closing(sqlite3.connect(path)) as connection:
        name, other = (row[0] for row in connection.execute("select name from port order by id limit 2"))
        pages = [row[0] for row in connection.execute("select id from _pages order by id limit 14")]
        connection.execute("update _pages set body = ''")
        for place, page in enumerate(pages):
            who = (name, other, "Nobody Atall", f"{name}, {other} and {name}")[place % 4]
            when = ("4 March 2088", "March 4, 2088", "2088-03-04", "12,345.5 million", "K7-881")[place % 5]
            sentence = f"It is said of {who} that {when} was a good one." if place < 12 else "Nothing is said here."
            connection.execute("update _pages set body = ? where id = ?", (sentence, page))
        connection.commit()
    found = measured(path)
    assert (found.sentences, found.shared) == (14, 12)
    assert found.commonest == [("it is said of ¤ that ¤ was a good one.", 12)]


def test_a_world_of_one_wording_is_found_out(tmp_path: Path) -> None:
    path = source(world()).build_file(path=tmp_path / "world.sqlite")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("update _pages set body = 'This is said on every page. And this, on ' || date || '.'")
        connection.commit()
    assert measured(path).share == 1.0
