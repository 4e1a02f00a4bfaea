"""What pages state, packed into mentions and read back through the view of a world file."""

from __future__ import annotations

import sqlite3
from random import Random

import pytest

from simtrain.worlds.search.file import INDEXES, TABLES, WORDS
from simtrain.worlds.search.pages.mentions import StatementRow, mentions
from tests.support.databases import open_database


@pytest.fixture
def file() -> sqlite3.Connection:
    connection = open_database(autocommit=True)
    connection.executescript(TABLES)
    return connection


def kept(file: sqlite3.Connection, page: int, statements: list[StatementRow]) -> list[StatementRow]:
    file.executemany("insert into _mentions values (?, ?, ?, ?, ?)", mentions(page, statements))
    file.executescript(INDEXES)
    rows = file.execute(f"select {', '.join(StatementRow._fields)} from _statements where page = ?", (page,)).fetchall()
    return sorted(map(StatementRow._make, rows), key=str)


@pytest.mark.parametrize("start", [0, 1, 63, 64, 8_063, 8_064, 131_071, 131_072, 3_000_000])
@pytest.mark.parametrize("length", [0, 1, 126, 127, 128, 5_000])
def test_a_statement_reads_back_wherever_it_stands_and_however_long_it_is(
    file: sqlite3.Connection, start: int, length: int
) -> None:
    stated = [StatementRow(3, 17, 200, start, length, None)]
    assert kept(file, 1, stated) == stated


def test_hundreds_of_statements_of_many_rows_read_back_with_their_claims(file: sqlite3.Connection) -> None:
    draw = Random(7)
    stated: dict[tuple[int, int, int], StatementRow] = {}
    claims = {attribute: draw.randrange(2_000_000) for attribute in range(1, 40, 3)}
    for start in range(0, 9_000, 7):
        kind, entity, attribute = draw.randrange(-1, 6), draw.randrange(1, 4) * 10_007, draw.randrange(1, 40)
        stated[kind, entity, start] = StatementRow(kind, entity, attribute, start, 6, claims.get(attribute))
    assert kept(file, 5, [*stated.values()]) == sorted(stated.values(), key=str)
    assert file.execute("select count(*) from _statements").fetchone() == (len(stated),)


def test_the_statements_of_a_row_are_found_without_reading_those_of_all_others(file: sqlite3.Connection) -> None:
    file.executescript(INDEXES)
    sql = "select page from _statements where entity in (1, 2, 3) and type = 2 and attribute = 9"
    plan = " ".join(row[3] for row in file.execute(f"explain query plan {sql}"))
    assert "_mentions_by_entity (entity=? AND type=?)" in plan


@pytest.mark.parametrize(
    ("body", "words"),
    [("one", 1), ("one two  three", 4), ("# A title\n\nA first line\nand a second\n\n- an item", 12)],
)
def test_words_are_what_spaces_and_line_ends_part(file: sqlite3.Connection, body: str, words: int) -> None:
    assert file.execute(f"select {WORDS} from (select ? as body)", (body,)).fetchone() == (words,)
