"""Reading conditions: what a relative clause says of a thing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from .asked import Condition, During, Holds, Only, Place, Tie, Versus
from .patterns import fits
from .vocabulary import Vocabulary

_YEAR = re.compile(r"\d{4}")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_YEARS = {"from_year": ("first",), "to_year": ("last",), "years": ("first", "last"), "year": ("first",), "decade": ("first",)}  # fmt: skip
_AMOUNTS = {"at_least": ("value",), "at_most": ("value",), "range": ("low", "high")}


class Conditions:
    """Reads conditions in one language."""

    def __init__(self, words: Vocabulary, today: str) -> None:
        self.words = words
        self.today = today
        self.all = cache(self._all)

    def _all(self, text: str, kind: str) -> frozenset[tuple[Condition, ...]]:
        """Every way to read a text as a list of conditions on a thing."""
        found = {(one,) for one in self.one(text, kind)}
        for separator in self.words.grammar.SEPARATORS:
            place = text.find(separator)
            while place > 0:
                # What a thing further away is told by comes last: it takes all that follows.
                for head in [one for one in self.one(text[:place], kind) if not isinstance(one, Only)]:
                    found |= {(head, *rest) for rest in self.all(text[place + len(separator) :], kind)}
                place = text.find(separator, place + 1)
        return frozenset(found)

    def one(self, text: str, kind: str) -> set[Condition]:
        """Every way to read a text as one condition."""
        return {
            condition
            for how, patterns in self.words.grammar.CONDITIONS.items()
            for pattern in patterns
            for gaps in fits(pattern, text)
            for condition in self._read(how, gaps, kind)
        }

    def _read(self, how: str, gaps: dict[str, str], kind: str) -> Iterator[Condition]:
        if how in ("now", "ended", "on"):
            lasting = "until" in self.words.facts.attributes[kind]
            if lasting and _DAY.fullmatch(gaps["day"]) and (how == "on" or gaps["day"] == self.today):
                yield During(how, gaps["day"])
        elif how.startswith(("tied", "untied")):
            yield from self._tie(how, gaps, kind)
        elif how in ("has", "lacks"):
            yield from self._flag(how, gaps, kind)
        elif how == "only":
            yield from self._only(gaps, kind)
        else:
            for place in self.words.places(gaps["term"], kind):
                yield from self._compared(how, gaps, kind, place)

    def _compared(self, how: str, gaps: dict[str, str], kind: str, place: Place) -> Iterator[Condition]:
        attribute = self.words.attribute(kind, place)
        if how in ("more", "less"):
            for other in self.words.places(gaps["than"], kind):
                beyond = self.words.attribute(kind, other)
                if (attribute.kind == "date") == (beyond.kind == "date") and attribute.unit == beyond.unit:
                    yield Versus(place, how, other)
        elif how in _YEARS:
            years = [gaps[name] for name in _YEARS[how]]
            if attribute.kind == "date" and all(_YEAR.fullmatch(year) for year in years):
                yield Holds(place, how, tuple(map(int, years)))
        elif how in _AMOUNTS:
            numbers = [self.words.amount(gaps[name], attribute) for name in _AMOUNTS[how]]
            if attribute.kind in ("number", "quantity", "money") and None not in numbers:
                yield Holds(place, how, tuple(numbers))
        else:
            for value in self.words.values(gaps["value"], kind, place):
                others = self.words.values(gaps["other"], kind, place) if how == "either" else [None]
                for other in others:
                    yield Holds(place, how, (value,) if other is None else (value, other))

    def _flag(self, how: str, gaps: dict[str, str], kind: str) -> Iterator[Condition]:
        ways = self.words.ways(gaps["term"], kind) if "term" in gaps else {((), kind)}
        for path, target in ways:
            for name in self.words.labels[target].get(gaps["noun"], []):
                if self.words.facts.attributes[target][name].kind == "flag":
                    yield Holds(Place(path, name), how, ())

    def _tie(self, how: str, gaps: dict[str, str], kind: str) -> Iterator[Condition]:
        relation = self.words.singular.get(gaps["relation"], "")
        if relation not in self.words.facts.relations:
            return
        lasting = "until" in self.words.facts.attributes[relation]
        if lasting == how.endswith("_timeless"):
            return
        present, now = how.startswith("tied"), how.endswith("_now")
        if "clause" not in gaps:
            yield Tie(relation, present, now)
            return
        for clause in self.one(gaps["clause"], relation):
            yield Tie(relation, present, now, clause)

    def _only(self, gaps: dict[str, str], kind: str) -> Iterator[Condition]:
        for path, target in self.words.ways(gaps["term"], kind):
            if self.words.singular.get(gaps["thing"]) == target:
                for conditions in self.all(gaps["conditions"], target):
                    yield Only(path, target, conditions)
