"""zod's words for values: types as JavaScript names them, numbers as it writes them, mistakes with their paths."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from simtrain.values.types import JsonObject, JsonValue, encode

MISSING: Final = object()
"""Stands for an argument that was not given: JavaScript's `undefined`."""

_TYPES: Mapping[type, str] = {
    bool: "boolean", int: "number", float: "number", str: "string", list: "array", dict: "object", type(None): "null",
    type(MISSING): "undefined",
}  # fmt: skip

Step: TypeAlias = str | int


@dataclass(frozen=True, slots=True)
class Issue:
    """One mistake. A mild one is about a value of the right type, such as a text that is too short.

    `facts` are the members that zod 4 gives an issue besides its path and message, in its order; `given` is the value; `tried` holds
    what each option of a union had to say.
    """

    message: str
    path: tuple[Step, ...] = ()
    mild: bool = False
    facts: JsonObject = field(default_factory=dict[str, JsonValue])
    given: JsonValue = None
    tried: tuple[tuple[Issue, ...], ...] = ()

    def under(self, step: Step) -> Issue:
        """Return the issue as seen from the value that holds this one under a key or an index."""
        return replace(self, path=(step, *self.path))

    def __str__(self) -> str:
        place = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in self.path)
        return f"{self.message} at {place.removeprefix('.')}" if place else self.message


@dataclass(frozen=True, slots=True)
class Parsed:
    """A value as read by a schema, and the issues with it."""

    value: JsonValue
    issues: tuple[Issue, ...] = ()


def expected(kind: str, value: JsonValue) -> Issue:
    """Return the issue of a value of the wrong type."""
    message = f"Invalid input: expected {kind}, received {type_of(value)}"
    return Issue(message, facts={"expected": kind, "code": "invalid_type"}, given=value)


def type_of(value: JsonValue) -> str:
    """Return the type of a value as JavaScript names it."""
    # By exact type, since True is an instance of int.
    return _TYPES[type(value)]


def not_one_of(options: Sequence[JsonValue], value: JsonValue) -> Issue:
    """Return the issue of a value that is not among the options."""
    written = [_quoted(option) for option in options]
    facts: JsonObject = {"code": "invalid_value", "values": list(options)}
    if len(written) == 1:
        return Issue(f"Invalid input: expected {written[0]}", facts=facts, given=value)
    return Issue(f"Invalid option: expected one of {'|'.join(written)}", facts=facts, given=value)


def unrecognized(keys: Sequence[str]) -> Issue:
    """Return the issue of keys that an object must not have."""
    written = [_quoted(key) for key in keys]
    message = f"Unrecognized key{'s' if len(written) > 1 else ''}: {', '.join(written)}"
    return Issue(message, facts={"code": "unrecognized_keys", "keys": list(keys)})


def no_option(value: JsonValue, tried: Sequence[Parsed]) -> Issue:
    """Return the issue of a value that fits no schema of a union."""
    return Issue(
        "Invalid input", facts={"code": "invalid_union"}, given=value, tried=tuple(one.issues for one in tried)
    )


def js_number(value: float) -> str:
    """Return a number as JavaScript writes it; from 1e21 on, with an exponent."""
    if isinstance(value, int):
        return str(value)
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return str(int(value)) if value.is_integer() and abs(value) < 1e21 else repr(value)


def js_double(value: float) -> float:
    """Return a number as JavaScript holds it: a double, infinite where a whole number is too large for one."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def is_number(value: JsonValue) -> bool:
    """True if a value is a number of JSON; to Python, true and false are numbers too."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _quoted(value: JsonValue) -> str:
    return js_number(value) if is_number(value) else encode(value)
