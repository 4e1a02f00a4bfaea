"""How alike two worlds read, once what they state is masked: the share of five-word runs that they have in common."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from itertools import groupby

RUN = 5
MOST_PAGES = 5_000
"""Pages of a world that are compared; of a larger one so many, evenly spread."""

_TARGET = re.compile(r"\]\(([^()\s]*)\)")
_WORD = re.compile(r"\x00+|[^\W\d_]+(?:['’][^\W\d_]+)?")
_MASK = "*"


def runs(connection: sqlite3.Connection) -> set[str]:
    """Return the five-word runs of all pages. A statement, a name or a number, is one masked word; runs of little
    else are left out.
    """
    found: set[str] = set()
    for body in _masked(connection):
        words = [_MASK if word[0] == "\x00" else word for word in _WORD.findall(body.casefold())]
        # Several statements in a row are one: how many there are depends on the facts.
        words = [word for word, _ in groupby(words)]
        for start in range(len(words) - RUN + 1):
            run = words[start : start + RUN]
            if run.count(_MASK) < RUN - 1:
                found.add(" ".join(run))
    return found


def overlap(one: set[str], other: set[str]) -> float:
    """Return the share of the runs of the smaller set that the other one has as well; 0 for a world without any."""
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
            letters[start:end] = "\x00" * (end - start)
        yield "".join(letters)
