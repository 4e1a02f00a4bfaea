"""How pages are reached: by links from the front pages of their sites, or by a search and links from what it found."""

from __future__ import annotations

import re
import sqlite3
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

BEGINNING: Final = 16
"""Words at the beginning of a page by which it is looked for where its title does not find it."""

_TARGET = re.compile(r"\]\([^()\s]*\)")
_WORD = re.compile(r"\w+")

Search = Callable[[str], Iterable[int]]
"""The pages that a search shows first: query -> page ids."""


MOST_SEARCHED: Final = 2_000
"""Pages of which it is tried whether a search finds them; of more that no link reaches, so many, evenly spread."""


class Reach:
    """What can be reached within `depth` links of a front page, or of a page that a search for its title or first words shows.

    Turning to the next part of a list that goes over several pages is no further link. `links` counts the pages by their distance from
    a front page, `searched` those that only a search found, or links from there; `lost` are the URLs of those that nothing did.
    """

    def __init__(self, connection: sqlite3.Connection, search: Search, *, depth: int) -> None:
        self._connection, self._search, self._depth = connection, search, depth
        self._web = _Web(connection)
        home = [row[0] for row in connection.execute("select id from _pages where kind = 'home' order by id")]
        near = self._web.within(home, depth)
        self._pages = set(near)
        self._tried: set[int] = set()
        self.links = dict(sorted(Counter(near.values()).items()))
        far = [row[0] for row in connection.execute("select id from _pages order by id") if row[0] not in near]
        self.tried = far[:: max(1, -(-len(far) // MOST_SEARCHED))]
        for page in self.tried:
            self._look_for(page)
        self.searched = len(self._pages) - len(near)
        self.lost = tuple(self._url(page) for page in self.tried if page not in self._pages)

    def __contains__(self, page: int) -> bool:
        """Whether a page can be reached; a search is made where that is not known yet."""
        self._look_for(page)
        return page in self._pages

    def _look_for(self, page: int) -> None:
        if page in self._pages or page in self._tried:
            return
        self._tried.add(page)
        title, begins = self._connection.execute(
            "select title, substr(body, 1, 400) from _pages where id = ?", (page,)
        ).fetchone()
        first = " ".join(_WORD.findall(_TARGET.sub("", begins))[:BEGINNING])
        if any(page in self._search(query) for query in (title, first)):
            self._pages |= self._web.within([page], self._depth).keys()

    def _url(self, page: int) -> str:
        return self._connection.execute("select url from _pages where id = ?", (page,)).fetchone()[0]


class _Web:
    """The links of a world; `lists` tells of which list a page is a part."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._links: dict[int, list[int]] = {}
        for page, target in connection.execute("select page, target from _links order by page, target"):
            self._links.setdefault(page, []).append(target)
        parts = connection.execute("select id, url from _pages where last > 1")
        self._lists: Mapping[int, str] = {page: url.partition("?")[0] for page, url in parts}

    def within(self, start: Sequence[int], depth: int) -> dict[int, int]:
        """The pages at most so many links away, with their distance."""
        found = dict.fromkeys(start, 0)
        waiting = deque(start)
        while waiting:
            page = waiting.popleft()
            own = self._lists.get(page)
            for target in self._links.get(page, ()):
                same = own is not None and self._lists.get(target) == own
                distance = found[page] + (0 if same else 1)
                if distance > depth or found.get(target, depth + 1) <= distance:
                    continue
                found[target] = distance
                # What costs nothing is followed first, so that the first distance is mostly the last.
                if same:
                    waiting.appendleft(target)
                else:
                    waiting.append(target)
        return found
