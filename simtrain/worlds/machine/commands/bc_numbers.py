"""Numbers of bc: digits of any count, how many of them lie behind the point, and bc's own rules for results. All is cut off."""

from decimal import Decimal
from functools import lru_cache
from math import isqrt
from typing import NamedTuple

MOST_BITS = 140_000
"""Most bits of a number: some 40,000 digits."""
_MOST_WITHIN = 10 * MOST_BITS
_MOST_EXPONENT = 1 << 62


class BcFault(Exception):
    """Says that a program of bc did what cannot be reckoned. `at` counts bytes of its code, where they are not those of the step."""

    def __init__(self, text: str, at: int | None = None) -> None:
        """Keep the words."""
        super().__init__(text)
        self.text = text
        self.at = at


class BcTooLarge(Exception):
    """Says that a number would take more memory than there is."""


class BcNumber(NamedTuple):
    """A number: `digits` divided by ten to the power of `scale`."""

    digits: int
    scale: int = 0


ZERO, ONE = BcNumber(0), BcNumber(1)


@lru_cache(maxsize=16)
def _large_ten(exponent: int) -> int:
    return 10**exponent


def ten(exponent: int) -> int:
    """Return a power of ten. Raises BcTooLarge."""
    if exponent < 300:
        return 10**exponent
    if exponent * 3 > _MOST_WITHIN:
        raise BcTooLarge
    return _large_ten(exponent)


def kept(number: BcNumber) -> BcNumber:
    """Return a number that is not too large. Raises BcTooLarge."""
    if number.digits.bit_length() > MOST_BITS or number.scale * 3 > MOST_BITS:
        raise BcTooLarge
    return number


def quotient(over: int, under: int) -> int:
    """Return a quotient without what is behind its point."""
    found = abs(over) // abs(under)
    return found if (over < 0) == (under < 0) else -found


def cut(number: BcNumber, scale: int) -> BcNumber:
    """Return a number with so many digits behind the point: further ones are cut off, and missing ones are zeros."""
    if scale >= number.scale:
        return kept(BcNumber(number.digits * ten(scale - number.scale), scale))
    return BcNumber(quotient(number.digits, ten(number.scale - scale)), scale)


def whole(number: BcNumber) -> int:
    """Return what is in front of the point."""
    return quotient(number.digits, ten(number.scale)) if number.scale else number.digits


def _aligned(left: BcNumber, right: BcNumber) -> tuple[int, int, int]:
    scale = max(left.scale, right.scale)
    return left.digits * ten(scale - left.scale), right.digits * ten(scale - right.scale), scale


def added(left: BcNumber, right: BcNumber) -> BcNumber:
    """Return a sum."""
    one, other, scale = _aligned(left, right)
    return kept(BcNumber(one + other, scale))


def negated(number: BcNumber) -> BcNumber:
    """Return a number with the other sign."""
    return BcNumber(-number.digits, number.scale)


def compared(left: BcNumber, right: BcNumber) -> int:
    """Return a number below, at or above 0, as the left one is less, equal or more."""
    one, other, _ = _aligned(left, right)
    return (one > other) - (one < other)


def multiplied(left: BcNumber, right: BcNumber, scale: int) -> BcNumber:
    """Return a product."""
    full = BcNumber(left.digits * right.digits, left.scale + right.scale)
    return kept(cut(full, min(full.scale, max(scale, left.scale, right.scale))))


def divided(left: BcNumber, right: BcNumber, scale: int) -> BcNumber:
    """Return a quotient."""
    if not right.digits:
        raise BcFault("Divide by zero")
    shift = scale + right.scale - left.scale
    over = left.digits * ten(shift) if shift > 0 else left.digits
    under = right.digits if shift >= 0 else right.digits * ten(-shift)
    return kept(BcNumber(quotient(over, under), scale))


