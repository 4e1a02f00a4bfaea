"""Searching: the time of a query over 100,000 and over 1,000,000 pages, of a whole reply, and the memory of an open episode.

Queries have 3 to 12 words: names of things and words about them, as an agent asks; lines out of pages that hold a word that is not
common; and words that are all common (each on more than a twentieth of the pages). All queries are asked in turn, round by round, so
that the pages of one are not in memory any more when it comes round again. A world file that was built before is taken with `--file`.
"""

from __future__ import annotations

import gc
import tempfile
from collections.abc import Callable
from math import inf
from pathlib import Path
from statistics import median
from time import perf_counter, thread_time
from tracemalloc import get_traced_memory, start, stop

from report import Figure, options, show

from simtrain.contracts.request import Request
from simtrain.contracts.world import Variant
from simtrain.scenarios.find import find
from simtrain.scenarios.load import load_world
from simtrain.values.seeding import Stream
from simtrain.worlds.search.engine.tokens import tokens
from simtrain.worlds.search.source import SearchSource
from simtrain.worlds.search.world import SearchWorld

QUERIES = 200
COMMON_SHARE = 1 / 20
EPISODES = 1000
TARGETS = {100_000: 2.0, 1_000_000: 10.0}


def main() -> None:
    """Measure and print."""
    parser = options(__doc__ or "")
    parser.set_defaults(rounds=5)
    parser.add_argument("--pages", type=int, nargs="+", default=[100_000], help="sizes of the worlds")
    parser.add_argument("--file", type=Path, nargs="*", default=[], help="built world files, in the place of sizes")
    given = parser.parse_args()
    source = load_world(find("worlds", "kestrel_reach"))
    assert isinstance(source, SearchSource)
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory() as folder:
        files = given.file or [
            source.build_file(Variant(rows=(("pages", count),)), Path(folder) / f"{count}.world")
            for count in given.pages
        ]
        for file in files:
            figures += measured(SearchWorld(source, file, Variant()), given.rounds)
        figures += [memory_of_episodes(SearchWorld(source, files[0], Variant()))]
    show("search worlds, searching", figures, as_json=given.json)


def measured(world: SearchWorld, rounds: int) -> list[Figure]:
    """The medians of one world."""
    pages = world.web.ranking.pages
    size = f"{pages:,} pages"
    target = next((most for count, most in TARGETS.items() if pages <= 1.2 * count), None)
    asked, sentences, common = queries(world)

    def rank(query: str) -> object:
        return world.web.ranking.top(query, count=10)

    search = next(tool for tool in world.tools if tool.name == "web_search")
    state = world.open()

    def reply(query: str) -> object:
        return state.answer(Request(search, {"query": query}, 0, 0))

    return [
        *medians(f"{size}: a query of 3 to 12 words", rank, asked, rounds, target),
        *medians(f"{size}: a line of a page", rank, sentences, rounds, target),
        *medians(f"{size}: all words common", rank, common, rounds, 60.0),
        *medians(f"{size}: a whole reply of web_search", reply, asked, rounds, None),
    ]


def queries(world: SearchWorld) -> tuple[list[str], list[str], list[str]]:
    """Queries as agents ask, sentences of pages, and queries of common words; the same in every run."""
    stream = Stream(5)
    labels = [str(row["label"]) for row in world.query("select label from _attributes order by id")]
    last = world.web.ranking.pages
    rows = world.web.run("select term from temp._vocabulary where doc > ? order by term", (int(last * COMMON_SHARE),))
    known = {str(term) for (term,) in rows}
    asked: list[str] = []
    sentences: list[str] = []
    while len(sentences) < QUERIES:
        page = world.web.page(stream.integer(1, last))
        found = [line for line in page.body.split("\n") if 3 <= len(tokens(line)) <= 12 and set(tokens(line)) - known]
        if not found:
            continue
        sentences.append(stream.choose(found))
        words = tokens(page.title)[:6] + stream.sample(labels, stream.integer(1, 3))
        asked.append(" ".join(words[:12] if len(words) > 2 else [*words, "list", "of"]))
    common = [" ".join(stream.sample(sorted(known), stream.integer(3, 12))) for _ in range(QUERIES)]
    return asked, sentences, common


def medians(
    name: str, work: Callable[[str], object], asked: list[str], rounds: int, target: float | None
) -> list[Figure]:
    """Milliseconds for the median query, each at its best of several rounds: CPU time, and time by the clock."""
    busy = [inf] * len(asked)
    wall = [inf] * len(asked)
    for _ in range(rounds):
        for place, query in enumerate(asked):
            begun, clock = thread_time(), perf_counter()
            work(query)
            busy[place] = min(busy[place], thread_time() - begun)
            wall[place] = min(wall[place], perf_counter() - clock)
    return [
        Figure(f"{name}, CPU", median(busy) * 1000, "ms", target),
        Figure("  by the clock", median(wall) * 1000, "ms"),
    ]


def memory_of_episodes(world: SearchWorld) -> Figure:
    """The memory of one of many open states, each with a search, a page and a note behind it."""
    by_name = {tool.name: tool for tool in world.tools}
    calls = [
        ("web_search", {"query": "stations of a sector"}),
        ("web_extractor", {"url": world.web.page(2).url}),
        ("dict_memory", {"operation": "add", "key": "a", "value": "seen"}),
    ]
    world.open().answer(Request(by_name["web_search"], {"query": "stations of a sector"}, 0, 0))
    gc.collect()
    start()
    before = get_traced_memory()[0]
    states = []
    for _ in range(EPISODES):
        state = world.open()
        for index, (tool, arguments) in enumerate(calls):
            state.answer(Request(by_name[tool], arguments, index, index))
        states.append(state)
    gc.collect()
    used = (get_traced_memory()[0] - before) / len(states) / 1024
    stop()
    return Figure(f"{EPISODES:,} open episodes: memory of each", used, "KB", 20.0)


if __name__ == "__main__":
    main()
