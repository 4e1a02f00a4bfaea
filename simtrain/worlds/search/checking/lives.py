"""When things begin and end, as read by the check from the author's file and the tables, without the builder's code."""

import re
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache, cached_property, lru_cache
from typing import Final, cast

from simtrain.values.types import JsonValue, is_object
from simtrain.worlds.search.checking.facts import Thing

_STATED = re.compile(r"(\w+)\.(\w+)\s*([<>]=?)\s*([\w.]+)(?:\s*([+-])\s*([\d.]+)([dwmy]))?")
# Written again, and not imported from the builder: a proof that shares its code would share its errors.
_SPANS: Final = {"d": 1.0, "w": 7.0, "m": 30.4375, "y": 365.25}
_Object = Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True)
class Bond:
    """A rule of a file: `attribute` of a row is not before (`after`), or not after, the value at the end of `path` plus days."""

    name: str
    kind: str
    attribute: str
    after: bool
    path: tuple[str, ...]
    days: float
    strict: bool = False


def bonds_of(data: JsonValue) -> list[Bond]:
    """Return all rules of a world file: those it states, and those that follow from the lives of its types."""
    return [*_stated(data), *_lived(data)]


def lives_of(data: JsonValue) -> dict[str, list[str]]:
    """Return, by type, the attributes for the beginning and end of a row's life: none, one or two."""
    found: dict[str, list[str]] = {}
    for kind, given in _part(data, "entities").items():
        found[kind] = _life(given, [])
    for kind, given in _part(data, "relations").items():
        found[kind] = _life(given, ["since", "until"] if given.get("during") else [])
    return found


def _part(data: JsonValue, name: str) -> _Object:
    return (data.get(name) or {}) if is_object(data) else {}


def _life(spec: _Object, periods: list[str]) -> list[str]:
    if spec.get("life") is not None:
        return spec["life"]
    for name, given in cast(_Object, spec.get("attributes") or {}).items():
        one = cast(_Object, given)
        if not periods and "date" in one and not one.get("optional") and not one.get("changes"):
            return [name]
    return periods


def _stated(data: JsonValue) -> Iterator[Bond]:
    for name, text in _part(data, "rules").items():
        found = _STATED.fullmatch(str(text).strip())
        if found is None:
            continue
        path = found[4].split(".")
        days = float(found[6]) * _SPANS[found[7]] * (-1 if found[5] == "-" else 1) if found[6] else 0.0
        tail = path[1:] if path[0] == found[1] else path
        yield Bond(name, found[1], found[2], found[3][0] == ">", tuple(tail), days, len(found[3]) == 1)


def _lived(data: JsonValue) -> Iterator[Bond]:
    lives = lives_of(data)
    for section in ("entities", "relations"):
        for kind, given in _part(data, section).items():
            begin, *end = [*lives[kind], *([None] if not lives[kind] else [])]
            for ref, target, at in _refs(given, section):
                at = at or begin
                if at is None or at == "now" or not lives.get(target):
                    continue
                bounds = lives[target]
                yield Bond(f"{kind}.{at} >= {kind}.{ref}.{bounds[0]}", kind, at, True, (ref, bounds[0]), 0.0)
                if len(bounds) > 1:
                    last = "until" if at == "since" else at
                    yield Bond(f"{kind}.{last} <= {kind}.{ref}.{bounds[1]}", kind, last, False, (ref, bounds[1]), 0.0)
            for end_name in end:
                if end_name and begin:
                    yield Bond(f"{kind}.{end_name} >= {kind}.{begin}", kind, end_name, True, (begin,), 0.0)


def _refs(spec: _Object, section: str) -> Iterator[tuple[str, str, str | None]]:
    """Yield the refs of a type: name, target, and, if stated, the time they refer to (an attribute or `now`)."""
    if section == "relations":
        source, target = str(spec["from"]), str(spec["to"])
        ends = spec.get("ends") or [source, target]
        yield ends[0], source, None
        yield ends[1], target, None
    for name, given in cast(_Object, spec.get("attributes") or {}).items():
        one = cast(_Object, given)
        if one.get("ref"):
            yield name, str(one["ref"]), cast("str | None", one.get("at")) or ("now" if one.get("changes") else None)


@lru_cache(100_000)
def day_of(text: str) -> int:
    """Return the ordinal of an ISO date."""
    return date.fromisoformat(text[:10]).toordinal()


