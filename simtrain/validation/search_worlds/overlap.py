"""The likeness of two worlds' prose: the share of common five-word runs once statements are masked."""

import re
import sqlite3
from collections.abc import Iterator
from itertools import groupby

RUN = 5
MOST_PAGES = 5_000
"""Most pages of a world that are compared; of a larger world, evenly spread ones."""

_TARGET = re.compile(r"\]\(([^()\s]*)\)")
_WORD = re.compile(r"\x00+|[^\W\d_]+(?:['’][^\W\d_]+)?")
_MASK = "*"


def runs(connection: sqlite3.Connection) -> set[str]:
    """Return the five-word runs of all pages. A statement (a name, a number) is one masked word; runs of little else are
    left out.
    """
    found: set[str] = set()
    for body in _masked(connection):
        words = [_MASK if word[0] == "\x00" else word for word in _WORD.findall(body.casefold())]
        # Adjacent statements count as one: their number depends on the facts, not on the prose.
        words = [word for word, _ in groupby(words)]
        for start in range(len(words) - RUN + 1):
            run = words[start : start + RUN]
            if run.count(_MASK) < RUN - 1:
                found.add(" ".join(run))
    return found


def overlap(one: set[str], other: set[str]) -> float:
    """Return the share of the smaller set's runs that are in the other one; 0 if a set is empty."""
    smaller = min(len(one), len(other))
    return len(one & other) / smaller if smaller else 0.0


def _masked(connection: sqlite3.Connection) -> Iterator[str]:
    total = connection.execute("select count(*) from _pages").fetchone()[0]
    every = max(1, -(-total // MOST_PAGES))
    pages = connection.execute("select id, body from _pages where id % ? = 0 order by id", (every,)).fetchall()
    for page, body in pages:
        letters = list(body)
        spans = connection.execute("select start, start + length from _statements where page = ?", (page,)).fetchall()
        for start, end in [*spans, *(match.span(1) for match in _TARGET.finditer(body))]:
            # Of the same length, so that later positions stay true.
            letters[start:end] = "\x00" * (end - start)
        yield "".join(letters)
