"""Finds the names of a world and the dates in a text."""

import re
from calendar import monthrange
from datetime import date
from functools import lru_cache

from simtrain.worlds.search.checking.facts import FactTables, Thing
from simtrain.worlds.search.checking.reading import MONTHS, read_date

Days = tuple[int, int]
"""The first and last day that a written date may mean."""

Called = tuple[int, int, Thing]
"""Start and end of a name in a text, and the thing it names."""

_REMEMBERED = 1 << 12
_WORD = re.compile(r"[^\W_]+")
_MONTH = "|".join(sorted(MONTHS, key=len, reverse=True))
_YEAR = re.compile(r"\d{4}")
"""Every date has a year. A text without one needs no slower search."""
_BEGIN = "".join(sorted({month[0] for month in MONTHS}))
_DATE = re.compile(
    rf"(?=[\d{_BEGIN}])(?:\b\d{{4}}-\d\d-\d\d\b|\b\d{{1,2}}\.\d{{1,2}}\.\d{{4}}\b|\b\d{{1,2}} (?:{_MONTH})\.? \d{{4}}\b"
    rf"|\b(?:{_MONTH})\.? \d{{1,2}},? \d{{4}}\b|\b(?:{_MONTH})\.? \d{{4}}\b|(?<![\d.,-])\d{{4}}(?!\d|[.,-]\d))",
    re.IGNORECASE,
)


class Names:
    """All names and aliases of a world, by first word."""

    def __init__(self, facts: FactTables) -> None:
        self._things: dict[str, Thing] = {}
        self._sizes: dict[str, list[int]] = {}
        # Cached, since the same line is read as an item of a list and as a line of its page.
        self.found = lru_cache(_REMEMBERED)(self._found)
        for kind in facts.entities:
            for entity, names in facts.all_names(kind).items():
                for name in names:
                    self._add(name, (kind, entity))

    def _add(self, name: str, thing: Thing) -> None:
        self._things.setdefault(name, thing)
        words = _WORD.findall(name)
        sizes = self._sizes.setdefault(words[0], [])
        if len(words) not in sizes:
            sizes.append(len(words))
            sizes.sort(reverse=True)

    def _found(self, text: str) -> list[Called]:
        """Return the names in a text, in order; of overlapping names the longest counts."""
        found: list[Called] = []
        words = list(_WORD.finditer(text))
        free = 0
        for at, word in enumerate(words):
            sizes = self._sizes.get(word[0])
            # Longest first, and words inside a name found are not looked at again.
            if sizes is None or at < free:
                continue
            for size in sizes:
                if at + size > len(words):
                    continue
                start, end = word.start(), words[at + size - 1].end()
                thing = self._things.get(text[start:end])
                if thing is not None:
                    found.append((start, end, thing))
                    free = at + size
                    break
        return found


def dates_in(text: str) -> list[tuple[int, int, Days]]:
    """Return the dates in a text with their positions; a month or a year means all of its days."""
    found: list[tuple[int, int, Days]] = []
    if _YEAR.search(text) is None:
        return found
    for match in _DATE.finditer(text):
        read = read_date(match[0])
        if read is None:
            continue
        year, month, day = read
        try:
            first = date(year, month or 1, day or 1)
            last = date(year, month or 12, day or monthrange(year, month or 12)[1])
        except ValueError:
            continue
        found.append((match.start(), match.end(), (first.toordinal(), last.toordinal())))
    return found
