"""Checks that pages can be reached: by links from front pages, or by a search and links from its results."""

from __future__ import annotations

import re
import sqlite3
from array import array
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

BEGINNING: Final = 16
"""Words from the beginning of a page that are searched for if its title does not find it."""

FARTHEST: Final = 254
"""The greatest distance in links, since one byte holds it."""

_TARGET = re.compile(r"\]\([^()\s]*\)")
_WORD = re.compile(r"\w+")

Search = Callable[[str], Iterable[int]]
"""A search: query -> the ids of the pages shown first."""


MOST_SEARCHED: Final = 2_000
"""Most pages that are searched for. If links leave more unreached, an even sample is taken."""


class Reach:
    """The pages within `depth` links of a front page, or of a page found by a search for its title or first words.

    Turning to another page of the same list counts as no link. `links` counts the pages by distance from a front page; `searched`
    counts those found only by a search or by links from its results; `lost` holds the URLs of those not found at all.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        search: Search,
        *,
        depth: int,
        begin: Callable[[int], None] = lambda total: None,
        on_page: Callable[[], None] = lambda: None,
    ) -> None:
        """`begin` gets the number of pages to search for; `on_page` is called for each."""
        self._connection, self._search = connection, search
        self._near = _Near(connection, depth)
        self._near.spread(
            [row[0] for row in connection.execute("select id from _pages where kind = 'home' order by id")]
        )
        self._tried: set[int] = set()
        self.links = dict(sorted(Counter(self._near.distances()).items()))
        by_links = len(self._near)
        # Searches are far more expensive than links, so only pages that no link reaches are searched for.
        far = [row[0] for row in connection.execute("select id from _pages order by id") if row[0] not in self._near]
        # A fixed stride and no random sample: the check must give the same result every time.
        self.tried = far[:: max(1, -(-len(far) // MOST_SEARCHED))]
        begin(len(self.tried))
        for page in self.tried:
            self._look_for(page)
            on_page()
        self.searched = len(self._near) - by_links
        self.lost = tuple(self._url(page) for page in self.tried if page not in self._near)

    def __contains__(self, page: int) -> bool:
        """Return True if a page can be reached. Searches for it if that is not known yet."""
        self._look_for(page)
        return page in self._near

    def _look_for(self, page: int) -> None:
        if page in self._near or page in self._tried:
            return
        self._tried.add(page)
        title, begins = self._connection.execute(
            "select title, substr(body, 1, 400) from _pages where id = ?", (page,)
        ).fetchone()
        # Link targets are dropped: searching for a URL would find the page without any words of its own.
        first = " ".join(_WORD.findall(_TARGET.sub("", begins))[:BEGINNING])
        if any(page in self._search(query) for query in (title, first)):
            self._near.spread([page])

    def _url(self, page: int) -> str:
        return self._connection.execute("select url from _pages where id = ?", (page,)).fetchone()[0]


class _Near:
    """The pages at most `depth` links away from the starting pages. Further starting pages only add to them."""

    def __init__(self, connection: sqlite3.Connection, depth: int) -> None:
        self._depth = min(depth, FARTHEST)
        pages = connection.execute("select max(id) from _pages").fetchone()[0] or 0
        # One byte per page and four per link, since worlds have millions of both.
        self._distance = bytearray([self._depth + 1]) * (pages + 1)
        self._begins, self._targets = _links(connection, pages)
        parts = connection.execute("select id, url from _pages where last > 1")
        self._lists: Mapping[int, str] = {page: url.partition("?")[0] for page, url in parts}

    def __contains__(self, page: int) -> bool:
        return 0 <= page < len(self._distance) and self._distance[page] <= self._depth

    def __len__(self) -> int:
        return sum(1 for _ in self.distances())

    def distances(self) -> Iterator[int]:
        """Return the distances of all pages that are near enough."""
        return (distance for distance in self._distance if distance <= self._depth)

    def spread(self, start: Sequence[int]) -> None:
        """Follow links from further starting pages, wherever they shorten a distance (0-1 breadth-first search)."""
        for page in start:
            self._distance[page] = 0
        waiting = deque(start)
        while waiting:
            page = waiting.popleft()
            own = self._lists.get(page)
            for target in self._targets[self._begins[page] : self._begins[page + 1]]:
                same = own is not None and self._lists.get(target) == own
                distance = self._distance[page] + (0 if same else 1)
                if distance > self._depth or self._distance[target] <= distance:
                    continue
                self._distance[target] = distance
                # Links of cost 0 go to the front of the queue, so that a page's first distance is nearly always final.
                if same:
                    waiting.appendleft(target)
                else:
                    waiting.append(target)


def _links(connection: sqlite3.Connection, pages: int) -> tuple[array[int], array[int]]:
    """Return the index at which each page's links begin, and all link targets in page order. Links of missing pages are left out."""
    begins, targets = array("I", bytes(4 * (pages + 2))), array("I")
    sql = "select page, target from _links where page between 0 and ? and target between 0 and ? order by page"
    for page, target in connection.execute(sql, (pages, pages)):
        targets.append(target)
        begins[page + 1] = len(targets)
    # Pages without links get the end of their predecessor, so that every slice is well defined.
    for page in range(1, pages + 2):
        begins[page] = max(begins[page], begins[page - 1])
    return begins, targets
