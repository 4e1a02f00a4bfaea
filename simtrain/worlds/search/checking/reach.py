"""How pages are reached: by links from the front pages of their sites, or by a search and links from what it found."""

from __future__ import annotations

import re
import sqlite3
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

BEGINNING: Final = 16
"""Words at the beginning of a page by which it is looked for where its title does not find it."""

_TARGET = re.compile(r"\]\([^()\s]*\)")
_WORD = re.compile(r"\w+")

Search = Callable[[str], Iterable[int]]
"""The pages that a search shows first: query -> page ids."""


@dataclass(frozen=True, slots=True)
class Reach:
    """`links` counts the pages by their distance from a front page; `searched` were found by a search only, or from there."""

    links: dict[int, int]
    searched: int
    lost: tuple[str, ...]
    pages: frozenset[int]


def reach(connection: sqlite3.Connection, search: Search, *, depth: int) -> Reach:
    """What can be reached within `depth` links of a front page, or of a page that a search for its title or first words shows.

    Turning to the next part of a list that goes over several pages is no further link.
    """
    web = _Web(connection)
    home = [row[0] for row in connection.execute("select id from _pages where kind = 'home' order by id")]
    found = web.within(home, depth)
    pages = set(found)
    lost: list[tuple[int, str]] = []
    rows = connection.execute("select id, url, title, substr(body, 1, 400) from _pages order by id").fetchall()
    for page, url, title, begins in rows:
        if page in pages:
            continue
        if page in search(title) or page in search(" ".join(_WORD.findall(_TARGET.sub("", begins))[:BEGINNING])):
            pages |= web.within([page], depth).keys()
        else:
            lost.append((page, url))
    left = tuple(url for page, url in lost if page not in pages)
    return Reach(dict(sorted(Counter(found.values()).items())), len(pages) - len(found), left, frozenset(pages))


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
