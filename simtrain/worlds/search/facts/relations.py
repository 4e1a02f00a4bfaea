"""Relations: which rows are tied to each other, and for which periods."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias, cast

from simtrain.values.errors import InputError
from simtrain.worlds.search.facts.attributes import Column, Draw, iso, ordinal
from simtrain.worlds.search.facts.windows import EVER, Windows, broken
from simtrain.worlds.search.spec.bounds import split_bound
from simtrain.worlds.search.spec.rules import Rule
from simtrain.worlds.search.spec.schema import Attribute, Type
from simtrain.worlds.search.spec.world_file import RelationSpec

_Days: TypeAlias = list[int]


class Ties:
    """Draws the ends and periods of relations within the windows of a world."""

    def __init__(self, windows: Windows, draw: Callable[..., Draw]) -> None:
        self._windows = windows
        self._schema = windows.schema
        self._draw = draw

    def ends(self, kind: Type) -> tuple[Column, Column]:
        """Return the two ends of a relation, by the rows of its first type. Raises InputError, with row and rule, if too few
        candidates fit.
        """
        spec = self._schema.spec.relations[kind.name]
        low, high = spec.each
        source, target = self._windows.sizes[spec.from_], self._windows.sizes[spec.to]
        itself = spec.from_ == spec.to
        draw = self._draw(kind.name, "ends")
        most = target - 1 if itself else target
        spans = [_Span(self._windows, kind, attribute) for attribute in self._dated(kind)]
        first: Column = []
        second: Column = []
        for row in range(1, source + 1):
            count = low + int(draw() * (high - low + 1))
            chosen: list[int] = []
            for _ in range(min(count, most) if spec.distinct or not most else count):
                other = start = 1 + int(draw() * target)
                while (
                    (spec.distinct and other in chosen)
                    or (itself and other == row)
                    or not all(span.has_room(row, other, count) for span in spans)
                ):
                    # On from the draw to the next candidate: a fitting row is found if there is one, with one draw spent either way.
                    other = other % target + 1
                    if other == start:
                        break
                else:
                    chosen.append(other)
                    continue
                break
            if len(chosen) < min(low, most):
                raise self._too_few(kind, spans, row, count)
            for span in spans:
                if span.is_period:
                    # Periods follow each other, so the bounds of a row's periods must never fall from one to the next.
                    chosen.sort(key=lambda other: span.low(row, other))
            first += [row] * len(chosen)
            second += chosen
        return first, second

    def _dated(self, kind: Type) -> Iterator[Attribute]:
        """Yield the dates of a relation that rules bind to its ends."""
        ends = [kind.attributes[name] for name in self._schema.ends(kind.name)]
        for one in kind.attributes.values():
            if one.name == "until" and one.spec is None:
                continue
            rules = self._windows.rules(one)
            if one.kind == "date" and any(rule.path[0] in ends and len(rule.path) > 1 for rule in rules):
                yield one

    def _too_few(self, kind: Type, spans: list[_Span], row: int, count: int) -> InputError:
        spec = self._schema.spec.relations[kind.name]
        for span in spans:
            if not span.has_room_by_bounds(row, count):
                return InputError(f"no room for {count} periods in row {row} of {spec.from_}", remedy="widen `during`")
        rules = " and ".join(repr(rule.name) for span in spans for rule in span.rules)
        return InputError(
            f"the rule {rules} cannot hold for row {row} of {spec.from_}: fewer than {spec.each[0]} rows of {spec.to} fit",
            remedy="widen the dates, give more rows, or lower `each`",
        )

    def periods(self, kind: Type) -> tuple[Column, Column]:
        """Return `since` and `until`. The periods of one owner follow each other; the last may still go on."""
        spec = self._schema.spec.relations[kind.name]
        since, until = kind.attributes["since"], kind.attributes["until"]
        low, high = self._windows.dates(since, cast(tuple[str, str], spec.during))
        _, last = self._windows.narrowed(until, low, high)
        owners = self._windows.columns[kind.name, self._schema.ends(kind.name)[0]]
        draw = self._draw(kind.name, "periods")
        begun: Column = []
        ended: Column = []
        start = 0
        while start < len(owners):
            end = start
            while end < len(owners) and owners[end] == owners[start]:
                end += 1
            cuts = self._cuts(kind, start, low[start:end], last[start:end], draw)
            for place in range(end - start):
                closed = last[start + place] < self._windows.today
                goes_on = place == end - start - 1 and draw() < spec.open and not closed
                begun.append(iso(cuts[place]))
                ended.append(None if goes_on else iso(min(cuts[place + 1], last[start + place])))
            start = end
        return begun, ended

    def _cuts(self, kind: Type, start: int, low: _Days, last: _Days, draw: Draw) -> _Days:
        """Return the days on which periods begin, then the day on which the last one ends."""
        count = len(low)
        lows = [max(low[: place + 1]) for place in range(count)]
        most = max(last) - count
        if most - lows[-1] < count:
            rules = [*self._windows.rules(kind.attributes["since"]), *self._windows.rules(kind.attributes["until"])]
            why = f"no room for {count} periods between {iso(lows[-1])} and {iso(max(last))}"
            if rules:
                raise broken(rules[0], start + 1, why)
            raise InputError(why, remedy="widen `during`")
        # Neither lows nor highs ever fall, so days drawn between them keep to their bounds once sorted.
        highs = [min(last[place:]) - count - 1 for place in range(count)]
        cuts = [low + int(draw() * (high - low + 1)) for low, high in zip(lows, highs, strict=True)]
        cuts.append(lows[-1] + int(draw() * (most - lows[-1])))
        # One more day for each place: no period is empty, even if two draws are the same day.
        return [cut + place for place, cut in enumerate(sorted(cuts))]


class _Span:
    """The range of a date of a relation, given the two tied rows."""

    def __init__(self, windows: Windows, kind: Type, attribute: Attribute) -> None:
        spec = windows.schema.spec.relations[kind.name]
        self._windows = windows
        self._kind = kind
        self._ends = windows.schema.ends(kind.name)
        self._targets = (spec.from_, spec.to)
        self.is_period = attribute.spec is None
        self.rules: list[Rule] = []
        sizes = [windows.sizes[name] + 1 for name in self._targets]
        self._low = [[-EVER] * size for size in sizes]
        self._high = [[EVER] * size for size in sizes]
        for at_least, bound in zip((True, False), _bounds(spec, attribute), strict=True):
            self._bound(at_least, bound)
        self._plain = [*self._low], [*self._high]
        self._low, self._high = ([[*side] for side in both] for both in self._plain)
        narrowing = [*windows.rules(attribute), *(windows.rules(kind.attributes["until"]) if self.is_period else ())]
        for rule in narrowing:
            if rule.path[0].name in self._ends and len(rule.path) > 1:
                self.rules.append(rule)
                self._narrow(rule.at_least, rule.path[0].name, ".".join(one.name for one in rule.path[1:]), rule.shift)

    def low(self, row: int, other: int) -> int:
        """Return the first day that two rows allow."""
        return max(self._low[0][row], self._low[1][other])

    def has_room(self, row: int, other: int, count: int) -> bool:
        """True if two rows leave room for a day, or for the number of periods."""
        room = min(self._high[0][row], self._high[1][other]) - self.low(row, other)
        return room >= self._needed(count)

    def has_room_by_bounds(self, row: int, count: int) -> bool:
        """True if the bounds alone leave enough room for a row, whichever row it is tied to."""
        (low, lows), (high, highs) = self._plain
        room = max(min(high[row], last) - max(low[row], first) for first, last in zip(lows[1:], highs[1:], strict=True))
        return room >= self._needed(count)

    def _needed(self, count: int) -> int:
        return 2 * count + 1 if self.is_period else 0

    def _bound(self, at_least: bool, bound: str) -> None:
        base, shift = split_bound(bound)
        if base == "now" or base[:1].isdigit():
            day = self._windows.today if base == "now" else ordinal(base)
            side = (self._low if at_least else self._high)[0]
            side[:] = [day + shift] * len(side)
            return
        end, _, path = base.partition(".")
        if end in self._ends and path:
            self._narrow(at_least, end, path, shift)

    def _narrow(self, at_least: bool, end: str, path: str, shift: int) -> None:
        place = self._ends.index(end)
        values = self._windows.path(self._targets[place], path)
        side = (self._low if at_least else self._high)[place]
        for row, value in enumerate(values, 1):
            if value is not None:
                day = ordinal(str(value)) + shift
                side[row] = max(side[row], day) if at_least else min(side[row], day)


def _bounds(spec: RelationSpec, attribute: Attribute) -> tuple[str, str]:
    return cast(tuple[str, str], spec.during if attribute.spec is None else attribute.spec.date)
