"""Checks dates on pages. The words before a date show which event it belongs to: nearly all pages with the same words agree."""

import re
from collections import Counter
from collections.abc import Iterator
from datetime import date
from functools import cache
from typing import Final, TypeAlias

from simtrain.values.types import JsonValue
from simtrain.worlds.search.checking.blocks import Blocks, PageOfLists
from simtrain.worlds.search.checking.calling import Days, Names, dates_in
from simtrain.worlds.search.checking.facts import Thing
from simtrain.worlds.search.checking.lives import Bond, Lives, day_of

_WORDS: Final = (3, 2, 1)
"""Numbers of words before a date to look at. Sites with many wordings agree only in the last one or two."""
_ENOUGH: Final = 8
"""Fewest dates after the same words that show the meaning of these."""
_AGREE: Final = 0.75
"""The share of them that must agree; not all, since sites may be wrong."""
_WORD = re.compile(r"[^\W_]+")

Context: TypeAlias = tuple[object, ...]
_Reading: TypeAlias = tuple[int, int, Thing, Days, str]


class Times:
    """Collects the dates of all pages with the words before them."""

    def __init__(self, lives: Lives, names: Names) -> None:
        self._lives = lives
        self._names = names
        self._limits = cache(self._limits_of)
        self._read: dict[Context, list[_Reading]] = {}
        self._dates: dict[str, list[str]] = {}
        for (kind, name), (form, _) in lives.attributes.items():
            if form == "date":
                self._dates.setdefault(kind, []).append(name)
        self.count = 0

    def read(self, page: PageOfLists, like: tuple[int, str], blocks: Blocks) -> None:
        """Note the dates on one page. They may belong to its subject, to the first thing in the line, or to a row that links both."""
        for place, line in blocks.lines:
            dates = dates_in(line)
            if not dates:
                continue
            named = self._names.found(line)
            things: list[tuple[str, Thing]] = [] if page.about is None else [("page", page.about)]
            if named:
                things.append(("line", named[0][2]))
                things += (
                    [] if page.about is None else [("tie", row) for row in self._lives.between(page.about, named[0][2])]
                )
            for start, end, days in dates:
                for where, thing in things:
                    if thing[0] not in self._dates:
                        continue
                    before = _before(line, start, named)
                    reading = (page.id, place + start, thing, days, line[start:end])
                    for words in _WORDS:
                        context = (*like, where, thing[0], before[-words:], words)
                        self._read.setdefault(context, []).append(reading)

    def late(self) -> Iterator[tuple[int, int, str]]:
        """Yield impossible dates, which break a rule about the rows that their row refers to or that refer to it."""
        for (page, place), (_, name, thing, days, words) in self._meant().items():
            for what in self._against(thing[0], name, thing[1], days):
                yield page, place, f"{name} of {thing[0]} {thing[1]} is told as {words!r}: {what}"

    def _meant(self) -> dict[tuple[int, int], tuple[float, str, Thing, Days, str]]:
        """Return, by position of a date, the event that it most likely belongs to."""
        best: dict[tuple[int, int], tuple[float, str, Thing, Days, str]] = {}
        for context, readings in self._read.items():
            share, name = self._meaning(str(context[3]), readings)
            if share < _AGREE:
                continue
            for page, place, thing, days, words in readings:
                known = best.get((page, place))
                # The same date is read after one, two and three words, of which the clearest context decides.
                if known is None or known[0] < share:
                    best[page, place] = (share, name, thing, days, words)
        self.count = len(best)
        return best

    def _meaning(self, kind: str, readings: list[_Reading]) -> tuple[float, str]:
        """Return the share of dates that agree with the best attribute, and that attribute."""
        if len(readings) < _ENOUGH:
            return 0.0, ""
        votes: Counter[str] = Counter()
        for name in self._dates[kind]:
            column = self._lives.column(kind, name)
            for _, _, thing, days, _ in readings:
                value = column.get(thing[1])
                if value is not None and days[0] <= _day(value) <= days[1]:
                    votes[name] += 1
        name, count = max(votes.items(), key=lambda vote: vote[1], default=("", 0))
        return count / len(readings), name

    def _against(self, kind: str, name: str, row: int, days: Days) -> Iterator[str]:
        """Yield the rules that a date breaks, about rows that its row refers to and rows that refer to it."""
        for bond in self._lives.bonds:
            if bond.kind == kind and bond.attribute == name:
                other = self._lives.end_of(kind, row, bond.path)
                if other is None:
                    continue
                limit = _day(other) + round(bond.days)
                if days[1] < limit if bond.after else days[0] > limit:
                    yield f"it breaks {bond.name!r}, and {'.'.join(bond.path)} is {other}"
            if bond.path[-1] == name and self._target(bond) == kind:
                limit = self._limits(bond).get(row)
                if limit is not None and (days[0] > limit if bond.after else days[1] < limit):
                    yield f"it breaks {bond.name!r}, and there is one of {date.fromordinal(limit)}"

    def _target(self, bond: Bond) -> str:
        kind = bond.kind
        for step in bond.path[:-1]:
            kind = self._lives.attributes.get((kind, step), ("", ""))[1] or ""
        return kind

    def _limits_of(self, bond: Bond) -> dict[int, int]:
        """Return, for each row that bounds others by a rule, the tightest bound in turn."""
        found: dict[int, int] = {}
        for row, value in self._lives.column(bond.kind, bond.attribute).items():
            owner = self._lives.end_of(bond.kind, row, bond.path[:-1])
            if owner is None or not isinstance(value, str):
                continue
            day = _day(value) - round(bond.days)
            known = found.get(owner, day)
            found[owner] = min(known, day) if bond.after else max(known, day)
        return found


def _day(value: JsonValue) -> int:
    return day_of(str(value))


def _before(line: str, start: int, named: list[tuple[int, int, Thing]]) -> tuple[str, ...]:
    """Return the last words before a position, with each name as one word."""
    text = line[:start]
    # From the back, so that earlier positions stay true.
    for begin, end, _ in reversed(named):
        if end <= start:
            text = f"{text[:begin]}N{text[end:]}"
    text = text[-80:]
    return tuple(word.casefold() for word in _WORD.findall(text)[-max(_WORDS) :])
