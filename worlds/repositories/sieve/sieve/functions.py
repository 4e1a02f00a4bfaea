"""Functions of a row, and of a group of rows."""

from collections.abc import Callable, Sequence

from sieve.errors import QueryError
from sieve.values import as_text, sort_key


def _substr(text: str, start: int, length: int | None = None) -> str:
    """Return a part of a text, from letter 1 on; a negative start counts from the end."""
    begin = max(0, len(text) + start) if start < 0 else max(0, start - 1)
    return text[begin:] if length is None else text[begin : begin + max(0, length)]


def _round(number: float, digits: int = 0) -> float:
    """Return a number rounded, halves away from zero."""
    scale = 10**digits
    shifted = abs(number) * scale + 0.5
    found = int(shifted) / scale if number >= 0 else -int(shifted) / scale
    return found if digits > 0 else int(found)


SCALARS: dict[str, tuple[Callable, int, int]] = {
    "upper": (lambda text: as_text(text).upper(), 1, 1),
    "lower": (lambda text: as_text(text).lower(), 1, 1),
    "trim": (lambda text: as_text(text).strip(), 1, 1),
    "length": (lambda text: len(as_text(text)), 1, 1),
    "abs": (abs, 1, 1),
    "round": (_round, 1, 2),
    "substr": (_substr, 2, 3),
    "replace": (lambda text, old, new: as_text(text).replace(old, new), 3, 3),
    "instr": (lambda text, part: as_text(text).find(part) + 1, 2, 2),
}
"""Name -> function, fewest and most arguments. An argument that is None makes the result None."""

AGGREGATES = ("count", "sum", "avg", "min", "max", "group_concat")


def call_scalar(name: str, arguments: Sequence[object]) -> object:
    """Return the value of a function of a row."""
    if name == "coalesce":
        return next((one for one in arguments if one is not None), None)
    if name == "nullif":
        return None if arguments[0] == arguments[1] else arguments[0]
    function, _, _ = SCALARS[name]
    if any(one is None for one in arguments):
        return None
    try:
        return function(*arguments)
    except (TypeError, AttributeError):
        kinds = ", ".join(repr(one) for one in arguments)
        raise QueryError(f"{name}({kinds}) means nothing") from None


def check_call(name: str, count: int, at: int) -> None:
    """Raise QueryError for a function that does not exist, or takes another number of arguments."""
    if name in AGGREGATES:
        fewest, most = 1, 2 if name == "group_concat" else 1
    elif name == "coalesce":
        fewest, most = 1, 99
    elif name == "nullif":
        fewest, most = 2, 2
    elif name in SCALARS:
        _, fewest, most = SCALARS[name]
    else:
        raise QueryError(f"there is no function {name!r}", at)
    if not fewest <= count <= most:
        wanted = str(fewest) if fewest == most else f"{fewest} to {most}"
        raise QueryError(f"{name} takes {wanted} arguments, not {count}", at)


def aggregate(name: str, values: Sequence[object], distinct: bool, sign: str = ",") -> object:
    """Return the value of a function of a group; values that are None do not count."""
    known = [value for value in values if value is not None]
    if distinct:
        known = list(dict.fromkeys(known))
    if name == "count":
        return len(known)
    if not known:
        return None
    if name == "group_concat":
        return sign.join(map(as_text, known))
    if name == "min":
        return min(known, key=sort_key)
    if name == "max":
        return max(known, key=sort_key)
    if any(isinstance(value, str) for value in known):
        raise QueryError(f"{name} adds numbers")
    return sum(known) if name == "sum" else sum(known) / len(known)
