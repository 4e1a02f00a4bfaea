"""Rules of search worlds: what follows from when things begin and end holds while facts are drawn, and so does what an author states."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from simtrain.contracts.world import Variant
from simtrain.files.yaml_files import parse_document
from simtrain.values.errors import InputError
from simtrain.worlds.search.source import SearchSource
from tests.support.databases import open_database

WORLD = """\
kind: search
name: lives
seed: 1
clock: {start: 2101-05-05T00:00:00Z}
flavours:
  hill: {onsets: [b, d, g, k, m, n, p, r, s, t], nuclei: [a, e, i, o, u, ea], codas: ["", r, n]}
entities:
  firm:
    count: 40
    attributes:
      name: {name: hill}
      founded: {date: [2000-01-01, 2040-12-31]}
      staff: {number: [10, 500]}
  yard:
    count: 60
    life: [opened, closed]
    attributes:
      name: {name: hill}
      owner: {ref: firm}
      opened: {date: [1990-01-01, 2060-12-31]}
      closed: {date: [2061-01-01, 2090-12-31], optional: 0.4}
      slip: {ref: slip, unique: true}
      repainted: {date: [1980-01-01, now]}
  slip:
    count: 70
    attributes:
      name: {name: hill}
      dug: {date: [1970-01-01, 2059-12-31]}
  hull:
    count: 300
    attributes:
      name: {name: hill}
      yard: {ref: yard, skew: 2}
      laid: {date: [2000-01-01, 2085-12-31]}
      buyer: {ref: firm, optional: 0.3, at: sold}
      sold: {date: [laid+1y, now]}
      model: {ref: hull, optional: 0.1}
      crew: {number: [1, 900]}
      insurer: {ref: firm, at: now}
  smith:
    count: 120
    life: [trained]
    attributes:
      name: {name: hill}
      born: {date: [1960-01-01, 2030-12-31]}
      trained: {date: [born+16y, born+30y]}
relations:
  job:
    from: smith
    to: yard
    each: [1, 3]
    during: [smith.trained, now]
  launch:
    from: hull
    to: slip
    each: [1, 1]
    attributes:
      held: {date: [hull.laid, now]}
rules:
  nobody serves on more crews than there are hands: hull.crew <= hull.yard.owner.staff
  nothing is sold within ten years of the firm behind the yard: hull.sold > hull.yard.owner.founded+10y
sites:
  site:
    domain: site.test
    title: Site
    lag: 100d
    reliability: 0.5
    pages:
      - for: yard
        url: /y/{{ id }}
        title: "{{ yard }}"
        body: ["{{ yard }}, {{ yard.opened }}, {{ yard.owner }}, {{ yard.slip }}, {{ yard.repainted }}{% if yard.closed %}, {{ yard.closed }}{% endif %}"]
      - for: hull
        url: /h/{{ id }}
        title: "{{ hull }}"
        date: hull.laid+5d
        body: ["{{ hull }}, {{ hull.laid }}, {{ hull.yard }}, {{ hull.sold }}, {{ hull.buyer|or('nobody') }}, {{ hull.crew }}"]
      - for: firm
        url: /f/{{ id }}
        title: "{{ firm }}"
        body: ["{{ firm }}, {{ firm.founded }}, {{ firm.staff }}"]
