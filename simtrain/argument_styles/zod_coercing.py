"""Argument checks as JavaScript servers make them that coerce: whatever JavaScript reads as a number is one, and `"true"` is true.

The schema says `integer` or `number` for a coerced number and `["boolean", "string"]` for a boolean that may be written as text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import cast

from simtrain.argument_style import Check, Checked
from simtrain.schemas import validator
from simtrain.types import JsonObject, JsonValue

SAFE = 2**53 - 1

_MISSING = object()
# The white space of JavaScript; Python strips a few control characters more.
_SPACE = "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
_DECIMAL = re.compile(r"[+-]?(?:Infinity|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)")
_OTHER_BASE = re.compile(r"0(?:[xX](?P<hex>[0-9a-fA-F]+)|[bB](?P<binary>[01]+)|[oO](?P<octal>[0-7]+))")
_BASES = {"hex": 16, "binary": 2, "octal": 8}


class _Problem(Exception):
    """What is wrong with one argument; several lines where several things are."""


def zod_coercing(tool: str, schema: JsonObject) -> Check:
    """The check of a server that coerces; unknown arguments are dropped. Raises ValueError for other types than these and `string`."""
    validator(schema)
    required = cast(list[str], schema.get("required", []))
    readers = {name: _reader(described) for name, described in cast(JsonObject, schema.get("properties", {})).items()}

    def check(arguments: JsonObject) -> Checked:
        found: JsonObject = {}
        problems: list[str] = []
        for name, read in readers.items():
            if name not in arguments and name not in required:
                continue
            try:
                found[name] = read(arguments.get(name, _MISSING))
            except _Problem as problem:
                problems += [f"{line} at {name}" for line in problem.args]
        return Checked(arguments, "\n".join(problems)) if problems else Checked(found)

    return check


def _reader(schema: JsonObject) -> Callable[[JsonValue], JsonValue]:
    kind = schema.get("type")
    if kind == "string":
        return _text
    if kind in ("integer", "number"):
        return lambda value: _limited(_number(value), schema)
    if isinstance(kind, list) and set(cast(list[str], kind)) == {"boolean", "string"}:
        return _boolean
    raise ValueError(f"an argument of type {kind!r} cannot be coerced")


def _text(value: JsonValue) -> str:
    if isinstance(value, str):
        return value
    raise _Problem(f"Invalid input: expected string, received {_type_of(value)}")


def _boolean(value: JsonValue) -> bool:
    if isinstance(value, bool):
        return value
    if not isinstance(value, str):
        raise _Problem("Invalid input")
    if value.lower() not in ("true", "false"):
        raise _Problem(f'Expected boolean or "true"/"false" string, received "{value}"')
    return value.lower() == "true"


def _limited(number: float, schema: Mapping[str, JsonValue]) -> float:
    """The number within the limits of its schema; an integer as one."""
    if not math.isfinite(number):
        raise _Problem(f"Invalid input: expected number, received {_written(number)}")
    problems: list[str] = []
    whole = schema["type"] == "integer"
    if whole:
        if number != int(number):
            raise _Problem("Invalid input: expected int, received number")
        if number > SAFE:
            problems.append(f"Too big: expected int to be <={SAFE}")
        if number < -SAFE:
            problems.append(f"Too small: expected int to be >={-SAFE}")
    low, high = schema.get("minimum", -math.inf), schema.get("maximum", math.inf)
    if number < low and low > -SAFE:
        problems.append(f"Too small: expected number to be >={_written(low)}")
    if number > high and high < SAFE:
        problems.append(f"Too big: expected number to be <={_written(high)}")
    if problems:
        raise _Problem(*problems)
    return int(number) if whole else number


def _number(value: JsonValue) -> float:
    """What JavaScript's `Number(value)` says (ECMA-262, 7.1.4)."""
    if value is None:
        return 0.0
    if isinstance(value, bool | int | float):
        try:
            return float(value)
        except OverflowError:
            return math.inf if value > 0 else -math.inf
    if isinstance(value, list):
        return _number(_joined(cast(list[JsonValue], value)))
    return _parsed(value.strip(_SPACE)) if isinstance(value, str) else math.nan


def _parsed(text: str) -> float:
    if not text:
        return 0.0
    other = _OTHER_BASE.fullmatch(text)
    if other is not None:
        base = cast(str, other.lastgroup)
        return _number(int(other[base], _BASES[base]))
    return float(text) if _DECIMAL.fullmatch(text) else math.nan


def _joined(values: list[JsonValue]) -> str:
    """A list as JavaScript turns it into text."""
    return ",".join("" if value is None else _written(value) for value in values)


def _written(value: JsonValue) -> str:
    """A value as JavaScript turns it into text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return _joined(cast(list[JsonValue], value))
    if isinstance(value, dict):
        return "[object Object]"
    if isinstance(value, float):
        return _float(value)
    return str(value)


def _float(value: float) -> str:
    if math.isfinite(value):
        return str(int(value)) if value.is_integer() and abs(value) < 1e21 else repr(value)
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _type_of(value: JsonValue) -> str:
    """What zod calls the type of a value."""
    if value is _MISSING:
        return "undefined"
    if value is None:
        return "null"
    names: Mapping[type, str] = {bool: "boolean", int: "number", float: "number", list: "array", dict: "object"}
    return names[type(value)]
