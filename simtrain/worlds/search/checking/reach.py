"""How pages are reached: by links from the front pages of their sites, or by a search."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

Search = Callable[[str], Iterable[int]]
"""The pages that a search shows first: query -> page ids."""


@dataclass(frozen=True, slots=True)
class Reach:
    """`links` counts the pages by their distance from a front page; `searched` were found by a search for their title only."""

    links: dict[int, int]
    searched: int
    lost: tuple[str, ...]
    pages: frozenset[int]


def reach(connection: sqlite3.Connection, search: Search, *, depth: int) -> Reach:
    """What can be reached within `depth` links of a front page, or by one search for a page's title."""
    links: dict[int, list[int]] = {}
    for page, target in connection.execute("select page, target from _links order by page, target"):
        links.setdefault(page, []).append(target)
    layer = [row[0] for row in connection.execute("select id from _pages where kind = 'home' order by id")]
    found = dict.fromkeys(layer, 0)
    for distance in range(1, depth + 1):
        layer = [target for page in layer for target in links.get(page, ())]
        layer = [target for target in dict.fromkeys(layer) if target not in found]
        found.update(dict.fromkeys(layer, distance))
    searched: set[int] = set()
    lost: list[str] = []
    for page, url, title in connection.execute("select id, url, title from _pages order by id").fetchall():
        if page in found:
            continue
        if page in search(title):
            searched.add(page)
        else:
            lost.append(url)
    return Reach(dict(sorted(Counter(found.values()).items())), len(searched), tuple(lost), frozenset(found) | searched)
