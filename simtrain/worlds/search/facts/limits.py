"""Limits of falsehoods: the range of a wrong value, and the targets of a wrong ref, that break no rule of the world."""

from collections.abc import Iterable
from typing import cast

from simtrain.worlds.search.facts.attributes import Value, ordinal
from simtrain.worlds.search.facts.columns import Columns
from simtrain.worlds.search.spec.rules import Rule
from simtrain.worlds.search.spec.schema import Attribute


class AttributeLimits:
    """The bounds that the rules set for one attribute, given all other facts."""

    def __init__(self, attribute: Attribute, rules: Iterable[Rule], columns: Columns) -> None:
        self._columns = columns
        types = columns.types
        self._own: list[tuple[bool, list[float | None]]] = []
        self._others: list[tuple[bool, dict[int, float]]] = []
        self._refs: list[tuple[bool, dict[int, float], list[float | None]]] = []
        for rule in rules:
            if rule.attribute is attribute:
                end = self._columns.path(rule.kind, ".".join(one.name for one in rule.path))
                self._own.append((rule.at_least, _numbers(end, rule.shift)))
            # A type that refers to itself bounds a date by the same date.
            if rule.path[-1] is attribute:
                self._others.append((rule.at_least, self._followers(rule, len(rule.path) - 1)))
            elif attribute in rule.path:
                place = rule.path.index(attribute)
                rest = ".".join(one.name for one in rule.path[place + 1 :])
                target = columns.path(types[cast(str, attribute.target)], rest)
                self._refs.append((rule.at_least, self._followers(rule, place), _numbers(target, 0)))

    def narrow(self, low: list[float], high: list[float], scale: int) -> None:
        """Narrow, row by row, the range of the attribute, times `scale`; dates are days."""
        for at_least, values in self._own:
            tighten(enumerate(values), low if at_least else high, scale, raising=at_least)
        for at_least, values in self._others:
            tighten(values.items(), high if at_least else low, scale, raising=not at_least)

    def leads(self, row: int, other: int) -> bool:
        """True if the ref of a row may lead to that row."""
        for at_least, values, targets in self._refs:
            value, target = values.get(row), targets[other]
            if value is not None and target is not None and (value < target if at_least else value > target):
                return False
        return True

    def _followers(self, rule: Rule, place: int) -> dict[int, float]:
        """Return for each row at that place of the path, the nearest of what is bound by way of it."""
        values = _numbers(self._columns.column(rule.attribute), -rule.shift)
        if place == 0:
            return {row: value for row, value in enumerate(values) if value is not None}
        owners = self._columns.path(rule.kind, ".".join(one.name for one in rule.path[:place]))
        nearest: dict[int, float] = {}
        for owner, value in zip(owners, values, strict=True):
            if owner and value is not None:
                known = nearest.get(cast(int, owner), value)
                nearest[cast(int, owner)] = min(known, value) if rule.at_least else max(known, value)
        return nearest


def tighten(limits: Iterable[tuple[int, float | None]], side: list[float], scale: int = 1, *, raising: bool) -> None:
    """Raise the lower ends of ranges, or lower their upper ends, to the limits of their rows."""
    for row, limit in limits:
        if limit is not None:
            limit *= scale
            if limit > side[row] if raising else limit < side[row]:
                side[row] = limit


def _numbers(values: Iterable[Value], shift: int) -> list[float | None]:
    return [
        None if value is None else ordinal(value) + shift if isinstance(value, str) else float(value) + shift
        for value in values
    ]
