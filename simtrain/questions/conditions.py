"""Draws conditions from the values in a world, such that about a wanted share of rows meets them."""

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate
from typing import Final

from simtrain.questions.schema import QuestionAttribute, WorldSchema
from simtrain.questions.shapes import Term, Test
from simtrain.values.seeding import Stream
from simtrain.values.types import JsonValue

TESTED: Final = frozenset({"category", "flag", "date", "number", "quantity", "money"})
"""The kinds of attributes that conditions can test."""

_WINDOW: Final = 12
"""Number of neighbouring values searched for the widest gap."""


def test_of(
    term: Term, attribute: QuestionAttribute, schema: WorldSchema, stream: Stream, *, share: float
) -> Test | None:
    """Return a condition on a term that about `share` of the rows meets; None if the values allow none."""
    values = schema.present(attribute)
    if len(values) < 2:
        return None
    if attribute.kind == "flag":
        return Test(term, "=", (stream.choose(values)[0],))
    if attribute.kind == "category":
        return _chosen(term, values, stream, share)
    if attribute.kind == "date":
        return _years(term, values, stream, share)
    if attribute.numeric:
        return _range(term, values, stream, share)
    return None


def _chosen(term: Term, values: Sequence[tuple[JsonValue, int]], stream: Stream, share: float) -> Test:
    total = sum(count for _, count in values)
    value, count = stream.choose(values)
    if len(values) > 3 and share > 0.3 and stream.random() < 0.5:
        others = [item for item, _ in values if item != value]
        return Test(term, "in", (value, stream.choose(others)))
    if count / total < 0.4 and share > 0.6:
        return Test(term, "<>", (value,))
    return Test(term, "=", (value,))


def _years(term: Term, values: Sequence[tuple[JsonValue, int]], stream: Stream, share: float) -> Test | None:
    first, last = _stretch(values, stream, share)
    # Whole years, which read naturally and do not reveal the dates at the edges.
    early, late = int(str(values[first][0])[:4]), int(str(values[last][0])[:4])
    edge = stream.random()
    if edge < 0.25:
        return Test(term, "<=", (f"{late}-12-31",))
    if edge < 0.5:
        return Test(term, ">=", (f"{early}-01-01",))
    return Test(term, "between", (f"{early}-01-01", f"{late}-12-31"))


def _range(term: Term, values: Sequence[tuple[JsonValue, int]], stream: Stream, share: float) -> Test | None:
    first, last = _stretch(values, stream, share)
    edge = stream.random()
    if edge < 0.25:
        last = len(values) - 1
    elif edge < 0.5:
        first = 0
    return around(term, values, first, last)


def around(term: Term, values: Sequence[tuple[JsonValue, int]], first: int, last: int) -> Test | None:
    """Return a condition for the values from about index `first` to `last`; an end beyond all values is left open."""
    numbers = [float(str(value)) for value, _ in values]
    low, high = _limit(numbers, first, least=True), _limit(numbers, last + 1, least=False)
    if low is None:
        return None if high is None else Test(term, "<=", (high,))
    if high is None:
        return Test(term, ">=", (low,))
    return Test(term, "between", (low, high)) if low < high else None


def _stretch(values: Sequence[tuple[JsonValue, int]], stream: Stream, share: float) -> tuple[int, int]:
    """Return the indices of the first and last value of a random stretch that holds about `share` of the rows."""
    sums = list(accumulate(count for _, count in values))
    wanted = max(1.0, share * sums[-1])
    begin = stream.number(0, max(0.0, sums[-1] - wanted))
    first = min(bisect_left(sums, begin + 1), len(values) - 1)
    last = min(max(first, bisect_left(sums, begin + wanted)), len(values) - 1)
    return first, last


def _limit(numbers: Sequence[float], place: int, *, least: bool) -> int | float | None:
    """Return a round number in the widest gap near `numbers[place]`; None beyond either end."""
    if not 0 < place < len(numbers):
        return None
    near = range(max(1, place - _WINDOW), min(len(numbers), place + _WINDOW))
    # A limit inside a wide gap: values rounded on pages then still fall on the right side of it.
    best = max(near, key=lambda index: (numbers[index] - numbers[index - 1], -abs(index - place)))
    low, high = numbers[best - 1], numbers[best]
    return _round_between(low, high, least=least)


def _round_between(low: float, high: float, *, least: bool) -> int | float | None:
    """Return the roundest number between `low` and `high`, exclusive; for adjacent whole numbers the one inside the range."""
    whole = low.is_integer() and high.is_integer()
    if whole and high - low <= 1:
        return int(high if least else low)
    middle = (low + high) / 2
    # From the coarsest on: the first that fits is the roundest.
    for digits in range(-9, 1 if whole else 4):
        found = round(middle, digits)
        if low < found < high:
            return int(found) if float(found).is_integer() else found
    return None


def years_of(test: Test) -> tuple[str | None, str | None]:
    """Return the first and last year of a condition on a date; None for an open end."""
    if test.operator == "between":
        return str(test.values[0])[:4], str(test.values[1])[:4]
    year = str(test.values[0])[:4]
    return (year, None) if test.operator == ">=" else (None, year)
