"""The search worlds that ship: consistent, rich, each with prose of its own, and questions of each that reading answers."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from math import prod
from pathlib import Path

import pytest

from simtrain.contracts.world import Variant
from simtrain.files.yaml_files import read_document
from simtrain.questions.making import QuestionMaker
from simtrain.scenarios.find import shipped_root, shipped_scenarios
from simtrain.scenarios.load import load_scenario_file
from simtrain.validation.prove import prove
from simtrain.validation.search_worlds.overlap import overlap, runs
from simtrain.validation.search_worlds.prose import prose_of
from simtrain.values.types import JsonObject
from simtrain.worlds.search.checking.pages import check_pages
from simtrain.worlds.search.file import WORDS, open_file
from simtrain.worlds.search.pages.tree import Branch, Choice, Node, WordsPart
from simtrain.worlds.search.source import SearchSource

pytestmark = pytest.mark.slow

FOLDER = shipped_root() / "worlds"
WORLDS = [path.stem for path in sorted(FOLDER.glob("*.yaml")) if "\nkind: search\n" in path.read_text()]
SUITES = {name: path for name, path in shipped_scenarios().items() if name.startswith("fiction/")}
FULL = bool(os.environ.get("SIMTRAIN_FULL"))
SMALL = Variant() if FULL else Variant(rows=(("pages", 300),))
QUESTIONS = 500 if FULL else 20


@pytest.fixture(scope="module")
def sources() -> dict[str, SearchSource]:
    return {name: SearchSource.load(read_document(FOLDER / f"{name}.yaml")) for name in WORLDS}


@pytest.fixture(scope="module")
def built(sources: dict[str, SearchSource], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("worlds")
    return {name: found.build_file(SMALL, folder / f"{name}.sqlite") for name, found in sources.items()}


def rows(file: Path, sql: str) -> list[JsonObject]:
    connection = open_file(file)
    cursor = connection.execute(sql)
    names = [column[0] for column in cursor.description]
    found = [dict(zip(names, row, strict=True)) for row in cursor]
    connection.close()
    return found


def schema(file: Path) -> set[tuple[object, ...]]:
    """Every attribute of every type, with its kind."""
    found = rows(file, "select type, name, kind from _attributes where type in (select name from _types)")
    return {tuple(row.values()) for row in found}


def test_all_four_strategies_ship_and_at_least_eight_worlds(sources: dict[str, SearchSource]) -> None:
    strategies = Counter(found.spec.strategy for found in sources.values())
    assert len(WORLDS) >= 8
    assert set(strategies) == {"time_shifted", "long_tail", "private_simulation", "grounded"}
    assert min(strategies.values()) >= 2


@pytest.mark.full
@pytest.mark.parametrize("name", WORLDS)
def test_a_world_knows_many_things_of_several_kinds(name: str, built: dict[str, Path]) -> None:
    kinds = Counter(row["kind"] for row in rows(built[name], "select kind from _types"))
    assert kinds["entity"] >= 6 and kinds["relation"] >= 2
    assert len(schema(built[name])) >= 30
    assert {kind for _, _, kind in schema(built[name])} >= {"category", "date", "money", "number", "quantity", "ref"}


def test_no_two_worlds_share_a_schema(built: dict[str, Path]) -> None:
    for one, other in combinations(WORLDS, 2):
        first, second = schema(built[one]), schema(built[other])
        assert len(first & second) < 0.2 * min(len(first), len(second)), (one, other)


@pytest.mark.parametrize("name", WORLDS)
def test_pages_are_long_enough_and_full_of_facts_and_links(name: str, built: dict[str, Path]) -> None:
    file = built[name]
    found = rows(
        file,
        f"select avg({WORDS}) as words, (select count(*) from _statements) * 1.0 / count(*) as facts,"
        f" (select count(*) from _links) * 1.0 / count(*) as links, min({WORDS}) as least from _pages",
    )[0]
    assert float(str(found["words"])) >= 110 and float(str(found["facts"])) >= 6 and float(str(found["links"])) >= 5
    assert len(rows(file, "select distinct site from _pages")) >= 4


@pytest.mark.parametrize("name", WORLDS)
def test_sites_differ_in_kind_and_some_say_what_is_out_of_date_or_wrong(name: str, built: dict[str, Path]) -> None:
    sites = rows(built[name], "select kind, lag_days, reliability, domain from _sites")
    assert len({row["kind"] for row in sites}) >= 3 and len({row["lag_days"] for row in sites}) >= 3
    assert any(row["lag_days"] == 0 for row in sites)
    reasons = {row["reason"] for row in rows(built[name], "select distinct reason from _claims")}
    assert len(reasons) >= 2
    assert rows(built[name], "select kind from _aliases")


@pytest.mark.parametrize("name", WORLDS)
def test_every_page_agrees_with_the_facts(name: str, built: dict[str, Path], sources: dict[str, SearchSource]) -> None:
    connection = open_file(built[name])
    words = prose_of(sources[name].document.data)
    checked = check_pages(connection, sources[name].design.units, wording=words)
    connection.close()
    assert checked.pages >= 200 and checked.problems == ()


@pytest.mark.parametrize("name", WORLDS)
def test_every_attribute_is_told_somewhere_as_it_is(name: str, built: dict[str, Path]) -> None:
    untold = rows(
        built[name],
        "select type, name from _attributes where type in (select name from _types) and kind <> 'coordinates'"
        " and id not in (select attribute from _statements where claim is null)",
    )
    assert untold == []


def ways(nodes: Sequence[Node]) -> int:
    """In how many ways a part of a page may be put."""
    found = 1
    for node in nodes:
        if isinstance(node, WordsPart):
            found *= sum(map(len, node.lists))
        elif isinstance(node, Choice):
            found *= sum(map(ways, node.options))
        elif isinstance(node, Branch):
            found *= max(ways(node.body), ways(node.otherwise))
    return found


@pytest.mark.parametrize("name", WORLDS)
def test_the_main_pages_have_several_wordings(name: str, sources: dict[str, SearchSource]) -> None:
    articles = [page for site in sources[name].design.sites for page in site.pages if page.spec.for_]
    found = [prod(sum(map(ways, wordings)) for wordings in page.parts) for page in articles]
    assert min(found) >= 2 and sum(count >= 1000 for count in found) >= 0.7 * len(found)


def test_prose_is_not_that_of_another_world(built: dict[str, Path]) -> None:
    said: dict[str, set[str]] = {}
    for name, file in built.items():
        connection = open_file(file)
        said[name] = runs(connection)
        connection.close()
    alike = {pair: overlap(said[pair[0]], said[pair[1]]) for pair in combinations(WORLDS, 2)}
    assert max(alike.values()) < 0.05, alike


@pytest.mark.parametrize("name", WORLDS)
def test_questions_of_many_shapes_can_be_asked(name: str, sources: dict[str, SearchSource]) -> None:
    maker = QuestionMaker(sources[name].build(SMALL), seed=1)
    skeletons = Counter(made.question.skeleton for made in maker.make(QUESTIONS))
    assert skeletons.total() == QUESTIONS
    assert len(skeletons) >= min(25, QUESTIONS // 2)
    assert max(skeletons.values()) <= max(2, 0.1 * QUESTIONS)


def test_every_world_has_suites_of_questions() -> None:
    worlds = Counter(str(read_document(path).data["world"]) for path in SUITES.values())
    named = {world for world in WORLDS for used in worlds if world in used}
    assert named == set(WORLDS) and len(SUITES) >= 3 * len(WORLDS)


@pytest.mark.parametrize("name", SUITES if FULL else [name for name in SUITES if name.endswith("_lookups")])
def test_the_oracle_answers_a_suite_by_reading(name: str) -> None:
    proof = asyncio.run(prove(load_scenario_file(SUITES[name], name), cases=None if FULL else 1))
    assert proof.problems == []
