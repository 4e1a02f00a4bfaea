"""The mathematical library of bc, that `-l` loads: s, c, a, l, e and j."""

from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, Overflow
from math import isqrt

from simtrain.worlds.machine.commands.bc_code import BcFunction, BcLocal
from simtrain.worlds.machine.commands.bc_numbers import (
    MOST_BITS,
    ZERO,
    BcNumber,
    BcTooLarge,
    added,
    cut,
    multiplied,
    negated,
    quotient,
    ten,
    whole,
)

_MORE = 12


def _context(digits: int) -> Context:
    return Context(prec=digits, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[Overflow])


def _decimal(number: BcNumber) -> Decimal:
    return Decimal(number.digits).scaleb(-number.scale, _context(MOST_BITS))


def _fixed(value: Decimal, scale: int) -> BcNumber:
    """Return a decimal number cut off."""
    return BcNumber(int(value.scaleb(scale, _context(MOST_BITS))), scale)


def exponential(values: list[BcNumber], scale: int) -> BcNumber:
    """Return e to the power of a number."""
    power = whole(values[0])
    if power > MOST_BITS // 2:
        raise BcTooLarge
    if not values[0].digits:
        return BcNumber(ten(scale), scale)
    if power < -3 * (scale + _MORE):
        return BcNumber(0, scale)
    return _fixed(_context(scale + max(power, 0) + _MORE).exp(_decimal(values[0])), scale)


def logarithm(values: list[BcNumber], scale: int) -> BcNumber:
    """Return the natural logarithm of a number; far below zero for one that has none."""
    number = values[0]
    if number.digits <= 0:
        return BcNumber((1 - ten(scale)) * ten(scale), scale)
    return _fixed(_context(scale + 8 + _MORE).ln(_decimal(number)), scale)


def _inverse_tangent_part(divisor: int, unit: int) -> int:
    """Return the inverse tangent of one divided by a number, in units."""
    total = term = unit // divisor
    place = 1
    while term:
        term //= divisor * divisor
        total += (-1) ** place * (term // (2 * place + 1))
        place += 1
    return total


def _quarter(unit: int) -> int:
    """Return a quarter of pi, in units."""
    return 4 * _inverse_tangent_part(5, unit) - _inverse_tangent_part(239, unit)


def sine(values: list[BcNumber], scale: int) -> BcNumber:
    """Return the sine of a number."""
    size = values[0].digits.bit_length() // 3
    kept = scale * 11 // 10 + 2
    places = max(kept, values[0].scale) + size + _MORE
    unit = ten(places)
    value = cut(values[0], places).digits
    half = 4 * _quarter(unit)
    turns = (value + half // 2) // half
    value -= turns * half
    total = term = value
    place = 1
    while term:
        term = -quotient(quotient(term * value, unit) * value, unit * (place + 1) * (place + 2))
        total += term
        place += 2
    # bc's own sum is not cut off at its last digit: next to 1 it is 1.
    near = ten(places - kept)
    total = quotient(abs(total) + near // 2, near) * near * (1 if (total < 0) == (turns % 2 == 1) else -1)
    return cut(BcNumber(total, places), scale)


def cosine(values: list[BcNumber], scale: int) -> BcNumber:
    """Return the cosine of a number, as the sine of one that is larger by half of pi."""
    # bc knows pi to a fifth more digits than are asked for: with few digits that shows.
    more = scale * 6 // 5
    moved = added(values[0], multiplied(inverse_tangent([BcNumber(1)], more), BcNumber(2), more))
    return cut(sine([moved], more), scale)


def inverse_tangent(values: list[BcNumber], scale: int) -> BcNumber:
    """Return the number whose tangent is given."""
    number = values[0]
    if not number.digits:
        return ZERO
    if number.digits < 0:
        return negated(inverse_tangent([negated(number)], scale))
    places = max(scale, number.scale) + _MORE
    unit = ten(places)
    value = cut(number, places).digits
    inverse = value > unit
    if inverse:
        value = unit * unit // value
    total = _small_inverse_tangent(value, unit)
    return cut(BcNumber(2 * _quarter(unit) - total if inverse else total, places), scale)


def _small_inverse_tangent(value: int, unit: int) -> int:
    doubled = 0
    while value * 8 > unit:
        # The inverse tangent of a number is twice that of a smaller one.
        value = value * unit // (unit + isqrt(unit * unit + value * value))
        doubled += 1
    total, term, place = value, value, 1
    while term:
        term = -(term * value // unit * value // unit)
        place += 2
        total += quotient(term, place)
    return total << doubled


def bessel(values: list[BcNumber], scale: int) -> BcNumber:
    """Return Bessel's function of a whole order for a number."""
    order = whole(values[0])
    turned = order < 0 and order % 2 == 1
    order = abs(order)
    if order > 1000:
        return ZERO
    size = abs(whole(values[1]))
    if size > 10_000:
        raise BcTooLarge
    places = scale + values[1].scale + size + _MORE
    unit = ten(places)
    half = cut(values[1], places).digits // 2
    square = -(half * half // unit)
    term = unit
    for place in range(1, order + 1):
        term = term * half // (unit * place)
    total, place = term, 0
    while term:
        place += 1
        term = quotient(term * square, unit * place * (place + order))
        total += term
    return cut(BcNumber(-total if turned else total, places), scale)


def library() -> dict[str, BcFunction]:
    """Return the functions by name."""
    one, two = (BcLocal("x", "number"),), (BcLocal("n", "number"), BcLocal("x", "number"))
    return {
        "e": BcFunction("e", one, reckoned=exponential),
        "l": BcFunction("l", one, reckoned=logarithm),
        "s": BcFunction("s", one, reckoned=sine),
        "c": BcFunction("c", one, reckoned=cosine),
        "a": BcFunction("a", one, reckoned=inverse_tangent),
        "j": BcFunction("j", two, reckoned=bessel),
    }
