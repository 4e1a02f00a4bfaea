"""Customs: how the pages of a kind usually put things; what differs from nearly all of its like is wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias

FEW: Final = 0.05
"""The share below which a form is not a custom among its like."""
ENOUGH: Final = 20
"""How many of a kind there have to be before they have a custom."""
KEPT: Final = 100
"""Places that are remembered of one form; more of it make it usual, or are counted alone."""
FREE: Final = 64
"""Forms beyond which a thing has no custom at all."""

RULES: Final[dict[str, object]] = {
    "rounded": False,  # exact or not
    "bare": False,  # with a unit or not
    "separated": None,  # with thousands apart or not
    "line": False,  # of one thing or not
    "link": None,  # the page that it leads to
    "leads": None,  # what the page that it leads to is about
    "title": False,  # with the name of what the page is about or not
}
"""What is looked at, and the form that alone is wrong where nearly all others have another; None: any."""

Group: TypeAlias = tuple[object, ...]
"""What is put in one way: the rule, then what it is about."""


class Odd(NamedTuple):
    """A place where something is put otherwise; `what` says how."""

    page: int
    place: int
    what: str


@dataclass
class Customs:
    """The forms of each group, over all pages. Groups of several processes are merged."""

    _counts: dict[Group, Counter[object]] = field(default_factory=dict[Group, "Counter[object]"])
    _places: dict[tuple[Group, object], list[Odd]] = field(default_factory=dict[tuple[Group, object], "list[Odd]"])

    def note(self, group: Group, form: object, odd: Callable[[], Odd]) -> None:
        """Record the form of one more member of a group; `odd` describes it if it turns out to differ from the
        others.
        """
        counts = self._counts.get(group)
        if counts is None:
            counts = self._counts[group] = Counter()
        counts[form] += 1
        if counts[form] <= KEPT and len(counts) <= FREE:
            self._places.setdefault((group, form), []).append(odd())

    def kept(self) -> Customs:
        """Return what is to be merged: of forms that are the custom here, no places."""
        places = {
            (group, form): found
            for (group, form), found in self._places.items()
            if not (_has_custom(counts := self._counts[group]) and 2 * counts[form] > counts.total())
        }
        return Customs(self._counts, places)

    def merge(self, other: Customs) -> None:
        """Take in what was noted of further pages."""
        for group, counts in other._counts.items():
            self._counts.setdefault(group, Counter()).update(counts)
        for key, places in other._places.items():
            own = self._places.setdefault(key, [])
            own += places[: KEPT - len(own)]

    def late(self) -> Iterator[Odd]:
        """Yield what differs from its like, once all pages are read."""
        for rule, only in RULES.items():
            yield from self.odd(rule, only=only)
        yield from self.opposed("flag")

    def odd(self, rule: str, *, only: object = None) -> Iterator[Odd]:
        """Yield what differs from its like under a rule; with `only`, of that form alone."""
        for group, counts in self._counts.items():
            if group[0] != rule or not _has_custom(counts):
                continue
            total = counts.total()
            for form, count in counts.items():
                if count < FEW * total and (only is None or form == only):
                    yield from self._places.get((group, form), ())

    def opposed(self, rule: str) -> Iterator[Odd]:
        """Return all but the commonest form, however few: for rules without exceptions."""
        for group, counts in self._counts.items():
            if group[0] == rule and len(counts) > 1:
                common = max(counts, key=lambda form: counts[form])
                for form in counts:
                    if form != common:
                        yield from self._places.get((group, form), ())


def _has_custom(counts: Counter[object]) -> bool:
    """True if nearly all are of one form."""
    total = counts.total()
    return total >= ENOUGH and len(counts) <= FREE and max(counts.values()) >= (1 - 2 * FEW) * total