class Lives:
    """The dates and refs of a file, read only from its tables."""

    def __init__(self, connection: sqlite3.Connection, data: JsonValue) -> None:
        self._connection = connection
        self.bonds = bonds_of(data)
        self.column = cache(self._column)
        """The values of an attribute, by row."""
        self.group = cache(self._group)
        """The rows of a type, by the value of an attribute."""
        rows = connection.execute(
            "select type, name, kind, target from _attributes where type not like '\\_%' escape '\\'"
        )
        self.attributes: dict[tuple[str, str], tuple[str, str | None]] = {
            (kind, name): (form, target) for kind, name, form, target in rows
        }
        self.lives = self._guessed() if data is None else lives_of(data)

    def _guessed(self) -> dict[str, list[str]]:
        """Return lives guessed without the author's file: `since` and `until`, else the first date that every row has."""
        found: dict[str, list[str]] = {}
        for (kind, name), (form, _) in self.attributes.items():
            if name == "until" and found.get(kind) == ["since"]:
                found[kind] = ["since", "until"]
            elif form == "date" and kind not in found and None not in self.column(kind, name).values():
                found[kind] = [name]
        return found

    def _column(self, kind: str, name: str) -> dict[int, JsonValue]:
        return dict(self._connection.execute(f'select id, "{name}" from "{kind}"').fetchall())

    def end_of(self, kind: str, row: int, path: tuple[str, ...]) -> JsonValue:
        """Return the value at the end of a path from a row; None if a step is missing."""
        value: JsonValue = row
        for name in path:
            if value is None or (kind, name) not in self.attributes:
                return None
            value = self.column(kind, name).get(value)
            kind = self.attributes[kind, name][1] or ""
        return value

    def begin(self, thing: Thing) -> int | None:
        """Return the ordinal of the day on which a thing begins; None if unknown."""
        life = self.lives.get(thing[0])
        value = self.column(thing[0], life[0]).get(thing[1]) if life else None
        return None if value is None else day_of(str(value))

    def broken(self) -> Iterator[str]:
        """Yield the rows that break a rule."""
        for bond in self.bonds:
            if (bond.kind, bond.attribute) not in self.attributes:
                continue
            for row, value in self.column(bond.kind, bond.attribute).items():
                other = self.end_of(bond.kind, row, bond.path)
                if value is not None and other is not None and not self.holds(bond, value, other):
                    yield f"{bond.name!r} does not hold for row {row} of {bond.kind}: {value}, {other}"

    def holds(self, bond: Bond, value: JsonValue, other: JsonValue) -> bool:
        """Return True if two values satisfy a rule."""
        if isinstance(value, str) and isinstance(other, str):
            # Dates in ISO form compare as text.
            limit = (date.fromisoformat(other) + timedelta(days=round(bond.days))).isoformat()
            if value == limit:
                return not bond.strict
            return value > limit if bond.after else value < limit
        one, two = value, other
        return one >= two if bond.after else one <= two

    @cached_property
    def _refs_by_target(self) -> dict[str, list[tuple[str, str]]]:
        found: dict[str, list[tuple[str, str]]] = {}
        for (kind, name), (form, target) in self.attributes.items():
            if form == "ref" and target:
                found.setdefault(target, []).append((kind, name))
        return found

    def _group(self, kind: str, name: str) -> dict[JsonValue, list[int]]:
        found: dict[JsonValue, list[int]] = {}
        for row, value in self.column(kind, name).items():
            if value is not None:
                found.setdefault(value, []).append(row)
        return found

    def tied(self, about: Thing, kind: str, days: tuple[int, int], text: str) -> Iterator[set[int]]:
        """Yield sets of rows of a type that are related to a thing: they refer to it, or a third row refers to both.

        For each set, also its part that still goes on, and its parts of a category named in the text of the list.
        """
        for other, ref in self._refs_by_target.get(about[0], ()):
            rows = self.group(other, ref).get(about[1], [])
            known = [row for row in rows if (begin := self.begin((other, row))) is None or begin <= days[0]]
            parts = [known, *self._parts(other, known, days, text)]
            if other == kind:
                yield from map(set, parts)
            for (owner, name), (form, target) in self.attributes.items():
                if owner == other and name != ref and form == "ref" and target == kind:
                    column = self.column(other, name)
                    for part in parts:
                        yield {column[row] for row in part if column[row] is not None}

    def _parts(self, kind: str, rows: list[int], days: tuple[int, int], text: str) -> Iterator[list[int]]:
        life = self.lives.get(kind, [])
        if len(life) > 1:
            over = self.column(kind, life[1])
            for day in days:
                last = date.fromordinal(day).isoformat()
                yield [row for row in rows if over[row] is None or str(over[row]) > last]
        for (owner, name), (form, _) in self.attributes.items():
            if owner == kind and form == "category":
                column = self.column(kind, name)
                for value in {str(column[row]) for row in rows}:
                    if value.casefold() in text:
                        yield [row for row in rows if column[row] == value]

    def between(self, one: Thing, other: Thing) -> Iterator[Thing]:
        """Yield, for each type that has exactly one, the row that refers to both things."""
        found: dict[str, set[int]] = {}
        for kind, ref in self._refs_by_target.get(one[0], ()):
            for owner, name in self._refs_by_target.get(other[0], ()):
                if owner == kind and name != ref:
                    column = self.column(kind, name)
                    rows = {row for row in self.group(kind, ref).get(one[1], ()) if column[row] == other[1]}
                    found.setdefault(kind, set()).update(rows)
        for kind, tying in found.items():
            if len(tying) == 1:
                yield kind, next(iter(tying))

    def alike(self, kind: str, shown: set[int]) -> Iterator[set[int]]:
        """Yield sets of rows that share a value with the first shown row; finally all rows."""
        first = next(iter(shown))
        for (owner, name), (form, _) in self.attributes.items():
            if owner == kind and form in ("category", "ref", "flag"):
                value = self.column(kind, name).get(first)
                if value is not None:
                    yield set(self.group(kind, name).get(value, ()))
        yield set(self.column(kind, "name"))
