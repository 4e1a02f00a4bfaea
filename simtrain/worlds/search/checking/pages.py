"""Checks every page of a world file against its facts, in one process or several."""

import re
import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from simtrain.worlds.search.checking.customs import Odd
from simtrain.worlds.search.checking.facts import FactTables
from simtrain.worlds.search.checking.page import PageReader, ReaderReport
from simtrain.worlds.search.checking.pieces import NOTHING, AuthorProse
from simtrain.worlds.search.checking.reading import CALENDAR
from simtrain.worlds.search.checking.sharing import ReadingTask, shared

AT_ONCE: Final = 500
"""Pages whose facts are read together."""
ALONE: Final = 5_000
"""Pages. For fewer, one process is faster than starting several."""

NAVIGATION: Final = frozenset({"page", "of", "previous", "next", "an"})
"""Words of the links between the pages of a list, the same in every world, and the other form of the article `a`."""

_WORD = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class Problem:
    """Something on a page that contradicts the facts. `place` is a position in its body."""

    page: str
    place: int
    what: str

    def __str__(self) -> str:
        return f"{self.page} at {self.place}: {self.what}"


@dataclass(frozen=True, slots=True)
class PagesRead:
    """The amount read, and the problems found."""

    pages: int
    statements: int
    links: int
    problems: tuple[Problem, ...]


def check_pages(
    connection: sqlite3.Connection,
    units: Mapping[str, tuple[str, float]],
    *,
    wording: AuthorProse = NOTHING,
    workers: int = 1,
    on_pages: Callable[[int], None] = lambda count: None,
) -> PagesRead:
    """Check all pages of a file.

    `units` holds the convertible units: unit -> (dimension, size). `wording` is the author's prose, if available; without it, words on
    several pages count as prose. `on_pages` gets the number of pages read. Raises sqlite3.DatabaseError for a damaged file.
    """
    pages, last = connection.execute("select count(*), max(id) from _pages").fetchone()
    path = next(row[2] for row in connection.execute("pragma database_list") if row[1] == "main")
    if workers == 1 or pages <= ALONE or not path:
        reader = PageReader(connection, units, wording)
        # By id ranges, not by the pages there are: a damaged file may have gaps.
        for first in range(1, (last or 0) + 1, AT_ONCE):
            on_pages(reader.read(first, first + AT_ONCE - 1))
        parts = [reader.report()]
    else:
        parts = shared(ReadingTask(path, dict(units), wording, last, AT_ONCE), workers=workers, on_pages=on_pages)
    return _merged(connection, parts, last or 0, wording)


def _merged(connection: sqlite3.Connection, parts: list[ReaderReport], last: int, wording: AuthorProse) -> PagesRead:
    """Return the findings of all parts together, in the order of the pages."""
    customs, prose = parts[0].customs, parts[0].prose
    prose.wording = wording
    for part in parts[1:]:
        customs.merge(part.customs)
        prose.merge(part.prose)
    found = [odd for part in parts for odd in part.problems]
    found += customs.late()
    found += prose.late(FactTables(connection), _known_words(connection))
    beyond = "select count(*) from _statements where page not between 1 and ?"
    count = connection.execute(beyond, (last,)).fetchone()[0]
    if count:
        found.append(Odd(0, 0, f"{count} statements of pages that are not there"))
    # Sorted and without repetition: the report must not depend on how pages were divided among processes.
    problems = tuple(Problem(_url(connection, odd.page), odd.place, odd.what) for odd in sorted(set(found)))
    return PagesRead(
        sum(part.pages for part in parts),
        sum(part.statements for part in parts),
        sum(part.links for part in parts),
        problems,
    )


def _url(connection: sqlite3.Connection, page: int) -> str:
    row = connection.execute("select url from _pages where id = ?", (page,)).fetchone()
    return "" if row is None else str(row[0])


def _known_words(connection: sqlite3.Connection) -> frozenset[str]:
    """Return the words for sites, types and attributes, which are no names of things."""
    sql = (
        "select title from _sites union select name from _sites union select label from _attributes"
        " union select name from _types union select plural from _types"
    )
    texts = [str(row[0]) for row in connection.execute(sql)]
    return CALENDAR | NAVIGATION | {word.casefold() for text in texts for word in _WORD.findall(text)}
