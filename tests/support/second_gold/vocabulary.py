"""What the words of a question stand for in a world: types, attributes, what lies beyond references, values."""

from __future__ import annotations

import re
from functools import cache
from types import ModuleType
from typing import Any

from . import chinese, english
from .asked import Nobody, Place
from .facts import Attribute, Facts
from .patterns import fits

GRAMMARS: dict[str, ModuleType] = {"en": english, "zh": chinese}
_NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")


class Vocabulary:
    """The words of one language for one world."""

    def __init__(self, facts: Facts, language: str) -> None:
        self.facts = facts
        self.language = language
        self.grammar = GRAMMARS[language]
        self.singular: dict[str, str] = {}
        self.plural: dict[str, str] = {}
        for kind, plural in facts.plurals.items():
            one = self._word("type", kind)
            self.singular[one or kind.replace("_", " ")] = kind
            self.plural[self._word("plural", kind) or one or plural.replace("_", " ")] = kind
        self.labels: dict[str, dict[str, list[str]]] = {kind: {} for kind in facts.rows}
        for kind, attributes in facts.attributes.items():
            for attribute in attributes.values():
                if attribute.kind != "name":
                    self.labels[kind].setdefault(self._label(kind, attribute), []).append(attribute.name)
        self.places = cache(self._places)
        self.ways = cache(self._ways)

    def _word(self, what: str, subject: str) -> str | None:
        return self.facts.words.get((self.language, what, subject))

    def _label(self, kind: str, attribute: Attribute) -> str:
        given = self._word("label", f"{kind}.{attribute.name}")
        times = {"since": self.grammar.SINCE, "until": self.grammar.UNTIL}
        return given or times.get(attribute.name, attribute.label)

    def _places(self, text: str, kind: str) -> frozenset[Place]:
        """The attributes that a phrase names, seen from a row of a type."""
        found = {Place((), name) for name in self.labels[kind].get(text, [])}
        for counted in fits(self.grammar.COUNTED, text):
            names = self.labels[kind].get(counted["label"], [])
            found |= {Place((), name) for name in names if self.facts.attributes[kind][name].kind == "number"}
        for pattern in self.grammar.BEYOND:
            for parts in fits(pattern, text):
                for path, target in self.ways(parts["first"], kind):
                    found |= {
                        Place((*path, *place.path), place.attribute) for place in self.places(parts["second"], target)
                    }
        return frozenset(found)

    def _ways(self, text: str, kind: str) -> frozenset[tuple[tuple[str, ...], str]]:
        """The references that a phrase names, with the type to which each leads."""
        found: set[tuple[tuple[str, ...], str]] = set()
        for place in self.places(text, kind):
            target = self.target(kind, place)
            if target is not None:
                found.add(((*place.path, place.attribute), target))
        return frozenset(found)

    def target(self, kind: str, place: Place) -> str | None:
        """The type that a place refers to; None where it holds a value."""
        for step in place.path:
            kind = self.facts.refers(kind, step) or ""
        return self.facts.refers(kind, place.attribute)

    def attribute(self, kind: str, place: Place) -> Attribute:
        """The attribute at a place."""
        for step in place.path:
            kind = self.facts.refers(kind, step) or ""
        return self.facts.attributes[kind][place.attribute]

    def values(self, text: str, kind: str, place: Place) -> list[Any]:
        """What a text may stand for as the value of a place: an amount, a category, a name (or one that nobody has)."""
        attribute = self.attribute(kind, place)
        if attribute.target is not None:
            return [text if text in self.facts.named[attribute.target] else Nobody(attribute.target, text)]
        if attribute.kind in ("number", "quantity", "money"):
            number = self.amount(text, attribute)
            return [] if number is None else [number]
        if attribute.kind != "category":
            return []
        for step in place.path:
            kind = self.facts.refers(kind, step) or ""
        held = {row[attribute.name] for row in self.facts.rows[kind].values()} - {None}
        subject = f"{kind}.{attribute.name}="
        return [value for value in held if (self._word("value", f"{subject}{value}") or value) == text]

    def amount(self, text: str, attribute: Attribute) -> float | None:
        """A number in the unit of an attribute."""
        number = _NUMBER.match(text)
        if number is None:
            return None
        rest = text[number.end() :].strip()
        unit = "" if attribute.unit is None else self._word("unit", attribute.unit) or attribute.unit
        return float(number.group().replace(",", "")) if rest == unit else None

    def without_unit(self, text: str) -> list[tuple[str, str | None]]:
        """A heading taken apart: (label, unit)."""
        units = {self._word("unit", item.unit) or item.unit: item.unit for item in self._measured()}
        parts = [
            (found["label"], units[found["unit"]])
            for found in fits(self.grammar.HEADINGS["unit"], text)
            if found["unit"] in units
        ]
        return [*parts, (text, None)]

    def _measured(self) -> list[Any]:
        return [item for kind in self.facts.attributes.values() for item in kind.values() if item.unit is not None]
