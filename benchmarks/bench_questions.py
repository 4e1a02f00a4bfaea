"""Making questions: how long it takes to compose, check and solve 1,000 questions over a world of 10,000 pages.

All is counted: wording, SQL, gold, the search for a path to every cell through the world's own search engine, measuring. The world is
built before. Gold tables have about 20 rows on average.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path
from statistics import mean
from time import perf_counter, process_time

from report import Figure, options, show

from simtrain.contracts.world import Variant
from simtrain.questions.composing import Bounds
from simtrain.questions.making import QuestionMaker
from simtrain.scenarios.find import find
from simtrain.scenarios.load import load_world
from simtrain.worlds.search.source import SearchSource
from simtrain.worlds.search.world import SearchWorld

ROWS = (8, 45)


def main() -> None:
    """Measure and print."""
    parser = options(__doc__ or "")
    parser.add_argument("--world", default="kestrel_reach", help="name of the world")
    parser.add_argument("--pages", type=int, default=10_000, help="size of the world")
    parser.add_argument("--count", type=int, default=1_000, help="questions to make")
    given = parser.parse_args()
    source = load_world(find("worlds", given.world))
    assert isinstance(source, SearchSource)
    with tempfile.TemporaryDirectory() as folder:
        file = source.build_file(Variant(rows=(("pages", given.pages),)), Path(folder) / "world")
        show("questions", measured(SearchWorld(source, file, Variant()), given.count), as_json=given.json)


def measured(world: SearchWorld, count: int) -> list[Figure]:
    """The time for so many questions, and what they are like."""
    begun, busy = perf_counter(), process_time()
    made = list(QuestionMaker(world, bounds=Bounds(rows=ROWS)).make(count))
    wall, busy = perf_counter() - begun, process_time() - busy
    tables = [item for item in made if item.question.answer == "table"]
    skeletons = Counter(item.question.skeleton for item in made)
    pages = world.web.ranking.pages
    several = sum(item.question.difficulty.pages > 1 for item in tables) / len(tables)
    return [
        Figure(f"{len(made):,} questions over {pages:,} pages, CPU", busy, "s", 60.0 * len(made) / 1000),
        Figure("the same by the clock", wall, "s"),
        Figure("gold rows, mean", mean(len(item.gold) for item in tables), "rows"),
        Figure("calls of the oracle, mean", mean(item.question.difficulty.calls for item in tables), "calls"),
        Figure("SQL skeletons", len(skeletons), "skeletons"),
        Figure("the largest skeleton's share", 100 * max(skeletons.values()) / len(made), "%", 10.0),
        Figure("answers that need several pages", 100 * several, "%"),
    ]


if __name__ == "__main__":
    main()
