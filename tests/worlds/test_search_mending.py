"""Searches as engines do them: plurals, joined and misspelt names, and codes without their dashes find what was meant.

The samples are drawn from each world by code of this file alone: names and codes from the tables of facts, mistakes by a generator
of its own, and what is right from the pages that tell of that row.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from random import Random
from typing import NamedTuple

import pytest
from marking import first_here

from simtrain.contracts.request import Request
from simtrain.contracts.world import Variant
from simtrain.curricula.curriculum_file import Level
from simtrain.scenarios.find import find
from simtrain.scenarios.load import load_world
from simtrain.values.errors import InputError
from simtrain.worlds.search.engine.query_correction import differences
from simtrain.worlds.search.source import SearchSource
from simtrain.worlds.search.world import SearchWorld

WORLDS = (
    "marrowane_shipping", "kestrel_reach", "korvessia_league", "lattice_2046", "meridian_2058", "ombrecht_archives", "skarnveil_wiki",
    "ysmere_federation",
)  # fmt: skip
PAGES = 600
SAMPLE = 14
LETTERS = "abcdefghijklmnopqrstuvwxyz"
CODE = re.compile(r"(?=.*[0-9])(?=.*[A-Z])[A-Z0-9]+(-[A-Z0-9]+)+")


class Thing(NamedTuple):
    """What a page tells of: a name or code of it, and the addresses of the pages that are its own."""

    said: str
    pages: frozenset[str]


def built(name: str, **knobs: object) -> SearchWorld:
    source = load_world(find("worlds", name))
    assert isinstance(source, SearchSource)
    if knobs:
        source = source.configured(source.document, dict(knobs), ())
    world = source.build(Variant(rows=(("pages", PAGES),)))
    assert isinstance(world, SearchWorld)
    return world


def things(world: SearchWorld, *, codes: bool) -> Iterator[Thing]:
    """Everything that has pages of its own, by its name, or by each of its codes."""
    for (kind,) in world.web.run("select name from _types where kind = 'entity' order by name"):
        for row in world.web.query(f'select * from "{kind}" order by id', {}, moment="2000-01-01T00:00:00Z"):
            of = world.web.run("select url from _pages where type = ? and entity = ?", (kind, row["id"]))
            said = [value for key, value in row.items() if isinstance(value, str) and (key == "name") is not codes]
            for value in said:
                if of and (not codes or CODE.fullmatch(value)):
                    yield Thing(value, frozenset(str(url) for (url,) in of))


def sampled(world: SearchWorld, *, codes: bool = False) -> list[Thing]:
    found = list(things(world, codes=codes))
    return Random(f"{world.name}{codes}").sample(found, min(SAMPLE, len(found)))


def mistyped(text: str) -> str:
    """Two letters changed, left out or put in."""
    chance, letters = Random(text), list(text)
    places = chance.sample([place for place, letter in enumerate(letters) if letter.isalpha()], 2)
    for place in sorted(places, reverse=True):
        other = chance.choice([letter for letter in LETTERS if letter != letters[place].lower()])
        letters[place] = chance.choice([other, "", letters[place] + other])
    return "".join(letters)


MISTAKES: dict[str, Callable[[str], str]] = {
    "a plural": lambda name: f"{name}s",
    "a joined name": lambda name: re.sub(r"[^\w]", "", name),
    "two typos": mistyped,
}


def share(world: SearchWorld, sample: list[Thing], mistake: Callable[[str], str]) -> float:
    """The share of a sample for which a search with a mistake finds a page of its own, among those that are found without one."""
    state = world.open()

    def finds(thing: Thing, query: str) -> bool:
        return any(result.url in thing.pages for result in state.search(query))

    plain = [thing for thing in sample if finds(thing, thing.said)]
    assert len(plain) >= 0.75 * len(sample)
    return sum(finds(thing, mistake(thing.said)) for thing in plain) / len(plain)


@pytest.mark.parametrize("name", first_here(WORLDS))
def test_a_mistake_in_a_name_or_code_finds_what_was_meant(name: str) -> None:
    mended, exact = built(name), built(name, spelling="exact")
    names, codes = sampled(mended), sampled(mended, codes=True)
    assert len(names) == SAMPLE
    for mistake, made in MISTAKES.items():
        assert share(mended, names, made) >= 0.9, mistake
    # With the knob off the same sample finds little: a search that mends nothing is told apart by this measure.
    assert share(exact, names, MISTAKES["a joined name"]) <= 0.3
    if codes:
        assert share(mended, codes, lambda code: code.replace("-", "")) >= 0.9
        assert share(exact, codes, lambda code: code.replace("-", "")) <= 0.3


def searched(world: SearchWorld, tool: str, query: str, argument: str = "query") -> tuple[str, dict[str, object]]:
    spec = next(one for one in world.tools if one.name == tool)
    reply = world.open().answer(Request(spec, {argument: query}, 0, 0))
    assert not reply.is_error and reply.content is not None
    return reply.text, dict(reply.content)


def test_a_search_says_what_it_shows_instead() -> None:
    world = built(WORLDS[0], tools=["web", "widesearch", "serper"])
    thing = sampled(world)[0]
    joined = re.sub(r"[^\w]", "", thing.said)
    plain = re.sub(r"[^\w]+", " ", thing.said).lower().strip()
    said = f"No results for '{joined.lower()}'; showing '{plain}'."
    text, content = searched(world, "web_search", joined)
    assert text.startswith(f"{said}\nA web search for '{plain}' found ")
    assert (content["query"], content["no_results_for"], content["showing"]) == (joined, joined.lower(), plain)
    assert content["results"] == searched(world, "web_search", plain)[1]["results"]
    assert searched(world, "search_global", joined)[0].startswith(said)
    _, serper = searched(world, "google_search", joined, "q")
    assert serper["searchInformation"] == {"showingResultsFor": plain}
    # Nothing is said of a query that needs no mending, nor of one that nothing can be meant by.
    for query in (thing.said, "qqzzxxjj wwkkvv"):
        assert "no_results_for" not in searched(world, "web_search", query)[1]
    exact = built(WORLDS[0], spelling="exact")
    assert searched(exact, "web_search", joined)[1] == {"query": joined, "results": []}


@pytest.mark.parametrize(
    ("one", "other", "count"),
    [("kestrel", "kestrel", 0), ("kestrel", "kestral", 1), ("kestrel", "ketsrel", 1), ("kestrel", "kestl", 2), ("abc", "xyz", 3)],
)  # fmt: skip
def test_differences_count_letters(one: str, other: str, count: int) -> None:
    assert differences(one, other, 2) == count == differences(other, one, 2)


def test_a_word_that_stands_beside_none_of_the_others_is_not_bent_into_a_name() -> None:
    world = built(WORLDS[0])
    state = world.open()
    first, *others = (thing.said for thing in sampled(world) if " " in thing.said)
    strange = mistyped(first.split()[0])
    for other in others:
        mended = state.mended(f"{strange} {other}")
        if mended is not None:
            both = [word.lower() for word in mended.query.split()]
            found = [page for (page,) in world.web.run("select lower(title || ' ' || body) from _pages")]
            assert any(both[0] in page and any(word in page for word in both[1:]) for page in found)


def test_a_level_can_switch_mending_off_and_knows_no_third_way() -> None:
    source = load_world(find("worlds", WORLDS[0]))
    assert isinstance(source, SearchSource)
    for web, spelling in (({}, "mended"), ({"spelling": "exact"}, "exact")):
        level = Level.model_validate({"name": "first", "questions": {"count": 1}, "web": web})
        assert source.configured(source.document, level.web, ()).view.spelling == spelling
    with pytest.raises(InputError, match="spelling"):
        source.configured(source.document, {"spelling": "loose"}, ())
