"""Ranking of a search world: BM25, a total order, and queries that nothing breaks."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from small_web import write_pages

from simtrain.values.seeding import Stream
from simtrain.worlds.search.engine.ranking import FEW, TITLE_WEIGHT
from simtrain.worlds.search.engine.tokens import folded, folded_bytes, tokens, whole
from simtrain.worlds.search.engine.web import Web, web_of
from tests.support.databases import open_database

pytestmark = pytest.mark.slow

COMMON = ["harbour", "ferry", "season", "crew", "the", "of", "opened", "year"]


def pages(count: int, *, seed: int = 3) -> list[tuple[str, str]]:
    """Pages of few rare and many common words; a third of them say the same as another one, so that there are ties."""
    stream = Stream(seed)
    rare = [
        f"{a}{b}{c}"
        for a in ("vel", "dra", "pel", "tor")
        for b in ("mo", "ki", "sa")
        for c in ("ra", "nu", "del", "fi")
    ]
    found: list[tuple[str, str]] = []
    for _ in range(count):
        if found and stream.random() < 0.33:
            found.append(stream.choose(found))
            continue
        name = f"{stream.choose(rare).title()} {stream.choose(rare).title()}"
        words = [
            stream.choose(rare) if stream.random() < 0.2 else stream.choose(COMMON)
            for _ in range(stream.integer(5, 60))
        ]
        found.append((name, f"# {name}\n\n{' '.join(words)}"))
    return found


def queries(count: int, *, seed: int = 5) -> list[str]:
    stream = Stream(seed)
    known = sorted({word for title, body in pages(60) for word in tokens(title + " " + body)})
    return [" ".join(stream.choose(known) for _ in range(stream.integer(1, 12))) for _ in range(count)]


def exact(written: list[tuple[str, str]], query: str) -> list[int]:
    """The ten best pages by BM25 as the literature writes it (k1 = 1.2, b = 0.75), computed over all pages; ties by number."""
    documents = [(tokens(title), tokens(body)) for title, body in written]
    mean = sum(len(title) + len(body) for title, body in documents) / len(documents)
    words = list(dict.fromkeys(tokens(query)))
    held = {word: sum(word in title or word in body for title, body in documents) for word in words}
    weights = {word: math.log((len(documents) - n + 0.5) / (n + 0.5)) for word, n in held.items() if n}
    # Words on more than half of the pages only say which pages fill up the results.
    telling = {word: weight for word, weight in weights.items() if weight > 0} or dict.fromkeys(weights, 1e-6)
    scores: dict[int, float] = {}
    for number, (title, body) in enumerate(documents, 1):
        long = 1.2 * (0.25 + 0.75 * (len(title) + len(body)) / mean)
        often = {word: TITLE_WEIGHT * title.count(word) + body.count(word) for word in telling}
        score = sum(weight * often[word] * 2.2 / (often[word] + long) for word, weight in telling.items())
        if any(word in title or word in body for word in weights):
            scores[number] = round(score, 9)
    return sorted(scores, key=lambda number: (-scores[number], number))[:10]


def test_the_best_pages_are_those_of_bm25_over_all_words_and_all_pages(tmp_path: Path) -> None:
    written = pages(300)
    web = web_of(write_pages(tmp_path / "web.world", written))
    for query in queries(200):
        assert [hit.page for hit in web.ranking.top(query, count=10)] == exact(written, query), query


def test_where_words_are_left_out_of_the_first_stage_the_order_is_still_exact_among_pages_with_the_rare_ones(
    tmp_path: Path,
) -> None:
    """Every page holds the common words here, so that they join no first stage; two rare ones decide which pages are scored."""
    stream = Stream(11)
    common = [f"common{letter}" for letter in "abcdef"]
    written = [
        (f"Page {number}", " ".join([*stream.sample(common, 3), *stream.sample(common, 2), f"rare{number % 40}", "filler " * (number % 7)]))
        for number in range(4 * FEW[0])
    ]  # fmt: skip
    web = web_of(write_pages(tmp_path / "web.world", written))
    for _ in range(40):
        query = f"rare{stream.integer(0, 39)} {' '.join(stream.sample(common, 3))}"
        assert [hit.page for hit in web.ranking.top(query, count=10)] == exact(written, query), query


@pytest.mark.full
def test_rebuilt_merged_and_shuffled_indexes_rank_alike(tmp_path: Path) -> None:
    written = pages(700)
    ids = list(range(1, len(written) + 1))
    built = [
        web_of(write_pages(tmp_path / "straight.world", written)),
        web_of(write_pages(tmp_path / "merged.world", written, merge=True)),
        *(
            web_of(write_pages(tmp_path / f"{seed}.world", written, order=Stream(seed).shuffled(ids)))
            for seed in (1, 2, 3)
        ),
    ]
    asked = queries(300)
    orders = [[[(hit.page, hit.score) for hit in web.ranking.top(query, count=30)] for query in asked] for web in built]
    assert all(order == orders[0] for order in orders[1:])
    tied = sum(len({score for _, score in order}) < len(order) for order in orders[0])
    assert tied > len(asked) / 3, "without ties the test would show little"


def test_pages_of_results_follow_one_another(tmp_path: Path) -> None:
    web = web_of(write_pages(tmp_path / "web.world", pages(300)))
    whole = web.ranking.top("harbour velmora", count=40)
    assert [
        hit for first in (0, 10, 20, 30) for hit in web.ranking.top("harbour velmora", count=10, offset=first)
    ] == whole
    assert web.ranking.top("harbour velmora", count=10, offset=100_000) == []


def test_a_search_on_one_site_finds_pages_of_that_site_alone(tmp_path: Path) -> None:
    web = web_of(write_pages(tmp_path / "web.world", pages(300)))
    found = web.ranking.top("harbour ferry velmora", count=20, site=2)
    assert found and {web.page(hit.page).site for hit in found} == {2}


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    yield web_of(write_pages(tmp_path_factory.mktemp("web") / "web.world", pages(80)))


BREAKING = [
    "", " ", '"', '""', "'", "harbour\"", "NEAR(a b)", "a AND", "OR", "NOT harbour", "harbour*", "title:harbour", "-harbour", "^harbour",
    "{a b}: c", "(((", "a + b", "harbour\0ferry", "é" * 5000, "harbour " * 5000, "🚢 harbour", "港口 harbour", "\ud800",
    "site:", "a;drop table x",
]  # fmt: skip


@pytest.mark.parametrize("query", BREAKING)
def test_no_query_breaks_the_index(web: Web, query: str) -> None:
    found = web.ranking.top(query, count=10)
    assert bool(found) == bool({*tokens(query)} & {"harbour", "ferry", "the", "of"}), found


@settings(max_examples=300)
@given(st.text(max_size=200))
def test_any_text_is_a_query(web: Web, query: str) -> None:
    web.ranking.top(query, count=10)


@settings(max_examples=300)
@given(st.text(alphabet=st.characters(max_codepoint=0x17F), max_size=60) | st.text(max_size=60))
@example("новый чай θάλασσα ΟΔΟΣ ǡ ẛ हिन्दी ภาษา")
@example("Żółć Ærøskøbing straße İstanbul Ωμεγα Юность 港口 e\u0301t\u0065 1,280.5 x_y")
def test_words_are_those_of_the_index(text: str) -> None:
    """The index itself says what its words are: Latin letters without their marks, others with theirs."""
    connection = open_database()
    connection.execute("create virtual table seen using fts5 (body, tokenize='unicode61 remove_diacritics 2')")
    connection.execute("create virtual table words using fts5vocab (seen, instance)")
    connection.execute("insert into seen values (?)", (text.replace("\0", " "),))
    indexed = [word for (word,) in connection.execute("select term from words order by offset")]
    connection.close()
    assert tokens(text.replace("\0", " ")) == indexed
    plain = folded_bytes(text.encode(errors="surrogatepass"))
    assert plain.decode(errors="surrogatepass") == folded(text)
    assert all(len(whole(word).findall(plain)) == indexed.count(word) for word in indexed)


def test_words_of_every_script_are_found(tmp_path: Path) -> None:
    written = [("Новый берег", "Майский чай"), ("Ελλάδα", "Η θάλασσα"), ("Ålesund", "smørbrød"), ("x", "other words")]
    web = web_of(write_pages(tmp_path / "web.world", [*written, *pages(40)]))
    asked = {"чай": 1, "НОВЫЙ": 1, "θάλασσα": 2, "ΕΛΛΆΔΑ": 2, "alesund": 3, "SMØRBRØD": 3}
    assert {query: [hit.page for hit in web.ranking.top(query, count=1)] for query in asked} == {
        query: [page] for query, page in asked.items()
    }
