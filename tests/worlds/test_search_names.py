"""Invented names: clear of real words in every world, of any seed and size, and not to be taken for one another."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path

import pytest
from small_universe import UNIVERSE

from simtrain.cli.built_worlds import search_source
from simtrain.files.yaml_files import parse_document
from simtrain.validation.search_worlds.names import check_names, real_names
from simtrain.worlds.search.building import BuildOrder, write_facts
from simtrain.worlds.search.checking.facts import FactTables
from simtrain.worlds.search.facts.names import Form, InventedWords
from simtrain.worlds.search.facts.real_words import RealWords, folded, keys_of
from simtrain.worlds.search.file import TABLES
from simtrain.worlds.search.scaling import ordered
from simtrain.worlds.search.source import SearchSource
from simtrain.worlds.search.spec.world_file import Flavour
from tests.support.databases import open_database

pytestmark = pytest.mark.slow

WORLDS = (
    "kestrel_reach",
    "skarnveil_wiki",
    "korvessia_league",
    "ysmere_federation",
    "ombrecht_archives",
    "marrowane_shipping",
    "lattice_2046",
    "meridian_2058",
)
ENGLISH = Flavour(
    onsets=["lon", "pa", "ber", "mo", "to"], nuclei=["do", "ri", "li", "sco", "kyo"], codas=["n", "s", ""]
)


def facts_of(source: SearchSource, *, seed: int, pages: int | None = None) -> sqlite3.Connection:
    counts = {name: entity.count for name, entity in source.spec.entities.items() if entity.count is not None}
    order = ordered(BuildOrder(source.design, seed, counts, (), "trial"), {} if pages is None else {"pages": pages})
    connection = open_database(autocommit=True)
    for statement in TABLES.split(";\n"):
        connection.execute(statement)
    write_facts(connection, order)
    return connection


def words_of(flavour: Flavour, *, avoid: Sequence[str] = ()) -> list[str]:
    words = InventedWords({"one": flavour}, seed=1, avoid=avoid)
    words.grow("one", 200)
    return words.pool("one")


@pytest.fixture(scope="module")
def lists() -> dict[str, frozenset[str]]:
    return real_names()


@pytest.mark.parametrize("library", ["faker", "zxcvbn"])
def test_the_filter_lacks_no_word_of_a_library(library: str, lists: dict[str, frozenset[str]]) -> None:
    pytest.importorskip(library)
    shipped = RealWords.shipped()
    assert len(lists[library]) > 50_000
    assert [entry for entry in lists[library] if not all(key in shipped for key in keys_of(entry))] == []


def test_the_filter_lets_nearly_every_other_word_pass() -> None:
    flavour = Flavour(onsets=["vr", "zk", "gh", "thw", "dl"], nuclei=["ae", "uo", "y", "oia"], syllables=(3, 4))
    tried = [f"{one}{two}".casefold() for one in words_of(flavour) for two in ("qux", "zhy", "wv", "kj")]
    shipped = RealWords.shipped()
    assert sum(word in shipped for word in tried) < 0.02 * len(tried)


def test_a_language_of_real_syllables_gives_no_real_word(lists: dict[str, frozenset[str]]) -> None:
    pytest.importorskip("faker")
    pool = words_of(ENGLISH)
    assert len(pool) > 20
    assert [word for word in pool for found in lists.values() if folded(word) in found] == []


def test_what_stands_beside_a_slot_makes_no_real_word() -> None:
    flavours = {
        "head": Flavour(onsets=["lo", "be"], nuclei=["n", "r"]),
        "tail": Flavour(onsets=["d", "l"], nuclei=["o", "i"]),
    }
    words = InventedWords(flavours, seed=1, avoid=())
    for name in flavours:
        words.grow(name, 200)
    made = Form("{head}{tail}ville {tail}-{head}", flavours).make(20, words, seed=1, taken=set())
    shipped = RealWords.shipped()
    assert [name for name in made if any(key in shipped for key in keys_of(name))] == []


@pytest.mark.parametrize("world", WORLDS)
def test_shipped_worlds_of_other_seeds_and_sizes_have_no_name_that_is_taken(
    world: str, lists: dict[str, frozenset[str]]
) -> None:
    pytest.importorskip("faker")
    source = search_source(world)
    for seed, pages in ((source.seed, None), (4711, 40), (4712, 5000)):
        found = check_names(FactTables(facts_of(source, seed=seed, pages=pages)).names(), lists)
        assert (found.names > 5, found.taken) == (True, {})


@pytest.mark.parametrize("world", WORLDS)
def test_names_repeat_no_word_and_other_names_are_nobody_elses(world: str) -> None:
    connection = facts_of(search_source(world), seed=5)
    pairs = [*FactTables(connection).names()]
    names = [name for _, name in pairs]
    assert len(set(names)) == len(names)
    assert [name for name in names if len(set(name.split())) < len(name.split())] == []
    full = {(kind, alias) for kind, alias in pairs} - set(
        connection.execute("select type, alias from _aliases where kind = 'short'").fetchall()
    )
    assert len({(kind, frozenset(name.split())) for kind, name in full}) == len(full)
    shorts = connection.execute("select alias from _aliases where kind = 'short'").fetchall()
    for (short,) in shorts:
        begun = [name for name in names if name.startswith(f"{short} ")]
        assert len(begun) == 1, (short, begun)


def test_a_short_name_keeps_an_invented_word_and_ends_in_a_word() -> None:
    def short(form: str, name: str) -> str | None:
        return Form(form, ["a"]).shorten(name)

    assert short("{a} {a}", "Vaelor Hobrisk") == "Vaelor"
    assert short("{a} {a} Station", "Vaelor Hobrisk Station") == "Vaelor Hobrisk"
    assert short("{a} of the {a}", "Vaelor of the Hobrisk") == "Vaelor"
    assert short("Order of {a}{a}", "Order of Vaelorhobrisk") is None
    assert short("Port {a}{a}", "Port Vaelorhobrisk") is None


def test_a_page_that_tells_a_former_name_calls_the_row_by_its_own(tmp_path: Path) -> None:
    told = "{{ ship.home }} stands. {% if ship.home.former %}It was called {{ ship.home.former }}.{% endif %}"
    text = UNIVERSE.replace("{former: 0.5, short: 0.5}", "{former: 1.0}").replace(
        "domain: office.sea.example", "domain: office.sea.example\n    aliases: 1.0"
    )
    assert "for: ship" in text
    page = f'      - for: ship\n        as: told\n        url: /told/{{{{ slug }}}}\n        title: Told\n        body: ["{told}"]\n'
    head, marker, rest = text.partition("    pages:\n")
    document = parse_document(head + marker + page + rest, Path("small_universe.yaml"))
    connection = open_database(SearchSource.load(document).build_file(path=tmp_path / "world.sqlite"))
    bodies = [body for (body,) in connection.execute("select body from _pages where title = 'Told'")]
    former = {name for (name,) in connection.execute("select alias from _aliases")}
    assert len(bodies) == 24
    for body in bodies:
        present, _, past = body.partition(" stands. It was called ")
        assert past.removesuffix(".") in former
        assert present not in former
