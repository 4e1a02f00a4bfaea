"""The facts of search worlds: every kind of attribute within its bounds, relations with their cardinalities and periods."""

from __future__ import annotations

import sqlite3
from collections import Counter
from pathlib import Path
from statistics import mean, median

import pytest

from simtrain.files.yaml_files import parse_document
from simtrain.worlds.search.file import open_file
from simtrain.worlds.search.source import SearchSource

FACTS = """\
kind: search
name: facts
clock: {start: 2101-05-05T00:00:00Z}
flavours:
  hill: {onsets: [b, d, g, k, m, n, p, r, s, t], nuclei: [a, e, i, o, u, ea], codas: ["", r, n]}
entities:
  land:
    count: 30
    fixed: true
    attributes:
      name: {name: hill}
      area: {quantity: {lognormal: [500, 2]}, unit: km², min: 50, max: 5000, digits: 2}
      found: {date: [1900-01-01, 1999-12-31]}
  town:
    attributes:
      name: {name: "{hill} {hill} Town"}
      land: {ref: land, each: [1, 5]}
      people: {number: {normal: [1000, 400]}, min: 0, max: 1500}
      tax: {money: [0, 100], currency: "₡", step: 25}
      share: {number: [0, 1], digits: 3}
      density: {number: [1, 2], times: people, digits: 1}
      level: {number: {choose: [2, 4, 8]}}
      wait: {number: {exponential: 10}, max: people}
  person:
    count: 600
    attributes:
      name: {name: hill}
      town: {ref: town, skew: 3}
      land: {ref: land, optional: 0.25}
      rank: {category: [low, mid, high], weights: [6, 3, 1]}
      born: {date: [now-80y, now-20y]}
      wed: {date: [born+18y, now], optional: 0.4}
      tall: {flag: 0.3}
      code: {code: "##-@"}
      motto: {text: [by land, by sea]}
      spot: {coordinates: [[10, 20], [-50, -40]], digits: 2}
  seal:
    count: 25
    attributes:
      name: {name: hill}
      land: {ref: land, unique: true}
relations:
  taught:
    from: person
    to: person
    ends: [teacher, pupil]
    each: [0, 2]
  office:
    from: person
    to: town
    each: [2, 3]
    during: [person.born+20y, now]
    open: 0.5
    attributes: {pay: {money: [1, 9], currency: crowns}}
derived:
  land.towns: select count(*) from town where land = :id
  land.crowd: select sum(towns) * 2 + (select towns from land where id = :id) from land where id = :id
  person.teachers: select count(*) from taught where pupil = :id
  person.last_town: {sql: "select town from office where person = :id order by since desc, id desc limit 1", kind: ref, target: town}
sites:
  only: {domain: only.test, title: Only, pages: [{home: true, title: Only, body: [Nothing but this.]}]}
"""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> sqlite3.Connection:
    source = SearchSource(parse_document(FACTS, Path("facts.yaml")))
    return open_file(source.build_file(path=tmp_path_factory.mktemp("facts") / "facts.sqlite"))


def column(world: sqlite3.Connection, sql: str) -> list[float]:
    return [row[0] for row in world.execute(sql)]


def test_numbers_stay_within_their_bounds_and_follow_their_distribution(world: sqlite3.Connection) -> None:
    areas = column(world, "select area from land")
    assert all(50 <= area <= 5000 and round(area, 2) == area for area in areas)
    assert 300 < median(areas) < 850
    people = column(world, "select people from town")
    assert all(isinstance(number, int) and 0 <= number <= 1500 for number in people)
    assert 750 < mean(people) < 1100
    assert set(column(world, "select tax from town")) <= {0, 25, 50, 75, 100}
    assert set(column(world, "select level from town")) == {2, 4, 8}
    assert all(0 <= share <= 1 for share in column(world, "select share from town"))


def test_numbers_may_rest_on_other_facts(world: sqlite3.Connection) -> None:
    assert column(
        world, "select count(*) from town where wait > people or density < people - 0.1 or density > 2 * people + 0.1"
    ) == [0]


def test_children_are_as_many_for_each_row_as_was_said(world: sqlite3.Connection) -> None:
    sizes = Counter(column(world, "select land from town"))
    assert set(sizes) == set(range(1, 31))
    assert set(sizes.values()) == {1, 2, 3, 4, 5}


def test_refs_may_be_skewed_unique_or_missing(world: sqlite3.Connection) -> None:
    towns = column(world, "select count(*) from town")[0]
    first = column(world, f"select count(*) from person where town <= {towns / 4}")[0]
    assert 0.5 < first / 600 < 0.75
    assert len(set(column(world, "select land from seal"))) == 25
    missing = column(world, "select count(*) from person where land is null")[0]
    assert 100 < missing < 200


def test_dates_follow_the_facts_that_bound_them(world: sqlite3.Connection) -> None:
    assert column(world, "select count(*) from person where born not between '2021-05-05' and '2081-05-06'") == [0]
    wrong = (
        "select count(*) from person where wed is not null and (wed < date(born, '+17 years') or wed > '2101-05-05')"
    )
    assert column(world, wrong) == [0]


def test_categories_flags_codes_texts_and_coordinates_are_what_they_are(world: sqlite3.Connection) -> None:
    ranks = Counter(row[0] for row in world.execute("select rank from person"))
    assert ranks["low"] > ranks["mid"] > ranks["high"] > 0
    assert 120 < column(world, "select sum(tall) from person")[0] < 240
    codes = [row[0] for row in world.execute("select code from person")]
    assert len(set(codes)) == 600
    assert all(len(code) == 4 and code[:2].isdigit() and code[3].isupper() for code in codes)
    spots = [tuple(float(part) for part in row[0].split(", ")) for row in world.execute("select spot from person")]
    assert all(10 <= north <= 20 and -50 <= east <= -40 for north, east in spots)


def test_relations_have_their_cardinalities_and_periods(world: sqlite3.Connection) -> None:
    pairs = world.execute("select teacher, pupil from taught").fetchall()
    assert all(teacher != pupil for teacher, pupil in pairs)
    assert len(set(pairs)) == len(pairs)
    offices = Counter(column(world, "select person from office"))
    assert set(offices.values()) == {2, 3}
    going_on = column(world, "select count(*) from office where until is null")[0]
    assert 0.4 < going_on / 600 < 0.6
    assert column(world, "select count(*) from office where until is not null and until <= since") == [0]
    before = "select count(*) from office o join person p on p.id = o.person where o.since < date(p.born, '+19 years')"
    assert column(world, before) == [0]


def test_derived_attributes_rest_on_each_other_and_may_be_refs(world: sqlite3.Connection) -> None:
    assert column(world, "select count(*) from land where crowd != 3 * towns") == [0]
    assert column(world, "select sum(teachers) from person") == column(world, "select count(*) from taught")
    kind, target = world.execute("select kind, target from _attributes where name = 'last_town'").fetchone()
    assert (kind, target) == ("ref", "town")
    assert column(world, "select count(*) from person p join town t on t.id = p.last_town") == [600]


def test_facts_are_told_of_in_the_file(world: sqlite3.Connection) -> None:
    types = world.execute("select name, kind, plural from _types order by position").fetchall()
    assert types[0] == ("land", "entity", "lands")
    assert types[-1] == ("office", "relation", "offices")
    units = dict(world.execute("select type || '.' || name, unit from _attributes where unit is not null").fetchall())
    assert units == {"land.area": "km²", "town.tax": "₡", "office.pay": "crowns"}
