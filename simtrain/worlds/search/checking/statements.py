"""Whether the words of a statement say what the database (or the claim behind them) says, under a rounding that its like share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from simtrain.types import JsonValue
from simtrain.worlds.search.checking.facts import Attribute, Facts
from simtrain.worlds.search.checking.reading import read_amount, read_coordinates, read_date

FEW: Final = 0.05
"""The share of rounded numbers below which rounding is no custom of a kind of page, but a wrong number."""
ENOUGH: Final = 20

Group = tuple[int, int, str, str]
"""Attribute, site, kind of page, and form of the number: statements that are made in one way."""


@dataclass(frozen=True, slots=True)
class Stated:
    """One statement with the words that stand there, and where."""

    page: int
    site: int
    kind: str
    attribute: Attribute
    entity: int
    claim: int | None
    words: str


@dataclass
class Verifier:
    """Compares statements one by one; `late` holds what only all of them together show."""

    facts: Facts
    units: Mapping[str, tuple[str, float]]
    _groups: Counter[Group] = field(default_factory=Counter[Group])
    _rounded: dict[Group, list[Stated]] = field(default_factory=dict[Group, list[Stated]])
    _flags: dict[tuple[int, str], dict[JsonValue, list[Stated]]] = field(
        default_factory=dict[tuple[int, str], dict[JsonValue, list[Stated]]]
    )

    def problem(self, stated: Stated) -> str | None:
        """What is wrong with a statement; None where it is right as far as it alone can show."""
        if not stated.words.strip():
            return "a statement without words"
        try:
            value = self._value(stated)
        except KeyError:
            return "it states a fact that is not there"
        except _WrongClaimError as error:
            return str(error)
        if self._says(stated, value):
            return None
        due = self._named(stated.attribute, value)
        return f"says {stated.words!r}, where the {'claim' if stated.claim else 'database'} has {due!r}"

    def _named(self, attribute: Attribute, value: JsonValue) -> JsonValue:
        """A value as people read it: of a reference, the name."""
        if attribute.kind != "ref" or value is None:
            return value
        return self.facts.names_of(str(attribute.target), int(value))[0]

    def late(self) -> list[tuple[Stated, str]]:
        """The statements that differ from their like: a rounded number among exact ones, a flag in the words of its opposite."""
        found: list[tuple[Stated, str]] = []
        for group, rounded in self._rounded.items():
            if self._groups[group] >= ENOUGH and len(rounded) < FEW * self._groups[group]:
                found += [(stated, f"says {stated.words!r}, rounded where its like are exact") for stated in rounded]
        for values in self._flags.values():
            common = max(values.values(), key=len)
            for statements in values.values():
                if statements is not common:
                    found += [
                        (one, f"says {one.words!r}, which elsewhere stands for the opposite") for one in statements
                    ]
        return found

    def _value(self, stated: Stated) -> JsonValue:
        if stated.claim is None:
            return self.facts.value(stated.attribute, stated.entity)
        claim = self.facts.claims.get(stated.claim)
        if claim is None:
            raise _WrongClaimError("it states a claim that is not recorded")
        if (claim.attribute, claim.entity, claim.site) != (stated.attribute.id, stated.entity, stated.site):
            raise _WrongClaimError("it states a claim of another fact or site")
        return claim.value

    def _says(self, stated: Stated, value: JsonValue) -> bool:
        attribute, words = stated.attribute, stated.words
        if value is None:
            # What stands for a missing fact is prose, and must not look like one.
            return not any(letter.isdigit() for letter in words)
        match attribute.kind:
            case "name":
                return _among(words, self.facts.names_of(attribute.type, stated.entity))
            case "ref":
                return _among(words, self.facts.names_of(str(attribute.target), int(value)))
            case "date":
                return _same_date(words, str(value))
            case "number" | "quantity" | "money":
                return self._same_number(stated, float(value))
            case "coordinates":
                return _same_place(words, str(value))
            case "flag":
                self._flags.setdefault((attribute.id, words.casefold()), {}).setdefault(bool(value), []).append(stated)
                return True
            case _:
                return words.casefold() == str(value).casefold()

    def _same_number(self, stated: Stated, value: float) -> bool:
        shown = read_amount(stated.words)
        if shown is None:
            return False
        factor = self._factor(stated.attribute, shown.unit)
        if factor is None:
            return False
        off = abs(shown.value * factor - value)
        slack = 1e-9 * max(1.0, abs(value))
        group = (stated.attribute.id, stated.site, stated.kind, shown.unit)
        self._groups[group] += 1
        if off <= shown.step * factor / 2 + slack:
            return True
        if off > shown.rough * factor / 2 + slack:
            return False
        self._rounded.setdefault(group, []).append(stated)
        return True

    def _factor(self, attribute: Attribute, unit: str) -> float | None:
        """By what a number in that unit is multiplied to be in the attribute's own; None where it is another kind of unit."""
        if not unit or unit == attribute.unit:
            return 1.0
        if attribute.unit is None or attribute.kind == "money":
            return None
        shown, own = self.units.get(unit), self.units.get(attribute.unit)
        if shown is None or own is None or shown[0] != own[0]:
            return None
        return shown[1] / own[1]


class _WrongClaimError(Exception):
    """A statement's claim is another one's."""


def _among(words: str, names: tuple[str, ...]) -> bool:
    return words.casefold() in (name.casefold() for name in names)


def _same_date(words: str, value: str) -> bool:
    found = read_date(words)
    if found is None:
        return False
    year, month, day = (int(part) for part in value[:10].split("-"))
    return found[0] == year and found[1] in (None, month) and found[2] in (None, day)


def _same_place(words: str, value: str) -> bool:
    shown, own = read_coordinates(words), read_coordinates(value)
    return (
        shown is not None
        and own is not None
        and all(abs(a - b) <= 0.5 / 3600 + 1e-9 for a, b in zip(shown, own, strict=True))
    )