def remainder(left: BcNumber, right: BcNumber, scale: int) -> BcNumber:
    """Return what is left of a division."""
    if not right.digits:
        raise BcFault("Modulo by zero")
    result = max(left.scale, right.scale + scale)
    times = divided(left, right, scale)
    product = cut(BcNumber(times.digits * right.digits, times.scale + right.scale), result)
    return added(left, negated(product))


def raised(base: BcNumber, exponent: BcNumber, scale: int) -> BcNumber:
    """Return a power; what is behind the point of the exponent is left out."""
    times = whole(exponent)
    if abs(times) > _MOST_EXPONENT:
        raise BcFault("exponent too large in raise")
    if times == 0:
        return ONE
    if times < 0 and not base.digits:
        raise BcFault("divide by zero")
    digits, places = base.digits, base.scale
    while places and digits % 10 == 0:
        digits, places = digits // 10, places - 1
    if max(digits.bit_length() if abs(digits) > 1 else 0, 3 * places) * abs(times) > _MOST_WITHIN:
        raise BcFault("exponent too large in raise")
    # Times are large where the base is 0, 1 or -1 alone.
    power = BcNumber(digits ** (abs(times) if abs(digits) > 1 else 2 - times % 2), places * abs(times))
    if times < 0:
        return kept(BcNumber(quotient(ten(scale + power.scale), power.digits), scale))
    return kept(cut(power, min(base.scale * times, max(scale, base.scale))))


def rooted(number: BcNumber, scale: int) -> BcNumber:
    """Return a square root."""
    if number.digits < 0:
        raise BcFault("Square root of a negative number")
    if not number.digits:
        return ZERO
    if compared(number, ONE) == 0:
        return ONE
    result = max(scale, number.scale)
    return kept(BcNumber(isqrt(number.digits * ten(2 * result - number.scale)), result))


def length(number: BcNumber) -> int:
    """Return how many digits a number has."""
    return max(len(plain(number.digits)), number.scale)


def plain(digits: int) -> str:
    """Return the digits of a whole number, without its sign."""
    # Python's own `str` refuses long ones.
    return str(Decimal(abs(digits)))


def _value(letter: str) -> int:
    return int(letter, 36)


def number_of(text: str, base: int) -> BcNumber:
    """Return the number that a program names. Digits that the base does not have count as its highest."""
    front, _, behind = text.partition(".")
    if len(text) == 1:
        return BcNumber(_value(text))
    if (len(front) + len(behind)) * 6 > MOST_BITS:
        raise BcTooLarge
    if base == 10:
        digits = "".join(letter if letter.isdigit() else "9" for letter in front + behind)
        return BcNumber(int(Decimal(digits or "0")), len(behind))
    # A digit that stands alone before the point keeps its value.
    total = _value(front) if len(front) == 1 else 0
    for letter in front[len(front) == 1 :] + behind:
        total = total * base + min(_value(letter), base - 1)
    return divided(BcNumber(total), BcNumber(base ** len(behind)), len(behind)) if behind else BcNumber(total)


def written(number: BcNumber, base: int) -> str:
    """Return a number as bc prints it in a base, on one line."""
    if not number.digits:
        return "0"
    sign = "-" if number.digits < 0 else ""
    if base == 10:
        text = plain(number.digits).zfill(number.scale)
        at = len(text) - number.scale
        return f"{sign}{text[:at]}.{text[at:]}" if number.scale else sign + text
    unit = ten(number.scale)
    front, behind = divmod(abs(number.digits), unit)
    groups: list[int] = []
    while front:
        front, digit = divmod(front, base)
        groups.append(digit)
    text = sign + "".join(_digit(digit, base, " ") for digit in reversed(groups))
    if not number.scale:
        return text
    parts: list[str] = []
    reached = 1
    while reached < unit:
        digit, behind = divmod(behind * base, unit)
        parts.append(_digit(digit, base, " " if parts else ""))
        reached *= base
    return f"{text}.{''.join(parts)}"


def _digit(value: int, base: int, gap: str) -> str:
    return "0123456789ABCDEF"[value] if base <= 16 else f"{gap}{value:0{len(str(base - 1))}d}"
