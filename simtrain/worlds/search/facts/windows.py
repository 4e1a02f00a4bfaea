"""Windows: the range of each fact, from its own bounds and the rules of the world."""

from collections.abc import Callable, Sequence
from typing import TypeAlias, cast

from simtrain.values.errors import InputError
from simtrain.worlds.search.facts.attributes import Bounds, Column, iso, ordinal
from simtrain.worlds.search.facts.ordering import Node
from simtrain.worlds.search.spec.bounds import split_bound
from simtrain.worlds.search.spec.rules import Rule
from simtrain.worlds.search.spec.schema import Attribute, Schema
from simtrain.worlds.search.spec.world_file import AttributeSpec

Fits: TypeAlias = Callable[[int, int], bool]
"""True if a row (counted from 0) can refer to a row of the target (counted from 1)."""
_Days: TypeAlias = list[int]

EVER = 10**9
"""A day number after every date; its negative is before all."""


class Windows:
    """The ranges that the columns drawn so far leave."""

    def __init__(
        self, schema: Schema, rules: Sequence[Rule], columns: dict[Node, Column], sizes: dict[str, int], *, today: int
    ) -> None:
        self.schema = schema
        self.columns = columns
        self.sizes = sizes
        self.today = today
        self._rules: dict[Node, list[Rule]] = {}
        for rule in rules:
            self._rules.setdefault((rule.kind.name, rule.attribute.name), []).append(rule)

    def rules(self, attribute: Attribute) -> list[Rule]:
        """Return the rules that bind an attribute."""
        return self._rules.get((attribute.type, attribute.name), [])

    def path(self, kind: str, path: str) -> Column:
        """Return the values at the end of a path of refs, for each row of a type."""
        steps = path.split(".")
        column = self.columns[kind, steps[0]]
        for place, step in enumerate(steps[1:]):
            kind = cast(str, self.schema.types[kind].attributes[steps[place]].target)
            target = self.columns[kind, step]
            column = [None if row is None else target[cast(int, row) - 1] for row in column]
        return column

    def days(self, kind: str, bound: str) -> _Days:
        """Return the day of a bound for each row of a type; a missing date counts as today."""
        base, shift = split_bound(bound)
        if base == "now" or base[:1].isdigit():
            day = self.today if base == "now" else ordinal(base)
            return [day + shift] * self.sizes[kind]
        return [self.today if value is None else ordinal(str(value)) + shift for value in self.path(kind, base)]

    def numbers(self, kind: str, bound: float | str | None) -> Bounds:
        """Return the number of a bound for each row of a type."""
        if not isinstance(bound, str):
            return bound
        return [0.0 if value is None else float(value) for value in self.path(kind, bound)]

    def dates(self, attribute: Attribute, bounds: tuple[str, str]) -> tuple[_Days, _Days]:
        """Return the first and last day of a date for each row: its bounds, narrowed by the rules whose other side is drawn."""
        low, high = (self.days(attribute.type, bound) for bound in bounds)
        return self.narrowed(attribute, low, high)

    def narrowed(self, attribute: Attribute, low: _Days, high: _Days) -> tuple[_Days, _Days]:
        """Return first and last days narrowed by the rules of an attribute. Raises InputError, with row and rule, if none is left."""
        if any(first > last for first, last in zip(low, high, strict=True)):
            # No rule is to blame for bounds that run backwards by themselves.
            return low, high
        for rule in self.rules(attribute):
            # The ref is drawn later, and chosen to fit this date (see `DrawOrder.fitted`).
            if (attribute.type, rule.path[0].name) not in self.columns:
                continue
            values = self.path(attribute.type, ".".join(one.name for one in rule.path))
            shift = rule.shift
            days = [None if value is None else ordinal(str(value)) + shift for value in values]
            if rule.at_least:
                low = [own if day is None or own >= day else day for own, day in zip(low, days, strict=True)]
            else:
                high = [own if day is None or own <= day else day for own, day in zip(high, days, strict=True)]
            for row, (first, last) in enumerate(zip(low, high, strict=True), 1):
                if first > last:
                    raise broken(rule, row, f"it may not be before {iso(first)}, nor after {iso(last)}")
        return low, high

    def amounts(self, attribute: Attribute, spec: AttributeSpec) -> tuple[Bounds, Bounds]:
        """Return the least and greatest value of a number for each row. Raises InputError, with row and rule, if none is left."""
        low, high = self.numbers(attribute.type, spec.min), self.numbers(attribute.type, spec.max)
        for rule in self.rules(attribute):
            values = self.path(attribute.type, ".".join(one.name for one in rule.path))
            limits = [None if value is None else float(value) for value in values]
            if rule.at_least:
                low = [_most(own, limit) for own, limit in zip(_spread(low, len(limits)), limits, strict=True)]
            else:
                high = [_least(own, limit) for own, limit in zip(_spread(high, len(limits)), limits, strict=True)]
            pairs = zip(_spread(low, len(limits)), _spread(high, len(limits)), strict=True)
            for row, (least, most) in enumerate(pairs, 1):
                if least is not None and most is not None and least > most:
                    raise broken(rule, row, f"it may not be below {least:g}, nor above {most:g}")
        return low, high

    def fits(self, rules: Sequence[Rule]) -> tuple[Fits, _Days]:
        """Return a test of a ref's targets under its rules, and for each row the latest day on which its target may begin."""
        tests: list[tuple[bool, list[int | None], _Days]] = []
        latest: _Days = []
        for rule in rules:
            low, high = self._span(rule.attribute)
            target = rule.path[1]
            values = self.columns[target.type, target.name]
            days = [None, *(None if value is None else ordinal(str(value)) + rule.shift for value in values)]
            tests.append((rule.at_least, days, high if rule.at_least else low))
            latest = high if not latest else [min(pair) for pair in zip(latest, high, strict=True)]

        def fit(row: int, target: int) -> bool:
            for at_least, days, limits in tests:
                day = days[target]
                if day is not None and (day > limits[row] if at_least else day < limits[row]):
                    return False
            return True

        return fit, latest

    def _span(self, attribute: Attribute) -> tuple[_Days, _Days]:
        """Return the range of a date: the same day twice once it is drawn, unbounded if it is missing."""
        drawn = self.columns.get((attribute.type, attribute.name))
        if drawn is None:
            return self.dates(attribute, cast(tuple[str, str], cast(AttributeSpec, attribute.spec).date))
        low = [-EVER if value is None else ordinal(str(value)) for value in drawn]
        return low, [EVER if value is None else ordinal(str(value)) for value in drawn]


def broken(rule: Rule, row: int, why: str) -> InputError:
    """Return the error for a row whose rule cannot hold."""
    return InputError(
        f"the rule {rule.name!r} cannot hold for row {row} of {rule.kind.name}: {why}",
        remedy="widen the dates or numbers, give more rows, or give the ref `at`",
    )


def _spread(bound: Bounds, count: int) -> Sequence[float | None]:
    return bound if isinstance(bound, Sequence) else [bound] * count


def _most(own: float | None, limit: float | None) -> float:
    known = [one for one in (own, limit) if one is not None]
    return max(known) if known else float("-inf")


def _least(own: float | None, limit: float | None) -> float:
    known = [one for one in (own, limit) if one is not None]
    return min(known) if known else float("inf")
