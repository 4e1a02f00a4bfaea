"""Search world files: what is refused, with the line and the place, and what names and pages are like."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from small_universe import UNIVERSE

from simtrain.contracts.world import Variant
from simtrain.files.yaml_files import parse_document
from simtrain.values.errors import InputError
from simtrain.worlds.search.file import open_file
from simtrain.worlds.search.source import SearchSource
from tests.support.databases import open_database

SHIPPED = Path(__file__).parents[2] / "worlds"


def refusal(folder: Path, old: str, new: str) -> str:
    """What is said of the small universe after an edit, at load or at the latest when it is built."""
    assert UNIVERSE.count(old) >= 1
    document = parse_document(UNIVERSE.replace(old, new, 1), Path("small_universe.yaml"))
    out = folder / "world.sqlite"
    with pytest.raises(InputError) as caught:
        SearchSource.load(document).build_file(path=out)
    assert not [path for path in folder.iterdir() if path.suffix == ".sqlite"]
    assert [*folder.iterdir()] == []
    return str(caught.value)


REFUSALS = {
    "a template that names an unknown fact": (
        "has a crew of {{ ship.crew }}",
        "has a crew of {{ ship.krew }}",
        ["sites.gossip.pages[0].body[0]", "ship has no fact 'krew'", "did you mean 'crew'"],
    ),
    "a template that names an unknown variable": ("{{ ship }} is {{", "{{ boat }} is {{", ["unknown name 'boat'"]),
    "a fact that may be missing and is not guarded": (
        "The newest ship: {{ port.newest|or('none') }}",
        "The newest ship: {{ port.newest }}",
        ["port.newest may be missing", "{% if port.newest %}"],
    ),
    "a filter of another kind": (
        "{{ port.founded|us }}",
        "{{ port.founded|scaled }}",
        ["a date has no filter 'scaled'"],
    ),
    "a number in the prose": (
        "They say ",
        "They said in 1999 that ",
        ["sites.gossip.pages[0].body[0]", "the prose states the number 1999"],
    ),
    "a template that computes": ("crew of {{ ship.crew }}", "crew of {{ ship.crew + 1 }}", ["it cannot compute"]),
    "a template with a statement of its own": (
        "They say ",
        "{% set x = 1 %}They say ",
        ["a template may use facts, for and if"],
    ),
    "a template that is none": ("crew of {{ ship.crew }}", "crew of {{ ship.crew", ["not a template"]),
    "a comparison that never holds": (
        "{% if port.former %}It was once",
        "{% if port.climate == 'damp' and port.former %}It was once",
        ["climate is never 'damp'"],
    ),
    "a link that leads nowhere": (
        "{{ 'all ships'|link('ships') }}",
        "{{ 'all ships'|link('boats') }}",
        ["called 'boats'"],
    ),
    "a domain that could be real": ("domain: gossip.test", "domain: gossip.com", ["reserved name", "gossip.com"]),
    "two sites with one domain": ("domain: gossip.test", "domain: office.sea.example", ["two sites have the domain"]),
    "an unknown unit": ("port.quay|in('lek')", "port.quay|in('leak')", ["unknown unit 'leak'"]),
    "units that do not fit": ("port.quay|in('lek')", "port.quay|in('kg')", ["measures length"]),
    "an unknown type in a ref": ("home: {ref: port}", "home: {ref: harbour}", ["unknown type 'harbour'"]),
    "a name of one word": ("{sea} {sea} Harbour", "{sea} Harbour", ["at least two invented words"]),
    "an unknown flavour": ("name: {name: sea}", "name: {name: see}", ["unknown flavour 'see'", "did you mean 'sea'"]),
    "two kinds in one attribute": ("armed: {flag: 0.4}", "armed: {flag: 0.4, number: [1, 2]}", ["exactly one kind"]),
    "an option of another kind": (
        "armed: {flag: 0.4}",
        "armed: {flag: 0.4, step: 2}",
        ["'step' means nothing for a flag"],
    ),
    "an unknown key": ("    lag: 200d", "    delay: 200d", ["unknown key 'delay'"]),
    "a reserved name": ("      crew: {number", "      order: {number", ["'order' cannot be the name of a fact"]),
    "bounds that run backwards": (
        "launched: {date: [home.founded+1d, now-30d]}",
        "launched: {date: [now, home.founded]}",
        ["no date fits"],
    ),
    "attributes that depend on each other": (
        "founded: {date: [1990-01-01, 2040-12-31]}",
        "founded: {date: [opened, 2040-12-31]}\n      opened: {date: [1990-01-01, founded]}",
        ["depend on each other in a circle", "port.founded", "port.opened"],
    ),
    "derivations in a circle": (
        "  port.age: {sql",
        "  port.young: select old from port where id = :id\n  port.old: select young from port where id = :id\n  port.age: {sql",
        ["derived in a circle", "port.young", "port.old"],
    ),
    "SQL that fails": (
        "select count(*) from ship where home",
        "select count(*) from boat where home",
        ["derived.port.ships", "no such table: boat"],
    ),
    "SQL that rolls dice": ("select count(*) from ship where home = :id", "select random()", ["not authorized"]),
    "a derived value that is missing": (
        "select count(*) from ship where home = :id",
        "select crew from ship where home = :id + 100",
        ["row 1 gets no value", "optional: true"],
    ),
    "a derived number that is text": (
        "select count(*) from ship where home = :id",
        "select climate from port where id = :id",
        ["derived.port.ships", "row 1 gets '", "which is not a number", "name its `kind`"],
    ),
    "a derived date that is none": (
        "select max(launched) from ship where home = :id",
        "select max(crew) from ship where home = :id",
        ["derived.port.newest", "which is not a date"],
    ),
    "a bound that is no date": (
        "[1990-01-01, 2040-12-31]",
        "[1990-02-30, 2040-12-31]",
        ["entities.port.attributes.founded", "'1990-02-30' is not a bound"],
    ),
    "a bound with a span that is none": (
        "home.founded+1d",
        "home.founded+1x",
        ["entities.ship.attributes.launched", "'1x' is not a span of days"],
    ),
    "latitudes that run backwards": ("[[-40, 40], [", "[[40, -40], [", ["port.attributes.place", "[south, north]"]),
    "a longitude beyond the globe": ("[-100, 100]]", "[-100, 190]]", ["at most 90 and 180"]),
    "a weight below 0": ("[mild, stormy, frozen]}", "[mild, stormy, frozen], weights: [1, 1, -1]}", ["not below 0"]),
    "weights that are all 0": ("[mild, stormy, frozen]}", "[mild, stormy, frozen], weights: [0, 0, 0]}", ["above"]),
    "a category with one value twice": ("[mild, stormy, frozen]", "[mild, mild, frozen]", ["'mild' appears twice"]),
    "a phrase with a number": ("armed: {flag: 0.4}", "armed: {text: [with 2 guns]}", ["no digits"]),
    "a phrase with a name": ("armed: {flag: 0.4}", "armed: {text: [by Krupp]}", ["no capital letters"]),
    "a minimum above the maximum": ("min: 3, changes", "min: 3, max: 2, changes", ["`min` is 3 and `max` 2"]),
    "no multiple of the step between the bounds": (
        "currency: crowns, step: 500",
        "currency: crowns, step: 500, min: 501, max: 999",
        ["no multiple of 500 lies between 501 and 999"],
    ),
    "bounds that no draw meets": ("min: 3, changes", "min: 90000, changes", ["not one of 24 draws falls between"]),
    "more different rows than there are": (
        "    each: [1, 3]\n",
        "    each: [9, 9]\n",
        ["relations.visit.each", "9 different rows of port, but there are 6", "distinct: false"],
    ),
    "an unknown toolset": (
        "seed: 3",
        "seed: 3\ntools: [wab]",
        ["small_universe.yaml", "tools[0]", "did you mean 'web'"],
    ),
    "a derived fact that hides its rows": (
        "port.ships_by_home[:5]",
        "port.ships[:5]",
        ["port.ships is a single fact", "its rows are ships_by_home"],
    ),
    "a name with a capital letter": (
        "  port:\n",
        "  Port:\n",
        ["entities.Port: 'Port' is not a name", "small letters"],
    ),
    "a language of one sound": ("nuclei: [a, e, i, o, u, ae, ou]", "nuclei: [a]", ["at least 2 are needed"]),
    "a derived ref that leads nowhere": (
        "port.ships: select count(*) from ship where home = :id",
        "port.flagship: {sql: select 999, kind: ref, target: ship}\n  port.ships: select 1",
        ["derived.port.flagship: row 1 gets 999, which is not a ref"],
    ),
    "several derived values for one row": (
        "select count(*) from ship where home = :id",
        "select crew from ship",
        ["derived.port.ships: row 1 gets 24 values", "`limit 1`"],
    ),
    "a site that is ages behind": (
        "lag: 200d",
        "lag: 99999y",
        ["sites.gossip.lag: '99999y' is longer than 1,000 years"],
    ),
    "dates before all years": (
        "founded: {date: [1990-01-01, 2040-12-31]}",
        "founded: {date: [0100-01-01-900y, 2040-12-31]}",
        ["entities.port.attributes.founded"],
    ),
    "numbers that no column holds": (
        "money: [100000, 9000000]",
        "money: [0, 1e300]",
        ["entities.ship.attributes.price: numbers are at most 1,000,000,000,000,000"],
    ),
    "a spread beyond all bounds": (
        "{lognormal: [30, 2]}",
        "{lognormal: [30, 1e300]}",
        ["entities.ship.attributes.crew: numbers are at most"],
    ),
    "a distribution of two kinds": (
        "{lognormal: [30, 2]}",
        "{lognormal: [30, 2], normal: [1, 2]}",
        ["entities.ship.attributes.crew.number: a distribution names exactly one of"],
    ),
    "constraints that cannot both hold": (
        "constraints:\n",
        "constraints:\n  ships are older than their ports: >-\n"
        "    select s.name from ship s join port p on p.id = s.home where s.launched > p.founded\n",
        ["constraints.ships are older than their ports", "does not hold for 24 rows", "for example name"],
    ),
    "a unique ref with too few rows": (
        "home: {ref: port}",
        "home: {ref: port, unique: true}",
        ["24 different rows", "there are 6"],
    ),
    "more codes than there are": ('plate: {code: "@@-####"}', 'plate: {code: "#"}', ["24 codes are wanted"]),
    "more names than a language has": (
        'onsets: [m, l, v, s, t, n, r, d, p, k, br], nuclei: [a, e, i, o, u, ae, ou], codas: ["", "", n, l, s]',
        "onsets: [m, l], syllables: [2, 2], nuclei: [a, a]",
        ["names are wanted", "add onsets"],
    ),
    "no room for periods": ("during: [ship.launched, now]", "during: [now-2d, now]", ["no room for", "widen `during`"]),
    "pages that share an address": ("url: /about/{{ slug }}", "url: /about", ["the same address"]),
    "a list by what is no group": ("by: climate", "by: founded", ["lists are grouped by a category, a ref or a flag"]),
    "a condition that fails": ("share: 0.8", "where: crw > 3", ["sites.gossip.pages[0].where", "no such column"]),
    "a count that cannot be": ("count: 24", "count: 0", ["entities.ship.count"]),
    "a title without a wording": (
        'title: ["{{ ship }}", "What of {{ ship }}?"]',
        "title: []",
        ["sites.gossip.pages[0].title"],
    ),
    "a paragraph without a wording": (
        "sheet: {fields: [launched|iso, refitted, plate, home.climate]}",
        "[]",
        ["sites.gossip.pages[0].body[1]"],
    ),
    "a page date that is none": ("date: ship.launched+10d", "date: ship.crew", ["ship.crew is not a date"]),
}


@pytest.mark.parametrize("what", REFUSALS)
def test_what_cannot_be_is_refused_with_file_line_and_place(tmp_path: Path, what: str) -> None:
    old, new, parts = REFUSALS[what]
    said = refusal(tmp_path, old, new)
    assert said.startswith("small_universe.yaml:")
    assert "\n" not in said
    for part in parts:
        assert part in said
    line = int(said.split(":")[1])
    begin = UNIVERSE[: UNIVERSE.index(old)].count("\n") + 1
    assert begin - 8 <= line <= begin + new.count("\n") + 8


def test_sql_without_end_is_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("simtrain.worlds.search.facts.tables._MAX_STEPS", 10)
    endless = "with recursive t (n) as (select 1 union all select n + 1 from t) select n from t where n < 0"
    said = refusal(tmp_path, "constraints:\n", f"constraints:\n  none: {endless}\n")
    assert "constraints.none: the SQL comes to no end" in said


def test_a_query_that_gives_rows_without_end_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("simtrain.worlds.service.row_limits.MOST_ROWS", 1000)
    world = SearchSource.load(parse_document(UNIVERSE, Path("small_universe.yaml"))).build()
    endless = "with recursive t (n) as (select 1 union all select n + 1 from t) select n from t"
    assert len(world.query(f"{endless} limit 999")) == 999
    with pytest.raises(InputError, match="the SQL fails: more than 1,000 rows"):
        world.query(endless)


def test_the_line_of_a_mistake_inside_a_block_is_that_of_the_mistake(tmp_path: Path) -> None:
    said = refusal(
        tmp_path, "- in {{ visit.port }}, berth {{ visit.berth }}", "- in {{ visit.port }}, berth {{ visit.bert }}"
    )
    line = int(said.split(":")[1])
    assert "visit.berth" in UNIVERSE.splitlines()[line - 1]


def test_kinds_of_pages_that_share_an_address_are_refused(tmp_path: Path) -> None:
    twice = UNIVERSE[UNIVERSE.index("      - list: port\n") : UNIVERSE.index("  gossip:\n")]
    said = refusal(tmp_path, twice, twice + twice)
    assert "sites.office" in said
    assert "two pages have the address https://office.sea.example/climate/" in said


def test_text_of_a_file_stays_text_whatever_it_holds(tmp_path: Path) -> None:
    text = UNIVERSE.replace("They say ", "They say ' \\\" \\\\ \\x07 \\u2028 } ''' é ").replace(
        "title: Gossip", "title: 'It''s {gossip} \\'"
    )
    world = open_file(
        SearchSource.load(parse_document(text, Path("nasty.yaml"))).build_file(path=tmp_path / "n.sqlite")
    )
    bodies = [
        row[0]
        for row in world.execute("select body from _pages p join _sites s on s.id = p.site where s.name = 'gossip'")
    ]
    assert bodies
    assert all(body.startswith("They say ' \" \\ \x07 \u2028 } ''' é ") for body in bodies)


def test_loops_and_conditions_are_nested_within_limits(tmp_path: Path) -> None:
    loops = "".join(f"{{% for a{n} in ports[:9] %}}" for n in range(4)) + "{{ a3 }}" + "{% endfor %}" * 4
    assert "at most 3 deep" in refusal(tmp_path, '- "Everything is here:', f'- "{loops}Everything is here:')
    branches = "{% if ship.armed %}" * 25 + "x" + "{% endif %}" * 25
    assert "at most 20 deep" in refusal(tmp_path, "They say", f"{branches} They say")


def test_counts_of_unknown_types_are_refused(tmp_path: Path) -> None:
    source = SearchSource.load(parse_document(UNIVERSE, Path("small_universe.yaml")))
    with pytest.raises(InputError, match="no type 'boat' is counted"):
        source.build_file(Variant(rows=(("boat", 3),)), tmp_path / "x.sqlite")
    with pytest.raises(InputError, match="not a possible number"):
        source.build_file(Variant(rows=(("pages", 10**9),)), tmp_path / "x.sqlite")


def test_a_size_that_no_count_leads_to_is_refused(tmp_path: Path) -> None:
    source = SearchSource.load(parse_document(UNIVERSE, Path("small_universe.yaml")))
    with pytest.raises(InputError, match=r"has \d+ pages at any size, and 5000 are wanted"):
        source.build_file(Variant(rows=(("port", 6), ("ship", 24), ("pages", 5000))), tmp_path / "x.sqlite")


@pytest.mark.parametrize("content", [b"", b"hello", b"SQLite format 3\x00" + bytes(4000)])
def test_a_file_that_is_no_world_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "w.sqlite"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"w\.sqlite: (not a world file|a world file of another version)"):
        open_file(path)


def test_a_foreign_database_and_a_world_of_another_version_are_refused(tmp_path: Path) -> None:
    foreign = tmp_path / "foreign.sqlite"
    connection = open_database(foreign)
    connection.execute("create table t (x)")
    connection.close()
    with pytest.raises(InputError, match="not a world file"):
        open_file(foreign)
    source = SearchSource.load(parse_document(UNIVERSE, Path("small_universe.yaml")))
    for key, value in (("version", "0.0.1"), ("format", "simtrain-search-world/0")):
        path = source.build_file(path=tmp_path / f"{key}.sqlite")
        connection = open_database(path)
        connection.execute("update _meta set value = ? where key = ?", (value, key))
        connection.commit()
        connection.close()
        with pytest.raises(InputError, match="another version"):
            open_file(path)


def test_names_are_of_two_invented_words_that_are_never_a_slip_apart(tmp_path: Path) -> None:
    source = SearchSource.load(parse_document(UNIVERSE, Path("small_universe.yaml")))
    world = open_file(source.build_file(Variant(rows=(("ship", 900), ("port", 60))), tmp_path / "names.sqlite"))
    names = [row[0] for row in world.execute("select name from ship union all select name from port")]
    assert len(set(names)) == len(names) == 960
    words = sorted({word for name in names for word in name.removesuffix(" Harbour").split()})
    assert all(re.fullmatch(r"[A-Z][a-z]{3,}", word) for word in words)
    near = {word: {word[:at] + word[at + 1 :] for at in range(len(word))} | {word} for word in words}
    seen: dict[str, str] = {}
    for word, keys in near.items():
        for key in keys:
            assert seen.setdefault(key, word) == word


def test_words_of_the_prose_and_of_the_authors_list_are_no_names(tmp_path: Path) -> None:
    def words(text: str, where: str) -> set[str]:
        file = tmp_path / f"{where}.yaml"
        file.write_text(text)
        source = SearchSource.load(parse_document(text, file))
        world = open_file(source.build_file(path=tmp_path / f"{where}.sqlite"))
        return {word for (name,) in world.execute("select name from ship") for word in name.split()}

    before = words(UNIVERSE, "before")
    avoided = sorted(before)[:20]
    (tmp_path / "real.txt").write_text("\n".join(avoided))
    after = words(UNIVERSE.replace("seed: 3", "seed: 3\navoid: real.txt"), "after")
    assert not after & set(avoided)
    prose = sorted(before)[0]
    assert prose not in words(UNIVERSE.replace("They say", f"They say {prose} and"), "prose")


def test_pages_of_the_shipped_frontier_read_like_pages(tmp_path: Path) -> None:
    from simtrain.files.yaml_files import read_document
    from simtrain.worlds.search.figures import figures

    path = SearchSource.load(read_document(SHIPPED / "kestrel_reach.yaml")).build_file(path=tmp_path / "reach.sqlite")
    found = figures(open_file(path), path)
    assert found["words_a_page"] >= 110
    assert found["facts_a_page"] >= 6
    assert found["links_a_page"] >= 5
    assert set(found["claims"]) == {"outdated", "mistaken"}
    kinds = {"official", "home", "list", "category", "data sheet", "news", "feature", "thread", "article"}
    assert kinds <= set(found["kinds"])
