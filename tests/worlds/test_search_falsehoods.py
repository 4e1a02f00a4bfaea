"""What sites have wrong: never the truth, and of the truth's own step, digits and range."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from math import gcd
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from small_universe import UNIVERSE

from simtrain.cli.built_worlds import search_source
from simtrain.files.yaml_files import parse_document
from simtrain.worlds.search.source import SearchSource
from tests.support.databases import open_database
from tests.worlds.test_search_names import WORLDS


class Falsehood(NamedTuple):
    type: str
    attribute: str
    kind: str
    row: int
    truth: Any
    value: Any
    reason: str


def falsehoods(world: sqlite3.Connection) -> Iterator[Falsehood]:
    sql = "select t.type, t.name, t.kind, c.entity, c.value, c.reason from _claims c join _attributes t on t.id = c.attribute"
    for kind, name, sort, row, value, reason in world.execute(sql).fetchall():
        truth = world.execute(f'select "{name}" from "{kind}" where id = ?', (row,)).fetchone()[0]
        yield Falsehood(kind, name, sort, row, truth, value, reason)


def column(world: sqlite3.Connection, kind: str, name: str) -> list[Any]:
    rows = world.execute(f'select "{name}" from "{kind}" where "{name}" is not null')
    return [value for (value,) in rows]


def world_of(text: str, path: Path) -> sqlite3.Connection:
    return open_database(SearchSource.load(parse_document(text, Path("small_universe.yaml"))).build_file(path=path))


@pytest.mark.parametrize("name", WORLDS)
def test_falsehoods_of_shipped_worlds_look_like_truths(name: str) -> None:
    world = open_database(search_source(name).build_file())
    found = [one for one in falsehoods(world) if one.value is not None]
    assert len(found) > 100
    for one in found:
        truths = column(world, one.type, one.attribute)
        assert one.value != one.truth, one
        if one.kind in ("number", "quantity", "money"):
            assert min(truths) <= one.value <= max(truths), one
            wholes = [round(truth * 1_000_000) for truth in truths]
            assert round(one.value * 1_000_000) % gcd(*wholes) == 0, one
        elif one.kind == "date":
            assert min(truths) <= one.value <= max(truths), one
        else:
            assert one.value in truths or one.kind == "flag", one


def test_falsehoods_keep_to_the_bounds_and_the_order_of_their_row(tmp_path: Path) -> None:
    text = UNIVERSE.replace("count: 24", "count: 400").replace(
        "      armed: {flag: 0.4}",
        "      lost: {date: [launched+10d, now], changes: 3y}\n"
        "      wages: {money: [1000, 90000], currency: crowns, step: 500, min: 2000, changes: 1y}\n"
        "      guns: {number: [0, 60], max: crew, changes: 1y}\n"
        "      decks: {number: {choose: [1, 2, 4]}, changes: 1y}\n"
        "      armed: {flag: 0.4}",
    )
    facts = "{{ ship.lost }}, {{ ship.wages }}, {{ ship.guns }}, {{ ship.decks }}, {{ ship.launched }}, {{ ship.crew }}"
    page = f'      - {{for: ship, as: told, url: "/told/{{{{ slug }}}}", title: Told, body: ["{facts}"]}}\n'
    late = text.index("reliability:")
    pages = text.index("    pages:\n", late) + len("    pages:\n")
    text = text[:pages] + page + text[pages:]
    end = text.index("\n", late)
    world = world_of(f"{text[:late]}reliability: 0.5{text[end:]}", tmp_path / "world.sqlite")
    rows: dict[str, set[str]] = {}
    for one in falsehoods(world):
        if one.type != "ship" or one.value is None:
            continue
        rows.setdefault(one.attribute, set()).add(one.reason.partition(":")[0])
        sql = "select s.launched, s.lost, s.crew, s.guns, p.founded from ship s join port p on p.id = s.home where s.id = ?"
        launched, lost, crew, guns, founded = world.execute(sql, (one.row,)).fetchone()
        if one.attribute == "wages":
            assert (one.value % 500, one.value >= 2000) == (0, True)
        elif one.attribute == "decks":
            assert one.value in {1, 2, 4} - {one.truth}
        elif one.attribute == "guns":
            assert one.value <= crew
        elif one.attribute == "crew":
            assert one.value >= guns
        elif one.attribute == "launched":
            assert founded < one.value < lost
        elif one.attribute == "lost":
            assert launched < one.value <= "2090-06-01"
    assert rows.keys() >= {"wages", "decks", "guns", "crew", "launched", "lost"}
    assert rows["wages"] == {"outdated", "mistaken"}


@pytest.mark.parametrize("name", WORLDS)
def test_lists_are_in_the_order_of_what_they_say(name: str) -> None:
    source = search_source(name)
    world = open_database(source.build_file())
    for site in source.design.sites:
        for page in site.pages:
            order = page.spec.order
            if page.spec.list_ is None or order == "name" or page.spec.by is not None:
                continue
            sql = (
                "select s.entity, c.value from _statements s join _pages p on p.id = s.page join _attributes t"
                " on t.id = s.attribute left join _claims c on c.id = s.claim where p.site = ? and p.type = ?"
                " and p.kind = ? and t.type = ? and t.name = ? order by p.id, s.start"
            )
            kind = page.spec.list_
            rows = world.execute(sql, (site.id, kind, page.page_kind, kind, order)).fetchall()
            truth = dict(world.execute(f'select id, "{order}" from "{kind}"').fetchall())
            shown = [truth[row] if value is None else value for row, value in rows]
            assert shown == sorted(shown, reverse=page.spec.descending), (site.name, kind, order)
