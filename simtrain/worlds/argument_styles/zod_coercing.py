"""Argument checks of JavaScript servers that coerce: what JavaScript reads as a number is a number, and `"true"` is true.

The schema says `integer` or `number` for a coerced number and `["boolean", "string"]` for a boolean that may be written as text.
"""

import math
import re
from collections.abc import Callable
from typing import TypeAlias, cast

from simtrain.contracts.argument_style import Check, CheckedArguments
from simtrain.files.json_schemas import validator
from simtrain.values.types import JsonObject, JsonValue, is_list, is_object
from simtrain.worlds.argument_styles.zod_checks import Limits, number_limits
from simtrain.worlds.argument_styles.zod_words import MISSING, Issue, Parsed, expected, is_number, js_double, js_number

Read: TypeAlias = Callable[[JsonValue], Parsed]

# JavaScript's white space; `str.strip` would take U+001C to U+001F and U+0085 as well.
_SPACE = "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
_DECIMAL = re.compile(r"[+-]?(?:Infinity|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)")
_OTHER_BASE = re.compile(r"0(?:[xX](?P<hex>[0-9a-fA-F]+)|[bB](?P<binary>[01]+)|[oO](?P<octal>[0-7]+))")
_BASES = {"hex": 16, "binary": 2, "octal": 8}


def zod_coercing(tool: str, schema: JsonObject) -> Check:
    """Return the check of a server that coerces; unknown arguments are dropped. Raises ValueError for other types
    than these and `string`.
    """
    validator(schema)
    required = schema.get("required", [])
    readers = {name: _reader(described) for name, described in schema.get("properties", {}).items()}

    def check(arguments: JsonObject) -> CheckedArguments:
        found: JsonObject = {}
        issues: list[Issue] = []
        for name, read in readers.items():
            if name not in arguments and name not in required:
                continue
            parsed = read(arguments.get(name, MISSING))
            found[name] = parsed.value
            issues += [issue.under(name) for issue in parsed.issues]
        return CheckedArguments(arguments, "\n".join(map(str, issues))) if issues else CheckedArguments(found)

    return check


def _reader(schema: JsonObject) -> Read:
    kind = schema.get("type")
    if kind == "string":
        return lambda value: Parsed(value, () if isinstance(value, str) else (expected("string", value),))
    if kind in ("integer", "number"):
        limits = number_limits(schema)
        return lambda value: _within(_number(value), limits, whole=kind == "integer")
    if is_list(kind) and set(kind) == {"boolean", "string"}:
        return _boolean
    raise ValueError(f"an argument of type {kind!r} cannot be coerced")


def _boolean(value: JsonValue) -> Parsed:
    if isinstance(value, bool):
        return Parsed(value)
    if not isinstance(value, str):
        return Parsed(value, (Issue("Invalid input"),))
    if value.lower() not in ("true", "false"):
        return Parsed(value, (Issue(f'Expected boolean or "true"/"false" string, received "{value}"'),))
    return Parsed(value.lower() == "true")


def _within(number: float, limits: Limits, *, whole: bool) -> Parsed:
    """Return the number with the limits that it breaks; a whole one as int."""
    if not math.isfinite(number):
        return Parsed(number, (Issue(f"Invalid input: expected number, received {js_number(number)}"),))
    issues = tuple(limits(number))
    return Parsed(int(number) if whole and not issues else number, issues)


def _number(value: JsonValue) -> float:
    """Return JavaScript's `Number(value)` (ECMA-262, 7.1.4)."""
    if value is None:
        return 0.0
    if isinstance(value, bool | int | float):
        return js_double(value)
    if is_list(value):
        return _number(_joined(value))
    return _parsed(value.strip(_SPACE)) if isinstance(value, str) else math.nan


def _parsed(text: str) -> float:
    if not text:
        return 0.0
    other = _OTHER_BASE.fullmatch(text)
    if other is not None:
        base = cast(str, other.lastgroup)
        return _number(int(other[base], _BASES[base]))
    # `float` alone would also read `nan`, `inf` and `1_000`.
    return float(text) if _DECIMAL.fullmatch(text) else math.nan


def _joined(values: list[JsonValue]) -> str:
    """Return a list as JavaScript turns it into text."""
    return ",".join("" if value is None else _written(value) for value in values)


def _written(value: JsonValue) -> str:
    """Return a value as JavaScript turns it into text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if is_list(value):
        return _joined(value)
    if is_object(value):
        return "[object Object]"
    return js_number(value) if is_number(value) else str(value)
