"""Columns of facts: the values of one attribute for all rows of a type."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import date
from itertools import repeat
from math import ceil, cos, exp, floor, log, pi, sqrt
from random import Random
from typing import TypeAlias, cast

from simtrain.values.errors import InputError
from simtrain.worlds.search.spec.world_file import AttributeSpec, Distribution, Numbers

Value: TypeAlias = str | int | float | None
Column: TypeAlias = list[Value]
Draw: TypeAlias = Callable[[], float]
Bounds: TypeAlias = Sequence[float] | float | None
"""One number for each row, the same for all, or none."""

MOST = 10**15
"""The greatest number. Whole ones up to here are exact as floats too, whose limit is 2**53."""
_REDRAWS = 30
_FEW = 10
"""Rows that may all miss their bounds by chance."""


_ORDINALS: dict[str, int] = {}
_ISO: dict[int, str] = {}


def ordinal(text: str) -> int:
    """Return the day number of an ISO date."""
    found = _ORDINALS.get(text)
    if found is None:
        found = _ORDINALS[text] = date.fromisoformat(text).toordinal()
    return found


def iso(day: int) -> str:
    """Return the ISO date of a day number. Raises InputError for days outside the years 1 to 9999."""
    found = _ISO.get(day)
    if found is None:
        if not 1 <= day <= date.max.toordinal():
            raise InputError("dates are of the years 1 to 9999", remedy="shorten the span")
        found = _ISO[day] = date.fromordinal(day).isoformat()
    return found


def dates(low: Sequence[int], high: Sequence[int], draw: Draw) -> Column:
    """Return a date for each row, drawn evenly between two days, both included. Raises InputError if the bounds run backwards."""
    found: Column = []
    for row, (first, last) in enumerate(zip(low, high, strict=True), 1):
        if first > last:
            raise InputError(f"no date fits row {row}: it may not be before {iso(first)}, nor after {iso(last)}")
        found.append(iso(first + int(draw() * (last - first + 1))))
    return found


def _gauss(draw: Draw) -> float:
    # Box and Muller's; the helpers of `random` may change between versions of Python. `1 - draw()` is never 0, which has no logarithm.
    return sqrt(-2.0 * log(1.0 - draw())) * cos(2.0 * pi * draw())


def sampler(numbers: Numbers, draw: Draw) -> Draw:
    """Return a function that draws from a distribution."""
    if not isinstance(numbers, Distribution):
        low, high = numbers
        if low > high:
            raise InputError(f"the range [{low:g}, {high:g}] runs backwards", remedy="begin with its lower end")
        return lambda: low + draw() * (high - low)
    if numbers.uniform is not None:
        return sampler(numbers.uniform, draw)
    if numbers.normal is not None:
        mean, deviation = numbers.normal
        return lambda: mean + deviation * _gauss(draw)
    if numbers.lognormal is not None:
        median, spread = log(numbers.lognormal[0]), log(numbers.lognormal[1])
        return lambda: exp(median + spread * _gauss(draw))
    if numbers.exponential is not None:
        mean = numbers.exponential
        return lambda: -mean * log(1.0 - draw())
    choices = numbers.choose or []
    return lambda: choices[int(draw() * len(choices))]


def numbers(
    spec: AttributeSpec, count: int, draw: Draw, *, low: Bounds, high: Bounds, times: Sequence[float] | None
) -> Column:
    """Return `count` numbers within the bounds, rounded to the digits and the step.

    Raises InputError if nothing fits, and for numbers above MOST.
    """
    # `exp`, or rounding infinity, overflows: that is a number too large as well.
    found: Column = [MOST + 1]
    with suppress(OverflowError):
        found = _numbers(spec, count, draw, low=low, high=high, times=times)
    if max(map(abs, cast(list[float], found)), default=0) > MOST:
        raise InputError(f"numbers are at most {MOST:,}", remedy="narrow the range, or give `max`")
    return found


def _numbers(
    spec: AttributeSpec, count: int, draw: Draw, *, low: Bounds, high: Bounds, times: Sequence[float] | None
) -> Column:
    given = next(found for found in (spec.number, spec.quantity, spec.money) if found is not None)
    sample = sampler(given, draw)
    digits, step = spec.digits, spec.step
    if low is None and high is None and times is None and step is None:
        return [round(sample(), digits) if digits else round(sample()) for _ in range(count)]
    found: Column = []
    pressed = 0
    bounds = zip(_spread(low, count), _spread(high, count), repeat(1.0) if times is None else times, strict=False)
    for least, most, factor in bounds:
        if least is not None and most is not None and least > most:
            raise InputError(f"no number fits: it may not be below {least:g}, nor above {most:g}")
        value = sample() * factor
        for _ in range(_REDRAWS):
            if (least is None or value >= least) and (most is None or value <= most):
                break
            value = sample() * factor
        else:
            pressed += 1
        # After 30 misses the nearest bound is taken: with a narrow window, drawing might never end.
        value = value if least is None else max(value, least)
        value = value if most is None else min(value, most)
        if step is not None:
            value = _stepped(value, step, least, most)
        found.append(round(value, digits) if digits else round(value))
    if count > _FEW and pressed == count:
        raise InputError(
            f"not one of {count} draws falls between the bounds", remedy="widen them, or move the distribution"
        )
    return found


def _stepped(value: float, step: float, least: float | None, most: float | None) -> float:
    """Return the nearest multiple of the step within the bounds; the nearest of all if none is."""
    nearest = round(value / step) * step
    if most is not None and nearest > most:
        return floor(most / step) * step
    if least is not None and nearest < least:
        return ceil(least / step) * step
    return nearest


def _spread(bound: Bounds, count: int) -> Iterable[float | None]:
    return bound if isinstance(bound, Sequence) else repeat(bound, count)


def refs(
    count: int,
    target: int,
    draw: Draw,
    *,
    skew: float,
    unique: bool,
    fits: Callable[[int, int], bool] | None = None,
    latest: Sequence[int] = (),
) -> Column:
    """Return for each row the id of a row of the target; `skew` above 1 makes the first ones frequent. Raises InputError if
    `unique` has too few.

    `fits` tells whether a row (from 0) may refer to a row of the target; where none may, it refers to nothing.
    `latest`: the day until which what each row refers to may begin, so that different rows are given first to those
    that have the fewest to choose from.
    """
    if target == 0:
        raise InputError("there is no row to refer to")
    if unique and count > target:
        raise InputError(
            f"{count} different rows are to be referred to, but there are {target}", remedy="change the counts"
        )
    if not unique:
        if fits is None:
            return [1 + int(target * draw() ** skew) for _ in range(count)]
        return [_fitting(row, target, draw, skew, fits) for row in range(count)]
    # A partial Fisher-Yates shuffle. Rows that leave the least choice go first, as the others can still take what is left.
    pool = list(range(1, target + 1))
    found: Column = [None] * count
    for at, row in enumerate(sorted(range(count), key=lambda row: latest[row]) if latest else range(count)):
        other = at + int(draw() * (target - at))
        if fits is not None and not fits(row, pool[other]):
            other = next((one for one in range(at, target) if fits(row, pool[one])), -1)
            if other < 0:
                continue
        pool[at], pool[other] = pool[other], pool[at]
        found[row] = pool[at]
    return found


def _fitting(row: int, target: int, draw: Draw, skew: float, fits: Callable[[int, int], bool]) -> Value:
    """Return the id of a row of the target that fits; None if none does."""
    other = 1
    for _ in range(_REDRAWS):
        other = 1 + int(target * draw() ** skew)
        if fits(row, other):
            return other
    return next((one for one in (*range(other, target + 1), *range(1, other)) if fits(row, one)), None)


def cover(column: Column, target: int, draw: Draw, *, fits: Callable[[int, int], bool] | None) -> None:
    """Change a column of refs so that each row of the target is referred to. Raises InputError if no ref can be spared."""
    counts = Counter(column)
    for other in range(1, target + 1):
        if counts[other]:
            continue
        begin = int(draw() * len(column))
        rows = (*range(begin, len(column)), *range(begin))
        # Only a row whose present target has another ref: taking the last one would uncover that.
        row = next((one for one in rows if counts[column[one]] > 1 and (fits is None or fits(one, other))), None)
        if row is None:
            raise InputError(
                f"no row is left that could refer to row {other}", remedy="give more rows, or drop `covers`"
            )
        counts[column[row]] -= 1
        counts[other] += 1
        column[row] = other


def choices(values: Sequence[str], weights: Sequence[float] | None, count: int, draw: Draw) -> Column:
    """Return `count` of the values, drawn evenly or by weight."""
    if weights is None:
        size = len(values)
        return [values[int(draw() * size)] for _ in range(count)]
    total = sum(weights)
    bounds: list[tuple[float, str]] = []
    mark = 0.0
    for value, weight in zip(values, weights, strict=True):
        mark += weight / total
        bounds.append((mark, value))
    return [next((value for bound, value in bounds if at < bound), values[-1]) for at in (draw() for _ in range(count))]


def codes(pattern: str, count: int, draw: Draw) -> Column:
    """Return `count` different codes. Raises InputError if the pattern has no room for them."""
    # Codes are drawn until they are new; with half of the room free, that takes two tries each on average at most.
    room = 10 ** pattern.count("#") * 26 ** pattern.count("@")
    if room < 2 * count:
        raise InputError(f"{count} codes are wanted, but {pattern!r} gives only {room}", remedy="lengthen the pattern")
    # A dict keeps the order of the draws; that of a set of strings changes from process to process.
    taken: dict[str, None] = {}
    while len(taken) < count:
        code = "".join(
            str(int(draw() * 10)) if sign == "#" else chr(65 + int(draw() * 26)) if sign == "@" else sign
            for sign in pattern
        )
        taken.setdefault(code)
    return [*taken]


def places(
    latitudes: tuple[float, float], longitudes: tuple[float, float], digits: int, count: int, draw: Draw
) -> Column:
    """Return `count` coordinates, latitude and longitude in degrees: `12.3456, -45.6789`."""
    (south, north), (west, east) = latitudes, longitudes
    return [
        f"{south + draw() * (north - south):.{digits}f}, {west + draw() * (east - west):.{digits}f}"
        for _ in range(count)
    ]


def thinned(column: Column, share: float, seed: int) -> Column:
    """Return the column with that share of its values taken out."""
    draw = Random(seed).random
    return [None if draw() < share else value for value in column]
