"""Customs: the usual form of things on the pages of a kind. What differs from nearly all its peers is wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias

FEW: Final = 0.05
"""A form with a smaller share than this is an exception."""
ENOUGH: Final = 20
"""Fewest members of a group that can have a custom."""
KEPT: Final = 100
"""Most places remembered for one form. A form with more is usual, or only counted."""
FREE: Final = 64
"""A group with more forms than this has no custom."""

RULES: Final[dict[str, object]] = {
    "rounded": False,  # exact or not
    "bare": False,  # with a unit or not
    "separated": None,  # with thousands separators or not
    "line": False,  # about the same thing or not
    "link": None,  # the target page
    "leads": None,  # the subject of the target page
    "title": False,  # with the name of the page's subject or not
}
"""Rule -> the only form that is wrong as an exception; None: any form is."""

Group: TypeAlias = tuple[object, ...]
"""Things that should have the same form: the rule, then what it is about."""


class Odd(NamedTuple):
    """A place that differs from its peers; `what` says how."""

    page: int
    place: int
    what: str


@dataclass
class Customs:
    """The forms in each group, over all pages. Those of several processes are merged."""

    _counts: dict[Group, Counter[object]] = field(default_factory=dict[Group, "Counter[object]"])
    _places: dict[tuple[Group, object], list[Odd]] = field(default_factory=dict[tuple[Group, object], "list[Odd]"])

    def note(self, group: Group, form: object, odd: Callable[[], Odd]) -> None:
        """Record the form of one more member of a group; `odd` describes it, if it turns out to be an exception."""
        counts = self._counts.get(group)
        if counts is None:
            counts = self._counts[group] = Counter()
        counts[form] += 1
        # Described lazily: nearly all members follow the custom and never need a description.
        if counts[form] <= KEPT and len(counts) <= FREE:
            self._places.setdefault((group, form), []).append(odd())

    def kept(self) -> Customs:
        """Return what is to be merged, without the places of usual forms, which are most of the data."""
        places = {
            (group, form): found
            for (group, form), found in self._places.items()
            if not (_has_custom(counts := self._counts[group]) and 2 * counts[form] > counts.total())
        }
        return Customs(self._counts, places)

    def merge(self, other: Customs) -> None:
        """Add what was noted about further pages."""
        for group, counts in other._counts.items():
            self._counts.setdefault(group, Counter()).update(counts)
        for key, places in other._places.items():
            own = self._places.setdefault(key, [])
            own += places[: KEPT - len(own)]

    def late(self) -> Iterator[Odd]:
        """Yield all exceptions, once all pages are read."""
        for rule, only in RULES.items():
            yield from self.odd(rule, only=only)
        yield from self.opposed("flag")

    def odd(self, rule: str, *, only: object = None) -> Iterator[Odd]:
        """Yield the exceptions to a rule; with `only`, those of that form."""
        for group, counts in self._counts.items():
            if group[0] != rule or not _has_custom(counts):
                continue
            total = counts.total()
            for form, count in counts.items():
                if count < FEW * total and (only is None or form == only):
                    yield from self._places.get((group, form), ())

    def opposed(self, rule: str) -> Iterator[Odd]:
        """Yield all but the commonest form, however frequent: for rules without exceptions."""
        for group, counts in self._counts.items():
            if group[0] == rule and len(counts) > 1:
                common = max(counts, key=lambda form: counts[form])
                for form in counts:
                    if form != common:
                        yield from self._places.get((group, form), ())


def _has_custom(counts: Counter[object]) -> bool:
    """Return True if nearly all members have the same form."""
    total = counts.total()
    return total >= ENOUGH and len(counts) <= FREE and max(counts.values()) >= (1 - 2 * FEW) * total
