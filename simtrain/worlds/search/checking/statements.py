"""Checks that the words of a statement agree with the database, or with the claim behind them, and are written like their peers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from simtrain.values.types import JsonValue
from simtrain.worlds.search.checking.customs import Customs, Group, Odd
from simtrain.worlds.search.checking.facts import FactTables, FileAttribute
from simtrain.worlds.search.checking.reading import read_amount, read_coordinates, read_date

NUMERIC: Final = ("number", "quantity", "money")
_THOUSAND: Final = 1000


@dataclass(frozen=True, slots=True)
class Stated:
    """One statement with its words: `kind` is the page's kind, `place` the position in its body."""

    page: int
    place: int
    site: int
    kind: str
    attribute: FileAttribute
    entity: int
    claim: int | None
    words: str


@dataclass
class StatementVerifier:
    """Checks statements one by one. Notes as customs what only all of them together can show."""

    facts: FactTables
    units: Mapping[str, tuple[str, float]]
    customs: Customs

    def problem(self, stated: Stated) -> str | None:
        """Return the problem with a statement; None if it shows none by itself."""
        if not stated.words.strip():
            return "a statement without words"
        try:
            value = self.value(stated)
            if self._says(stated, value):
                return None
            due = self._named(stated.attribute, value)
        except KeyError:
            return "it states a fact that is not there"
        except _WrongClaimError as error:
            return str(error)
        except (ValueError, TypeError):
            return "it states a fact that cannot be read"
        return f"says {stated.words!r}, where the {'claim' if stated.claim else 'database'} has {due!r}"

    def is_prose(self, stated: Stated) -> bool:
        """Return True if the words are prose of the author, as for a missing fact or a flag, and are to be checked as such."""
        return stated.attribute.kind == "flag" or self.true_value(stated) is None

    def _named(self, attribute: FileAttribute, value: JsonValue) -> JsonValue:
        """Return a value for display: for a ref, the name."""
        if attribute.kind != "ref" or value is None:
            return value
        return self.facts.names_of(str(attribute.target), int(value))[0]

    def true_value(self, stated: Stated) -> JsonValue:
        """Return the value that the words must give; None if there is none."""
        try:
            return self.value(stated)
        except (KeyError, _WrongClaimError):
            return None

    def value(self, stated: Stated) -> JsonValue:
        """Return the value that the words must give. Raises KeyError for a missing fact."""
        if stated.claim is None:
            return self.facts.value(stated.attribute, stated.entity)
        claim = self.facts.claim(stated.claim)
        if claim is None:
            raise _WrongClaimError("it states a claim that is not recorded")
        if (claim.attribute, claim.entity, claim.site) != (stated.attribute.id, stated.entity, stated.site):
            raise _WrongClaimError("it states a claim of another fact or site")
        return claim.value

    def _says(self, stated: Stated, value: JsonValue) -> bool:
        attribute, words = stated.attribute, stated.words
        if value is None:
            # The words for a missing fact are prose, and must not look like one.
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
            # The meaning of these words is unknown: they just must not stand for true here and for false there.
            case "flag":
                self._note(
                    stated, ("flag", attribute.id, words.casefold()), bool(value), "which elsewhere is the opposite"
                )
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
        # Half a step either way is honest rounding; the slack is for floating-point conversion of units.
        exact = off <= shown.step * factor / 2 + slack
        if not exact and off > shown.rough * factor / 2 + slack:
            return False
        like = (stated.attribute.id, stated.site, stated.kind)
        self._note(stated, ("rounded", *like, shown.unit), exact, "rounded where its like are exact")
        if stated.attribute.unit is not None:
            self._note(stated, ("bare", *like), bool(shown.unit), "without a unit where its like have one")
        if shown.whole and abs(shown.value) >= _THOUSAND:
            separated = "," in stated.words
            self._note(stated, ("separated", *like, shown.unit), separated, "which its like write otherwise")
        return True

    def _note(self, stated: Stated, group: Group, form: bool, otherwise: str) -> None:
        def odd() -> Odd:
            what = f"{stated.attribute.path} of {stated.entity}: says {stated.words!r}, {otherwise}"
            return Odd(stated.page, stated.place, what)

        self.customs.note(group, form, odd)

    def _factor(self, attribute: FileAttribute, unit: str) -> float | None:
        """Return the factor from that unit to the attribute's own; None if it measures something else."""
        if not unit or unit == attribute.unit:
            return 1.0
        if attribute.unit is None or attribute.kind == "money":
            return None
        shown, own = self.units.get(unit), self.units.get(attribute.unit)
        if shown is None or own is None or shown[0] != own[0]:
            return None
        return shown[1] / own[1]


class _WrongClaimError(Exception):
    """A statement is recorded with a claim that does not belong to it."""


def _among(words: str, names: tuple[str, ...]) -> bool:
    return words in names or words.casefold() in (name.casefold() for name in names)


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
