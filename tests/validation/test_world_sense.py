"""Whether a web could be: the shipped ones can, and what is planted in finished pages that cannot be is found, in each of them."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from datetime import date
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest

from simtrain.contracts.world import Variant
from simtrain.files.yaml_files import read_document
from simtrain.scenarios.find import shipped_root
from simtrain.worlds.search.checking.blocks import blocks_of
from simtrain.worlds.search.checking.calling import dates_in
from simtrain.worlds.search.checking.counts import Counts, run_together
from simtrain.worlds.search.checking.sense import check_sense
from simtrain.worlds.search.source import SearchSource
from tests.support.databases import open_database

pytestmark = pytest.mark.slow

FOLDER = shipped_root() / "worlds"
WORLDS = [path.stem for path in sorted(FOLDER.glob("*.yaml")) if "\nkind: search\n" in path.read_text()]
EACH = 3
FULL = bool(os.environ.get("SIMTRAIN_FULL"))
ITEMS = re.compile(r"(?:^- .*\n?){3,}", re.MULTILINE)
YEAR = re.compile(r"\b[12]\d{3}\b")
PART = re.compile(r"others|more|among|not all|rest|goes on|the ones", re.IGNORECASE)

Plant = Callable[["Planting", int, str], str | None]
"""Changes the body of a page; None where there is nothing to change in that way."""


class Planting:
    """A copy of a built world, with defects in its pages. Nothing but the text is changed, and for moved facts the tables."""

    def __init__(self, world: Path, copy: Path) -> None:
        shutil.copyfile(world, copy)
        self.connection = open_database(copy)
        self.random = Random(11)
        self.pages = self.connection.execute(
            "select id, url, body from _pages where number is null order by id"
        ).fetchall()
        self.random.shuffle(self.pages)
        self.planted: dict[str, str] = {}

    def plant(self, plant: Plant) -> int:
        done = 0
        for page, url, body in self.pages:
            if done == EACH:
                break
            changed = None if url in self.planted else plant(self, page, body)
            if changed is None or changed == body:
                continue
            self.connection.execute("update _pages set body = ? where id = ?", (changed, page))
            self.planted[url] = plant.__name__
            done += 1
        return done

    def named(self, item: str) -> str:
        found = re.search(r"\[([^\]]+)\]", item)
        return found[1] if found else ""

    def complete(self, page: int, items: list[str]) -> bool:
        """Whether a list names all that refers to what its page is about, or all that something else ties to it."""
        about, entity = self.connection.execute("select type, entity from _pages where id = ?", (page,)).fetchone()
        names = {self.named(item) for item in items}
        refs = "select type, name, target from _attributes where kind = 'ref'"
        for kind, ref, target in self.connection.execute(refs).fetchall():
            if target != about:
                continue
            queries = [f'select name from "{kind}" where "{ref}" = ?']
            queries += [
                f'select t.name from "{kind}" r join "{other}" t on t.id = r."{tie}" where r."{ref}" = ?'
                for owner, tie, other in self.connection.execute(refs).fetchall()
                if owner == kind and tie != ref
            ]
            for query in queries:
                if query.startswith("select name") and "name" not in self.columns(kind):
                    continue
                if {row[0] for row in self.connection.execute(query, (entity,))} == names:
                    return True
        return False

    def columns(self, kind: str) -> set[str]:
        return {row[1] for row in self.connection.execute(f'pragma table_info("{kind}")')}


def early_date(world: Planting, page: int, body: str) -> str | None:
    """What a row began with is told long before what it refers to."""
    rows = world.connection.execute(
        "select s.start, s.length, a.type, a.name from _statements s join _attributes a on a.id = s.attribute"
        " where s.page = ? and a.kind = 'date' and s.claim is null",
        (page,),
    ).fetchall()
    for start, length, kind, name in rows:
        year = YEAR.search(body, start, start + length)
        if (kind, name) in EARLY and year is not None:
            return f"{body[: year.start()]}{max(1000, int(year[0]) - 800)}{body[year.end() :]}"
    return None


EARLY = frozenset({
    ("incident", "happened"), ("station", "opened"), ("contract", "since"), ("tenure", "since"), ("fixture", "played"),
    ("ground", "opened"), ("chip", "announced"), ("plant", "first_wafer"), ("node", "qualified"), ("ship", "delivered"),
    ("service", "began"), ("trial", "started"), ("ruling", "issued"), ("compound", "filed"), ("house", "built"),
    ("motion", "tabled"), ("zone", "shipped"), ("patch", "shipped"), ("faculty", "founded"), ("project", "approved"),
    ("scholar", "doctorate"),
})  # fmt: skip
"""Dates that what their row refers to comes before, in every shipped world."""


def cut_list(world: Planting, page: int, body: str) -> str | None:
    """A list that is whole loses an item."""
    found = ITEMS.search(body)
    if found is None:
        return None
    items = found[0].rstrip("\n").split("\n")
    around = body[max(0, found.start() - 200) : found.start()] + body[found.end() : found.end() + 200]
    if PART.search(around) or not world.complete(page, items):
        return None
    return body[: found.start()] + "\n".join(items[:-1]) + "\n" * found[0].endswith("\n") + body[found.end() :]


def shuffled(world: Planting, page: int, body: str) -> str | None:
    """What says that it is in order of time is not."""
    found = ITEMS.search(body)
    if found is None:
        return None
    items = found[0].rstrip("\n").split("\n")
    for order in (items, items[::-1]):
        days = [[day for _, _, day in dates_in(item)] for item in order]
        columns = list(zip(*days, strict=False))
        if columns and not any(all(one[0] <= two[1] for one, two in pairwise(column)) for column in columns):
            end = "\n" * found[0].endswith("\n")
            return f"{body[: found.start()]}So far, oldest first:\n\n{chr(10).join(order)}{end}{body[found.end() :]}"
    return None


def stale(world: Planting, page: int, body: str) -> str | None:
    """What is called recent is long ago."""
    (dated,) = world.connection.execute("select date from _pages where id = ?", (page,)).fetchone()
    return f"{body}\n\nThe recent survey of 3 May {int(dated[:4]) - 40} was read out again." if dated else None


def nobody(world: Planting, page: int, body: str) -> str | None:
    return f"{body}\n\nIn the end 0 people needed a surgeon."


def one_as_many(world: Planting, page: int, body: str) -> str | None:
    return f"{body}\n\nThere were 1 people at the gate."


def swallowed(world: Planting, page: int, body: str) -> str | None:
    """Two items of a list run together."""
    found = ITEMS.search(body)
    return found and body[: found.start()] + found[0].replace("\n- ", "- ", 1) + body[found.end() :]


PLANTS = (early_date, cut_list, shuffled, stale, nobody, one_as_many, swallowed)


@pytest.mark.parametrize("name", WORLDS)
def test_what_cannot_be_is_found_on_every_page_where_it_is_planted_and_nowhere_else(name: str, tmp_path: Path) -> None:
    source = SearchSource.load(read_document(FOLDER / f"{name}.yaml"))
    file = source.build_file(Variant(rows=(("pages", 1000),)))
    planting = Planting(file, tmp_path / "copy.sqlite")
    done = {plant.__name__: planting.plant(plant) for plant in PLANTS}
    planting.connection.commit()
    found = check_sense(planting.connection, source.document.data)
    blamed = {problem.page for problem in found.problems}
    missed = {url: how for url, how in planting.planted.items() if url not in blamed}
    assert (missed, {str(one) for one in found.problems if one.page not in planting.planted}) == ({}, set())
    assert all(done.values()) and sum(done.values()) >= 6 * EACH - 2, done
    assert found.dates > 300 and found.lists > 500 and found.rules >= 4


@pytest.mark.parametrize("name", WORLDS)
def test_facts_that_are_moved_with_all_that_tells_of_them_are_found_too(name: str, tmp_path: Path) -> None:
    """Tables and pages agree, so that nothing but the order of time gives it away."""
    source = SearchSource.load(read_document(FOLDER / f"{name}.yaml"))
    planting = Planting(source.build_file(Variant(rows=(("pages", 1000),))), tmp_path / "copy.sqlite")
    kind, attribute = next(
        one for one in sorted(EARLY)
        if planting.connection.execute("select 1 from _attributes where type = ? and name = ?", one).fetchone()
    )  # fmt: skip
    (day,) = planting.connection.execute(f'select "{attribute}" from "{kind}" where id = 2').fetchone()
    early = date.fromisoformat(day).replace(year=max(1000, int(day[:4]) - 800), day=1).isoformat()
    planting.connection.execute(f'update "{kind}" set "{attribute}" = ? where id = 2', (early,))
    found = [str(one) for one in check_sense(planting.connection, source.document.data).problems]
    assert any(f"row 2 of {kind}" in one for one in found)


@pytest.mark.full
@pytest.mark.parametrize("name", WORLDS if FULL else WORLDS[1::3])
def test_ten_thousand_pages_could_be(name: str, tmp_path: Path) -> None:
    source = SearchSource.load(read_document(FOLDER / f"{name}.yaml"))
    connection = open_database(source.build_file(Variant(rows=(("pages", 10_000),)), tmp_path / "world.sqlite"))
    found = check_sense(connection, source.document.data)
    assert (found.pages > 9_000, [str(one) for one in found.problems]) == (True, [])


def wrong(text: str, *others: str) -> list[str]:
    """What is said of a text among others."""
    counts = Counts(["hours", "m"])
    found = [what for _, what in [*counts.read(1, blocks_of(text)), *run_together(text)]]
    for other in others:
        list(counts.read(2, blocks_of(other)))
    return found + [what for _, _, what in counts.late()]


@pytest.mark.parametrize(
    "text",
    [
        "0 people came.",
        "It has 0 docks.",
        "All 1 inhabited stations are here.",
        "There are 1 of them in 1 towns.",
        "They run 1 hulls.",
    ],
)
def test_what_is_counted_wrong_is_found(text: str) -> None:
    assert wrong(text)


@pytest.mark.parametrize(
    "text",
    ["It takes 0 hours.", "1 person came.", "- **Docks:** 0", "Docks: 0.", "It is 10 of 20.", "The cards were 1 and 2.", "| 0 docks |",
     "It fell by 0.5 points and 1,000 votes.", "One of them stayed - and A. left.", "No. 1 of three."],
)  # fmt: skip
def test_what_is_counted_right_is_no_problem(text: str) -> None:
    assert wrong(text) == []


def test_many_that_are_put_as_one_show_in_what_else_is_counted() -> None:
    others = ["It has 4 docks.", "It has 7 docks.", "It has 3 docks and 12 steel cranes."]
    assert wrong("It has 5 dock and 12 steel cranes.", *others) == ["'5 dock' counts many as one"]


@pytest.mark.parametrize(
    "text", ["- [A](/a), still there- [B](/b), gone", "- A (left)- **B**: here", "It is over.Then it began."]
)
def test_what_runs_together_is_found(text: str) -> None:
    assert any("runs together" in what for what in wrong(text))
