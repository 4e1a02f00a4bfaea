"""Plausible false values: with the same step, digits and range as the true ones, and consistent with the other facts of the row."""

from collections.abc import Iterable, Iterator
from functools import cached_property
from math import gcd, inf
from typing import Final, cast

from simtrain.worlds.search.facts.attributes import Draw, Value, iso, ordinal
from simtrain.worlds.search.facts.columns import Columns
from simtrain.worlds.search.spec.bounds import split_bound
from simtrain.worlds.search.spec.rules import Rule
from simtrain.worlds.search.spec.schema import NUMERIC, Attribute, Type

_SAMPLE: Final = 1000
_TRIES: Final = 12
_SLIP_DAYS: Final = 30


class Falsehoods:
    """Draws false values of one attribute; each method returns None if only the truth is plausible.

    Numbers are handled as whole multiples of their last digit, dates as days.
    """

    def __init__(
        self, attribute: Attribute, kind: Type, columns: Columns, *, today: int, rules: Iterable[Rule] = ()
    ) -> None:
        self._attribute = attribute
        self._kind = kind
        self._columns = columns
        self._today = today
        self._scale = 10**attribute.digits
        self._limits = AttributeLimits(attribute, rules, columns)

    def former(self, row: int, draw: Draw) -> Value:
        """Return a value that may have been true before the present one."""
        kind = self._attribute.kind
        if kind == "flag":
            return 0 if self._column[row] else 1
        if kind == "date":
            # At least a week earlier, so that it reads as outdated and not as a slip.
            return self._near(row, [-7 - int(draw() * 120)])
        if kind not in NUMERIC or self._chosen:
            return self.of_another(row, draw)
        # 3 to 20 % below the truth: far enough to differ after rounding, near enough to be plausible.
        return self._near(row, [self._true(row) * (0.17 * draw() - 0.2), -self._step, self._step])

    def slip(self, row: int, draw: Draw) -> Value:
        """Return the truth with a slip: two digits swapped, or the next number; for dates, a day nearby."""
        if self._attribute.kind == "date":
            shift = (1 if draw() < 0.5 else -1) * (1 + int(draw() * _SLIP_DAYS))
            return self._near(row, [shift, -shift])
        # A value outside a short list would be recognised as false without any other page.
        swapped = [] if self._chosen else list(self._swaps(row, self._true(row)))
        if swapped:
            return self._value(swapped[int(draw() * len(swapped))])
        return self.of_another(row, draw) if self._chosen else self._near(row, [self._step, -self._step])

    def of_another(self, row: int, draw: Draw) -> Value:
        """Return the value of another row, drawn at random."""
        column = self._column
        truth, others = column[row], len(column) - 1
        # Bounded, since in a column of equal values no draw would ever differ.
        for _ in range(_TRIES):
            other = 1 + int(draw() * others)
            found = column[other]
            if found is None or found == truth:
                continue
            if self._attribute.kind == "ref":
                free = found != 0 and all(sibling[row] != found for sibling in self._siblings)
                if free and self._limits.leads(row, cast(int, found)):
                    return found
            elif not self._ordered or self._fits(row, self._true(other)):
                return found
        return None

    @cached_property
    def _siblings(self) -> list[list[Value]]:
        """Return the columns of the other refs to the same type: a line must not end where it begins."""
        own = self._attribute
        return [
            self._columns.column(one)
            for one in self._kind.attributes.values()
            if one.target == own.target and one is not own
        ]

    @cached_property
    def _column(self) -> list[Value]:
        return self._columns.column(self._attribute)

    @cached_property
    def _ordered(self) -> bool:
        return self._attribute.kind == "date" or self._attribute.kind in NUMERIC

    @cached_property
    def _chosen(self) -> bool:
        """True if the values come from a short list: a value in between would be implausible."""
        spec = self._attribute.spec
        given = spec and (spec.number or spec.quantity or spec.money)
        return getattr(given, "choose", None) is not None

    def _whole(self, values: Iterable[Value]) -> list[int | None]:
        if self._attribute.kind == "date":
            return [None if value is None else ordinal(cast(str, value)) for value in values]
        scale = self._scale
        return [None if value is None else round(value * scale) for value in values]

    def _value(self, whole: int) -> Value:
        if self._attribute.kind == "date":
            return iso(whole)
        return round(whole / self._scale, self._attribute.digits) if self._attribute.digits else whole

    @cached_property
    def _wholes(self) -> list[int | None]:
        return self._whole(self._column)

    def _true(self, row: int) -> int:
        return cast(int, self._wholes[row])

    @cached_property
    def _known(self) -> list[int]:
        return [whole for whole in self._wholes if whole is not None]

    @cached_property
    def _step(self) -> int:
        """Return the greatest common step of all values."""
        if self._attribute.kind == "date":
            return 1
        # A sample first: if it already has step 1, the rest cannot raise it.
        step = gcd(*self._known[:_SAMPLE])
        return step if step == 1 else gcd(step, *self._known[_SAMPLE:]) or 1

    def _near(self, row: int, shifts: list[float] | list[int]) -> Value:
        """Return the truth, moved by the first of these shifts that gives another plausible value."""
        truth, step = self._true(row), self._step
        for shift in shifts:
            found = truth + step * round(shift / step)
            if found != truth and self._fits(row, found):
                return self._value(found)
        return None

    def _swaps(self, row: int, whole: int) -> Iterator[int]:
        """Yield the plausible numbers with two neighbouring digits of the truth swapped; the number of digits stays."""
        digits = str(abs(whole))
        for place in range(len(digits) - 1):
            one, other = digits[place], digits[place + 1]
            # Equal digits would leave the truth, a leading zero would change the number of digits.
            if one == other or (place == 0 and other == "0"):
                continue
            found = int(f"{digits[:place]}{other}{one}{digits[place + 2 :]}") * (1 if whole >= 0 else -1)
            if found % self._step == 0 and self._fits(row, found):
                yield found

    def _fits(self, row: int, whole: int) -> bool:
        low, high = self._ranges
        return low[row] <= whole <= high[row]

    @cached_property
    def _ranges(self) -> tuple[list[float], list[float]]:
        """Return the least and the greatest plausible value by row id: the range of all rows, narrowed by bounds and rules."""
        low: list[float] = [min(self._known)] * len(self._column)
        high: list[float] = [max(self._known)] * len(self._column)
        self._bind(low, high)
        # Other facts of the row that are bounded by this one bound it in turn.
        for name, shift in self._bound(0):
            tighten(self._ends(name, inf, -shift), high, raising=False)
        for name, shift in self._bound(1):
            tighten(self._ends(name, -inf, -shift), low, raising=True)
        self._limits.narrow(low, high, 1 if self._attribute.kind == "date" else self._scale)
        return low, high

    def _bind(self, low: list[float], high: list[float]) -> None:
        """Narrow the ranges by the attribute's own bounds."""
        spec = self._attribute.spec
        if spec is None:
            return
        if spec.date is not None:
            tighten(self._days(spec.date[0]), low, raising=True)
            tighten(self._days(spec.date[1]), high, raising=False)
        if isinstance(spec.min, str):
            tighten(self._ends(spec.min, -inf), low, raising=True)
        if isinstance(spec.max, str):
            tighten(self._ends(spec.max, inf), high, raising=False)

    def _bound(self, end: int) -> list[tuple[str, int]]:
        """Return the facts whose lower (0) or upper (1) bound is this one, each with the shift added to it."""
        found: list[tuple[str, int]] = []
        for other in self._kind.attributes.values():
            bound = other.spec and (other.spec.date or (other.spec.min, other.spec.max))[end]
            if isinstance(bound, str) and (base := split_bound(bound))[0] == self._attribute.name:
                found.append((other.name, base[1]))
        return found

    def _days(self, bound: str) -> Iterable[tuple[int, float]]:
        base, shift = split_bound(bound)
        if base == "now" or base[:1].isdigit():
            day = self._today + shift if base == "now" else ordinal(base)
            return enumerate([day] * len(self._column))
        # A missing date counts as today.
        return self._ends(base, self._today - shift, shift)

    def _ends(self, path: str, missing: float, shift: int = 0) -> Iterator[tuple[int, float]]:
        """Yield each row with the number or day at the end of a path from it, in whole units of this attribute."""
        for row, value in enumerate(self._whole(self._columns.path(self._kind, path))):
            yield row, (missing if value is None else value) + shift


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
