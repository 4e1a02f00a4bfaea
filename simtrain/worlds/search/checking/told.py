"""A page as its lists and dates are judged."""

from __future__ import annotations

from dataclasses import dataclass

from simtrain.worlds.search.checking.facts import Thing


@dataclass(frozen=True, slots=True)
class PageOfLists:
    """A page of which lists are read."""

    id: int
    url: str
    about: Thing | None
    day: int
    """Its date: it can know of nothing later."""
    known: int
    """The date of the newest page of its site."""
