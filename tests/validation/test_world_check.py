"""The check of search worlds: what is built passes, and what was changed afterwards is found, wherever it is."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from simtrain.files.yaml_files import read_document
from simtrain.worlds.search.checking.pages import PagesRead, check_pages
from simtrain.worlds.search.checking.reading import read_amount, read_coordinates, read_date
from simtrain.worlds.search.file import open_file
from simtrain.worlds.search.source import SearchSource
from simtrain.worlds.search.spec.units import UNITS
from tests.support.databases import open_database

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
KESTREL = {**UNITS, "skein": ("length", 3600.0)}


@pytest.fixture(scope="module")
def kestrel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = SearchSource.load(read_document(ROOT / "worlds" / "kestrel_reach.yaml"))
    return source.build_file(path=tmp_path_factory.mktemp("worlds") / "kestrel.sqlite")


def checked(path: Path) -> PagesRead:
    connection = open_file(path)
    try:
        return check_pages(connection, KESTREL)
    finally:
        connection.close()


class Corrupted:
    """A copy of a world in which pages are changed, statements moved along, so that nothing but the words gives it away."""

    def __init__(self, path: Path, copy: Path) -> None:
        shutil.copyfile(path, copy)
        self.path, self.random = copy, Random(5)
        self.connection = open_database(copy)
        self.pages: set[str] = set()
        # Tables in place of the views: what is stated and linked can then be changed row by row.
        self.connection.executescript(
            "create table stated as select page, attribute, entity, start, length, claim from _statements;"
            "drop view _statements; alter table stated rename to _statements;"
            "create table linked as select * from _links; drop view _links; alter table linked rename to _links;"
        )

    def statements(self, *kinds: str) -> list[tuple[int, str, int, int, str]]:
        marks = ", ".join("?" * len(kinds))
        rows = self.connection.execute(
            "select p.id, p.url, s.start, s.length, p.body from _statements s join _pages p on p.id = s.page "
            f"join _attributes a on a.id = s.attribute where a.kind in ({marks}) and a.type not in ('_page', '_site') "
            "order by p.id, s.start",
            kinds,
        )
        return rows.fetchall()

    def change(self, count: int, change: Callable[[str], str | None], *kinds: str) -> None:
        """Change the words of so many statements of these kinds, each on a page of its own."""
        found = self.statements(*kinds)
        self.random.shuffle(found)
        for page, url, start, length, body in found:
            words = body[start : start + length]
            other = None if url in self.pages else change(words)
            if count == 0:
                return
            if other is None or other == words:
                continue
            self.rewrite(page, body[:start] + other + body[start + length :], start, len(other) - length)
            self.pages.add(url)
            count -= 1
        assert count == 0, "too few statements to change"

    def rewrite(self, page: int, body: str, place: int, shift: int) -> None:
        self.connection.execute("update _pages set body = ? where id = ?", (body, page))
        moved = self.connection.execute(
            "select attribute, entity, start, length, claim from _statements where page = ?", (page,)
        ).fetchall()
        self.connection.execute("delete from _statements where page = ?", (page,))
        self.connection.executemany(
            "insert into _statements (page, attribute, entity, start, length, claim) values (?, ?, ?, ?, ?, ?)",
            [
                (
                    page,
                    attribute,
                    entity,
                    start + shift * (start > place),
                    length + shift * (start == place),
                    claim,
                )
                for attribute, entity, start, length, claim in moved
            ],
        )

    def checked(self) -> PagesRead:
        self.connection.commit()
        self.connection.close()
        return checked(self.path)


def other_digit(random: Random) -> Callable[[str], str | None]:
    def change(words: str) -> str | None:
        # The last digits may be rounded away; the first never.
        place = next((index for index, letter in enumerate(words) if letter.isdigit()), None)
        if place is None:
            return None
        return (
            words[:place]
            + random.choice([digit for digit in "123456789" if digit != words[place]])
            + words[place + 1 :]
        )

    return change


def other_unit(words: str) -> str | None:
    for unit, other in (
        (" t", " kg"),
        (" skein", " km"),
        (" hours", " days"),
        (" marks", " dollars"),
        (" MW", " kW"),
        (" m", " ft"),
    ):
        if words.endswith(unit):
            return words.removesuffix(unit) + other
    return None


def other_date(words: str) -> str | None:
    year = re.search(r"\d{4}", words)
    return None if year is None else words.replace(year[0], str(int(year[0]) + 1))


def test_what_is_built_agrees_with_its_facts_on_every_page(kestrel: Path) -> None:
    found = checked(kestrel)
    assert [str(problem) for problem in found.problems] == []
    assert found.pages > 1000
    assert found.statements > 6 * found.pages
    assert found.links > 5 * found.pages


def test_fifty_corrupted_pages_are_found_and_no_other(kestrel: Path, tmp_path: Path) -> None:
    world = Corrupted(kestrel, tmp_path / "corrupted.sqlite")
    names = [words for _, _, start, length, body in world.statements("name") if (words := body[start : start + length])]
    world.change(10, other_digit(world.random), "number", "quantity", "money")
    world.change(10, other_unit, "quantity", "money")
    world.change(10, other_date, "date")
    world.change(10, lambda words: words[:2] + "q" + words[3:], "name", "ref")
    world.change(10, lambda words: world.random.choice(names), "name", "ref")
    assert len(world.pages) == 50
    assert {problem.page for problem in world.checked().problems} == world.pages


@pytest.mark.parametrize(
    "sentence",
    [
        "It has 12 docks.",
        "It was moved in March 2141.",
        "Some say that Zorblat Kvelm owns it.",
        "Ask for Zorblat there.",
        "Its mass is 3.5 million tonnes.",
    ],
)
def test_what_is_added_is_found(kestrel: Path, tmp_path: Path, sentence: str) -> None:
    world = Corrupted(kestrel, tmp_path / "added.sqlite")
    page, url, body = world.connection.execute(
        "select id, url, body from _pages where kind = 'feature' limit 1"
    ).fetchone()
    world.rewrite(page, f"{body}\n\n{sentence}\n", len(body), 0)
    assert {problem.page for problem in world.checked().problems} == {url}


def test_a_known_name_in_the_prose_is_found(kestrel: Path, tmp_path: Path) -> None:
    world = Corrupted(kestrel, tmp_path / "named.sqlite")
    page, url, body = world.connection.execute(
        "select id, url, body from _pages where kind = 'feature' limit 1"
    ).fetchone()
    (name,) = world.connection.execute("select name from officer limit 1").fetchone()
    world.rewrite(page, f"{body}\n\n{name}\n", len(body), 0)
    assert {problem.page for problem in world.checked().problems} == {url}


@pytest.mark.parametrize(
    ("sql", "problem"),
    [
        ("update station set crew = crew + 1 where id = 9", "station.crew of 9: says"),
        ("update _claims set value = value + 5 where id = (select min(claim) from _statements s join _attributes a on a.id = attribute "
         "where a.kind = 'number' and s.claim is not null)", "where the claim has"),
        ("update _claims set site = site % 4 + 1", "a claim of another fact or site"),
        ("delete from _claims", "a claim that is not recorded"),
        ("update _statements set start = start + 100000 where page = 3", "a statement that is not in the text"),
        ("delete from _statements where page = 20", "is in no statement"),
        ("delete from _links where page = 20", "is not recorded"),
        ("insert or ignore into _links select 20, id from _pages where id = 400", "is not in the text"),
        ("update _pages set url = url || 'x' where id = 20", "a link leads to no page"),
        ("update _pages set title = title || ' 77' where id = 20", "the number '77' in the title"),
        ("update _statements set page = 999999 where page = 20", "of pages that are not there"),
    ],
)  # fmt: skip
def test_tables_that_do_not_fit_are_found(kestrel: Path, tmp_path: Path, sql: str, problem: str) -> None:
    world = Corrupted(kestrel, tmp_path / "changed.sqlite")
    world.connection.execute(sql)
    assert any(problem in str(found) for found in world.checked().problems)


@pytest.mark.parametrize(
    ("words", "value"),
    [
        ("12 April 2147", (2147, 4, 12)),
        ("April 12, 2147", (2147, 4, 12)),
        ("12 Apr 2147", (2147, 4, 12)),
        ("2147-04-12", (2147, 4, 12)),
        ("12.04.2147", (2147, 4, 12)),
        ("April 2147", (2147, 4, None)),
        ("2147", (2147, None, None)),
        ("12 of those", None),
        ("soon", None),
    ],
)
def test_dates_are_read_back(words: str, value: object) -> None:
    assert read_date(words) == value


@pytest.mark.parametrize(
    ("words", "value", "unit", "step"),
    [
        ("5,162 skein", 5162, "skein", 1),
        ("8.80 million marks", 8_800_000, "marks", 10_000),
        ("€1.5 billion", 1.5e9, "€", 1e8),
        ("-3.5 °C", -3.5, "°C", 0.1),
        ("12%", 12, "%", 1),
        ("0.05 m³", 0.05, "m³", 0.01),
        ("7", 7, "", 1),
    ],
)
def test_amounts_are_read_back(words: str, value: float, unit: str, step: float) -> None:
    found = read_amount(words)
    assert found is not None
    assert (found.value, found.unit, found.step) == (pytest.approx(value), unit, pytest.approx(step))


def test_words_that_are_no_amount_are_none() -> None:
    assert [read_amount(words) for words in ("", "many", "3 to 4", "1,23", "1.2.3")] == [None] * 5


def test_coordinates_are_read_back() -> None:
    assert read_coordinates("12.5° N, 30.25° W") == (12.5, -30.25)
    assert read_coordinates("12°30′00″ S, 30°15′00″ E") == pytest.approx((-12.5, 30.25))
    assert read_coordinates("-12.5, 30.25") == (-12.5, 30.25)
    assert read_coordinates("north of here") is None