"""  # noqa: E501

BROKEN = {
    "yard before its owner": "yard t join firm u on u.id = t.owner where opened < founded",
    "yard before its slip": "yard t join slip u on u.id = t.slip where opened < dug",
    "yard repainted before it opened": "yard where repainted < opened",
    "yard repainted after it closed": "yard where repainted > closed",
    "hull before its yard": "hull t join yard u on u.id = t.yard where laid < opened",
    "hull after its yard": "hull t join yard u on u.id = t.yard where laid > closed",
    "hull sold to nobody yet": "hull t join firm u on u.id = t.buyer where sold < founded",
    "hull before its model": "hull t join hull u on u.id = t.model where t.laid < u.laid",
    "job before the yard": "job t join yard u on u.id = t.yard where since < opened",
    "job after the yard": "job t join yard u on u.id = t.yard where coalesce(until, '2101-05-05') > closed",
    "job before training": "job t join smith u on u.id = t.smith where since < trained",
    "launch before the slip": "launch t join slip u on u.id = t.slip where held < dug",
    "crew above staff": "hull t join yard u on u.id = t.yard join firm f on f.id = u.owner where crew > staff",
    "sold early": "hull t join yard u on u.id = t.yard join firm f on f.id = u.owner where sold <= date(founded, '+3652 days')",
}
"""What the rules forbid, in words of their own."""


def build(folder: Path, *edits: tuple[str, str], rows: tuple[tuple[str, int], ...] = ()) -> sqlite3.Connection:
    text = WORLD
    for old, new in edits:
        assert text.count(old) == 1
        text = text.replace(old, new)
    source = SearchSource.load(parse_document(text, Path("lives.yaml")))
    return open_database(source.build_file(Variant(rows=rows), folder / "world.sqlite"))


def broken(world: sqlite3.Connection) -> list[str]:
    return [what for what, rows in BROKEN.items() if world.execute(f"select count(*) from {rows}").fetchone()[0]]


@pytest.mark.parametrize("seed", range(4))
def test_everything_happens_within_the_life_of_what_it_refers_to(seed: int, tmp_path: Path) -> None:
    assert broken(build(tmp_path, ("seed: 1", f"seed: {seed}"))) == []


def test_each_rule_is_broken_by_the_same_world_without_it(tmp_path: Path) -> None:
    """The draws themselves do not keep them: what is taken out is missed."""
    lives = [("count: 40", "count: 40\n    life: []"), ("life: [opened, closed]", "life: []"), ("count: 70", "count: 70\n    life: []"),
             ("count: 300", "count: 300\n    life: []"), ("life: [trained]", "life: []"),
             ("during: [smith.trained, now]", "during: [2000-01-01, now]")]  # fmt: skip
    rules = WORLD[WORLD.index("rules:\n") : WORLD.index("sites:\n")]
    assert broken(build(tmp_path, *lives, (rules, ""))) == list(BROKEN)


def test_refs_are_still_spread_and_the_first_of_a_skewed_one_still_frequent(tmp_path: Path) -> None:
    world = build(tmp_path)
    used = [
        count for _, count in world.execute("select yard, count(*) from hull group by yard order by yard").fetchall()
    ]
    assert len(used) > 35 and sum(used[:15]) > 2 * sum(used[-15:])
    assert world.execute("select count(distinct slip) from yard").fetchone() == (60,)
    assert 150 < world.execute("select count(*) from hull where buyer is not null").fetchone()[0] < 250


def test_a_ref_of_today_binds_nothing(tmp_path: Path) -> None:
    late = "select count(*) from hull t join firm u on u.id = t.insurer where laid < founded"
    assert build(tmp_path).execute(late).fetchone()[0] > 0


def test_what_a_site_has_wrong_breaks_no_rule_either(tmp_path: Path) -> None:
    world = build(tmp_path)
    sql = (
        "select a.type, a.name, c.entity, c.value from _claims c join _attributes a on a.id = c.attribute"
        " where c.value is not null"
    )
    claims = world.execute(sql).fetchall()
    assert len({(kind, name) for kind, name, _, _ in claims}) > 8 and len(claims) > 300
    for kind, name, row, value in claims:
        (true,) = world.execute(f"select {name} from {kind} where id = ?", (row,)).fetchone()
        world.execute(f"update {kind} set {name} = ? where id = ?", (value, row))
        if broken(world):
            raise AssertionError((kind, name, row, value, broken(world)))
        world.execute(f"update {kind} set {name} = ? where id = ?", (true, row))


def test_a_late_site_does_not_know_what_began_since(tmp_path: Path) -> None:
    world = build(tmp_path, ("laid: {date: [2000-01-01, 2085-12-31]}", "laid: {date: [now-200d, now-1d]}"),
                  ("sold: {date: [laid+1y, now]}", "sold: {date: [laid, now]}"),
                  ("life: [opened, closed]", "life: [opened]"))  # fmt: skip
    assert (
        world.execute(
            "select max(h.laid) from _pages p join hull h on h.id = p.entity where p.type = 'hull'"
        ).fetchone()[0]
        <= "2101-01-25"
    )
    assert world.execute("select count(*) from _pages where type = 'hull'").fetchone()[0] > 50


IMPOSSIBLE = {
    "no owner is old enough": (
        ("founded: {date: [2000-01-01, 2040-12-31]}", "founded: {date: [2061-01-01, 2070-12-31]}"),
        ["entities.yard.attributes.owner", "'yard.opened >= yard.owner.founded'", "row 1 of yard", "no row of firm fits"],
    ),
    "a stated rule that no number meets": (
        ("crew: {number: [1, 900]}", "crew: {number: [600, 900], min: 600}"),
        ["entities.hull.attributes.crew", "'nobody serves on more crews", "of hull"],
    ),
    "a stated rule that no date meets": (
        ("hull.yard.owner.founded+10y", "hull.yard.owner.founded+110y"),
        ["entities.hull.attributes", "'nothing is sold within", "of hull", "nor after 2101-05-05"],
    ),
    "nobody old enough for a job": (
        ("during: [smith.trained, now]", "during: [smith.trained, 1999-01-01]"),
        ["relations.job", "'job.since >= job.yard.opened'", "row 1 of smith", "fewer than 1 rows of yard fit"],
    ),
    "no rule at all": (("hull.crew <=", "hull.crew is"), ["rules.nobody serves", "is not a rule"]),
    "a rule of an unknown fact": (("hull.crew <=", "hull.crows <="), ["hull has no fact 'crows'", "did you mean 'crew'"]),
    "a rule that compares unlike things": (("hull.crew <=", "hull.laid <="), ["cannot be compared"]),
    "a life that begins with no date": (("life: [trained]", "life: [name]"), ["entities.smith.life", "name is not one"]),
    "a ref that begins with no date": (("at: sold", "at: crew"), ["entities.hull.attributes.buyer.at", "crew is not a date"]),
    "lives that hang on each other": (
        ("staff: {number: [10, 500]}", "staff: {number: [10, 500]}\n      first: {ref: yard}"), ["in a circle", "`at: now`"],
    ),
    "more rows to cover than there are": (
        ("yard: {ref: yard, skew: 2}", "yard: {ref: yard, covers: true}"), ["no row is left that could refer to row"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", IMPOSSIBLE)
def test_a_rule_that_cannot_hold_stops_the_build_and_names_row_and_rule(what: str, tmp_path: Path) -> None:
    edit, parts = IMPOSSIBLE[what]
    rows = (("hull", 30),) if "cover" in what else ()
    with pytest.raises(InputError) as caught:
        build(tmp_path, edit, rows=rows)
    said = str(caught.value)
    assert "\n" not in said and [*tmp_path.iterdir()] == []
    for part in parts:
        assert part in said


def test_every_row_is_referred_to_where_that_is_asked_for(tmp_path: Path) -> None:
    missed = "select count(*) from yard where id not in (select yard from hull)"
    (tmp_path / "without").mkdir()
    assert build(tmp_path / "without").execute(missed).fetchone()[0] > 0
    covering = build(tmp_path, ("yard: {ref: yard, skew: 2}", "yard: {ref: yard, skew: 2, covers: true}"))
    assert covering.execute(missed).fetchone() == (0,) and broken(covering) == []
