"""Comparisons with NULL, LIKE, and the order of values."""

import re
from functools import lru_cache

from sieve.errors import QueryError


def compare(sign: str, left: object, right: object) -> bool | None:
    """Return the result of a comparison; None if a side is None."""
    if left is None or right is None:
        return None
    if sign == "=":
        return left == right
    if sign == "<>":
        return left != right
    if is_text(left) != is_text(right):
        raise QueryError(f"{left!r} and {right!r} have no order")
    return {"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}[sign]


def is_text(value: object) -> bool:
    """Return whether a value is a text."""
    return isinstance(value, str)


def both(left: bool | None, right: bool | None) -> bool | None:
    """Return `and` of three values: false wins over unknown."""
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


def either(left: bool | None, right: bool | None) -> bool | None:
    """Return `or` of three values: true wins over unknown."""
    if left is True or right is True:
        return True
    return None if left is None or right is None else False


def opposite(value: bool | None) -> bool | None:
    """Return `not` of three values."""
    return None if value is None else not value


@lru_cache(maxsize=200)
def _pattern(text: str) -> re.Pattern:
    found = "".join({"%": ".*", "_": "."}.get(one, re.escape(one)) for one in text)
    return re.compile(found, re.DOTALL)


def like(value: object, pattern: object) -> bool | None:
    """Return whether a text fits a pattern: % any letters, _ one; None if one of both is None."""
    if value is None or pattern is None:
        return None
    if not is_text(value) or not is_text(pattern):
        raise QueryError("like compares texts")
    return _pattern(pattern).fullmatch(value) is not None


def arithmetic(sign: str, left: object, right: object) -> object:
    """Return the result of a sign; None if a side is None, or for a division by zero."""
    if left is None or right is None:
        return None
    if sign == "||":
        return as_text(left) + as_text(right)
    if is_text(left) or is_text(right):
        raise QueryError(f"{left!r} {sign} {right!r} means nothing")
    if sign in ("/", "%"):
        if right == 0:
            return None
        if sign == "%":
            return left % right
        return left // right if isinstance(left, int) and isinstance(right, int) else left / right
    return {"+": left + right, "-": left - right, "*": left * right}[sign]


def as_text(value: object) -> str:
    """Return a value as text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def sort_key(value: object) -> tuple:
    """Return what values of all kinds are sorted by: None first, then numbers, then texts."""
    if value is None:
        return (0, 0)
    return (2, value) if is_text(value) else (1, value)
