"""What a site shows of itself around its pages: the lists that its front page leads to, and where to begin without one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Final

from simtrain.worlds.search.engine.web import Site, Web

MOST_LISTS: Final = 7
MOST_BEGINNINGS: Final = 20

_LISTS: Final = (
    "select p.title, p.url from _pages h join _links l on l.page = h.id join _pages p on p.id = l.target"
    " where h.url = ? and p.site = ? and p.members is not null and coalesce(p.number, 1) = 1"
    " order by p.id limit ?"
)
# By address, which is indexed: a large world is not read through for it.
_BEGINNINGS: Final = "select title, url from _pages where url > ? and url < ? order by url limit ?"

Entry = tuple[str, str]
"""The title and the whole URL of a page."""


def guide(web: Web) -> Callable[[Site], Sequence[Entry]]:
    """Return what tells the lists to which the front page of a site leads: as many as fit beside its name."""

    @lru_cache(maxsize=64)
    def lists(site: Site) -> Sequence[Entry]:
        return web.run(_LISTS, (f"https://{site.domain}/", site.id, MOST_LISTS))

    return lists


def beginnings(web: Web, site: Site) -> Sequence[Entry]:
    """Return some pages of a site that has no front page."""
    first = f"https://{site.domain}/"
    return web.run(_BEGINNINGS, (first, f"{first}\U0010ffff", MOST_BEGINNINGS))
