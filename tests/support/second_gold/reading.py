"""Reading a question: from its text to what it asks for, in every way in which it can be read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any

from .asked import Asked, Condition, Heading, Nobody, Place, Unreadable
from .conditions import Conditions
from .facts import Facts
from .patterns import fits
from .vocabulary import Vocabulary

_DAY = re.compile(r"\d{4}-\d\d-\d\d")


class Reader:
    """Reads the questions of one language about one world."""

    def __init__(self, facts: Facts, language: str) -> None:
        self.facts = facts
        self.words = Vocabulary(facts, language)
        self.grammar = self.words.grammar
        self._conditions: dict[str, Conditions] = {}

    def read(self, text: str) -> set[Asked]:
        """Every sense of a text. Raises Unreadable where it has none."""
        rest, today = self._without_remarks(text)
        conditions = self._conditions.setdefault(today, Conditions(self.words, today))
        found = set(_Asking(self.words, conditions, today).senses(rest))
        # A name that nobody has is the last thing to be made of words that may mean something else.
        known = {asked for asked in found if not any(nobodies(asked.conditions))}
        if not found:
            raise Unreadable(rest)
        return known or found

    def _without_remarks(self, text: str) -> tuple[str, str]:
        """The text without the remarks at its end, and the day that they call today."""
        today, rest = "", text
        while (found := ending(self.grammar.REMARKS, rest)) is not None:
            rest, gaps = found
            today = gaps.get("today", today)
        if not _DAY.fullmatch(today):
            raise Unreadable(f"it does not say which day it is: {rest}")
        return rest, today


class _Asking:
    """Reads what is asked for on one day."""

    def __init__(self, words: Vocabulary, conditions: Conditions, today: str) -> None:
        self.words = words
        self.facts = words.facts
        self.grammar = words.grammar
        self.conditions = conditions
        self.today = today
        self.meant: dict[str, str] = {}
        """What headings are said to stand for."""

    def senses(self, text: str) -> Iterator[Asked]:
        """Every sense of a text without remarks."""
        found = ending(self.grammar.MEANINGS, text)
        if found is not None:
            text, gaps = found
            for part in gaps["meanings"].split(self.grammar.LISTED):
                self.meant |= {meant["heading"]: meant["term"] for meant in fits(self.grammar.MEANT, part)}
        for kind, asks in self.grammar.ASKS.items():
            tables = self.grammar.NAMES_ALONE if kind == "single" else self.grammar.TABLES
            for ask, table in product(asks, tables):
                for gaps in fits(f"{ask}{self.grammar.BETWEEN_SENTENCES}{table}", text):
                    yield from self._asked(kind, gaps)

    def _asked(self, kind: str, gaps: dict[str, str]) -> Iterator[Asked]:
        if kind == "single":
            thing = self.words.singular.get(gaps["thing"])
            if thing is not None:
                for conditions in self.conditions.all(gaps["conditions"], thing):
                    yield Asked(kind, thing, self.today, conditions, (Heading("", Place((), "name")),))
            return
        for thing, conditions, ever in self._things(gaps["things"]):
            for filled in self._filled(kind, gaps, thing):
                asked = Asked(kind, thing, self.today, conditions, ever=ever, **filled)
                for headings in self._columns(gaps["columns"].split(self.grammar.COLUMNS_LISTED), asked):
                    yield replace(asked, headings=headings)

    def _things(self, text: str) -> Iterator[tuple[str, tuple[Condition, ...], bool]]:
        """The type of the rows asked for, their conditions, and whether those that ended are wanted too."""
        for gaps in [*fits(self.grammar.EVER, text), {"things": text}]:
            for pattern in self.grammar.THINGS:
                for parts in fits(pattern, gaps["things"]):
                    thing = self.words.plural.get(parts["thing"])
                    if thing is None:
                        continue
                    told = self.conditions.all(parts["conditions"], thing) if "conditions" in parts else [()]
                    for conditions in told:
                        yield thing, conditions, gaps["things"] != text

    def _filled(self, kind: str, gaps: dict[str, str], thing: str) -> Iterator[dict[str, Any]]:
        """What else a question of a kind says."""
        if kind == "lookup":
            yield {"names": tuple(gaps["names"].split(self.grammar.LISTED))}
            return
        if kind == "dispute":
            sites = tuple(self.facts.sites.get(gaps[name], 0) for name in ("first", "second"))
            if all(sites):
                yield from ({"term": term, "sites": sites} for term in self.words.places(gaps["term"], thing))
            return
        choices: dict[str, list[Any]] = {}
        if "group" in gaps:
            groups = self.words.places(gaps["group"], thing)
            choices["group"] = [place for place in groups if self.words.target(thing, place)]
        if "term" in gaps:
            choices["term"] = list(self.words.places(gaps["term"], thing))
            choices["end"] = [self.grammar.ENDS[gaps["end"]]] if gaps["end"] in self.grammar.ENDS else []
        if "count" in gaps:
            choices["count"] = [int(gaps["count"])] if gaps["count"].isdecimal() else []
        for picked in product(*choices.values()):
            yield dict(zip(choices, picked, strict=True))

    def _columns(self, parts: list[str], asked: Asked) -> Iterator[tuple[Heading, ...]]:
        """Every way to read the list of columns."""
        if not parts:
            yield ()
            return
        for length in range(1, len(parts) + 1):
            first = self.grammar.COLUMNS_LISTED.join(parts[:length])
            headings = self._heading(first, asked)
            if headings:
                for rest in self._columns(parts[length:], asked):
                    yield from ((heading, *rest) for heading in headings)

    def _heading(self, text: str, asked: Asked) -> set[Heading]:
        """What a heading may stand for."""
        found: set[Heading] = set()
        for label, unit in self.words.without_unit(text):
            label = self.meant.get(text, label)
            for spelt in {label, label[:1].lower() + label[1:]}:
                if unit is None and self.words.singular.get(spelt) == asked.thing and self._named(asked.thing):
                    found.add(Heading(text, Place((), "name")))
                found |= {Heading(text, place) for place in self._of_unit(spelt, asked.thing, unit)}
            if asked.kind == "groups":
                found |= self._figures(text, label, unit, asked)
            if asked.kind == "dispute":
                found |= self._told(text, label, unit, asked)
        if asked.kind == "groups":
            # Each cell of a group is the same for all its rows, or a figure over them.
            found = {heading for heading in found if heading.figure or _fixed(heading.place, asked.group)}
        return found

    def _named(self, thing: str) -> bool:
        return thing not in self.facts.relations

    def _of_unit(self, label: str, thing: str, unit: str | None) -> Iterator[Place]:
        for place in self.words.places(label, thing):
            if self.words.attribute(thing, place).unit == unit:
                yield place

    def _figures(self, text: str, label: str, unit: str | None, asked: Asked) -> set[Heading]:
        found: set[Heading] = set()
        for gaps in fits(self.grammar.HEADINGS["count"], text):
            if self.words.plural.get(gaps["things"]) == asked.thing:
                found.add(Heading(text, None, "count"))
        for figure in ("sum", "mean"):
            for gaps in fits(self.grammar.HEADINGS[figure], label[:1].upper() + label[1:]):
                for place in self._of_unit(gaps["label"], asked.thing, unit):
                    found.add(Heading(text, place, figure))
        return found

    def _told(self, text: str, label: str, unit: str | None, asked: Asked) -> set[Heading]:
        """What a heading stands for that says what a site says."""
        found: set[Heading] = set()
        for pattern in self.grammar.HEADINGS["site"]:
            for gaps in fits(pattern, label):
                site = self.facts.sites.get(gaps["site"])
                for spelt in {gaps["label"], gaps["label"][:1].lower() + gaps["label"][1:]}:
                    if site in (asked.sites or ()) and asked.term in self._of_unit(spelt, asked.thing, unit):
                        found.add(Heading(text, asked.term, site=site))
        return found


def _fixed(place: Place | None, group: Place | None) -> bool:
    """True if a place has one value for a whole group: it is the group's name, or lies beyond it."""
    if place is None or group is None:
        return False
    way = (*group.path, group.attribute)
    return place == group or place.path[: len(way)] == way


def ending(patterns: list[str], text: str) -> tuple[str, dict[str, str]] | None:
    """A text without the sentence at its end, and what stands in that sentence's gaps; None where it is none of these."""
    for pattern in patterns:
        place = text.rfind(pattern.partition("{")[0])
        for gaps in fits(pattern, text[place:]) if place > 0 else ():
            return text[:place].rstrip(), gaps
    return None


def nobodies(conditions: tuple[Condition, ...]) -> Iterator[Nobody]:
    """The names in conditions that nobody has."""
    for condition in conditions:
        for value in getattr(condition, "values", ()):
            if isinstance(value, Nobody):
                yield value
        inner = [getattr(condition, "clause", None), *getattr(condition, "conditions", ())]
        yield from nobodies(tuple(one for one in inner if one is not None))
