"""Zod's checks of single values beyond their type: lengths, limits, patterns and formats, in zod's words."""

import operator
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sized
from typing import TypeAlias, cast

from simtrain.files.json_schemas import validator
from simtrain.values.types import JsonObject, JsonValue
from simtrain.worlds.argument_styles.zod_words import Issue, is_number, js_double, js_number

# JavaScript's Number.MAX_SAFE_INTEGER.
LARGEST_INT = 2**53 - 1

Limits: TypeAlias = Callable[[JsonValue], Iterator[Issue]]

_FORMATS = {
    "email": "Invalid email address", "uri": "Invalid URL", "uuid": "Invalid UUID", "date-time": "Invalid ISO datetime",
    "date": "Invalid ISO date", "time": "Invalid ISO time", "duration": "Invalid ISO duration", "ipv4": "Invalid IPv4 address",
    "ipv6": "Invalid IPv6 address", "cuid": "Invalid cuid", "cuid2": "Invalid cuid2", "ulid": "Invalid ULID",
    "nanoid": "Invalid nanoid", "emoji": "Invalid emoji", "jwt": "Invalid JWT", "cidrv4": "Invalid IPv4 range",
    "cidrv6": "Invalid IPv6 range", "base64": "Invalid base64-encoded string",
    "base64url": "Invalid base64url-encoded string", "e164": "Invalid E.164 number",
}  # fmt: skip
_BOUNDS: Mapping[str, tuple[str, Callable[[float, float], bool]]] = {
    "minimum": ("Too small: expected number to be >=", operator.lt),
    "exclusiveMinimum": ("Too small: expected number to be >", operator.le),
    "maximum": ("Too big: expected number to be <=", operator.gt),
    "exclusiveMaximum": ("Too big: expected number to be <", operator.ge),
}
# zod writes a time as a pattern without a format.
_TIME = r"^(?:[01]\d|2[0-3]):[0-5]\d"
_URL = r"^[A-Za-z][A-Za-z0-9+.\-]*:.+$"
_SPECIAL = re.compile(r"(https?|wss?|ftp):", re.IGNORECASE)
_HOST = re.compile(r"[a-z]+:[/\\]*[^/\\?#\s]+", re.IGNORECASE)


def utf16_length(text: str) -> int:
    """Return the length of a text as JavaScript and zod 3 count it: an emoji is two UTF-16 code units."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def length_limits(low: int | None, high: int | None, text_length: Callable[[str], int] = len) -> Limits:
    """Return the limits on the length of a text or a list. Zod checks every value that has a length, even one of the wrong type.

    `text_length` counts a text: zod 4.6 counts code points, as Python does.
    """
    exact = low is not None and low == high

    def check(value: JsonValue) -> Iterator[Issue]:
        if not isinstance(value, str | list):
            return
        length = text_length(value) if isinstance(value, str) else len(cast(Sized, value))
        kind, unit = ("string", "characters") if isinstance(value, str) else ("array", "items")
        whole: JsonObject = {"inclusive": True} | ({"exact": True} if exact else {})
        if low is not None and length < low:
            facts: JsonObject = {"origin": kind, "code": "too_small", "minimum": low, **whole}
            words = f"Too small: expected {kind} to have {'exactly ' if exact else '>='}{low} {unit}"
            yield Issue(words, mild=True, facts=facts, given=value)
        if high is not None and length > high:
            facts = {"origin": kind, "code": "too_big", "maximum": high, **whole}
            words = f"Too big: expected {kind} to have {'exactly ' if exact else '<='}{high} {unit}"
            yield Issue(words, mild=True, facts=facts, given=value)

    return check


def number_limits(schema: JsonObject) -> Limits:
    """Return the limits on a number; an integer also stays within JavaScript's safe ones."""
    whole = schema.get("type") == "integer"
    bounds = [
        (key, phrase, schema[key], fails)
        for key, (phrase, fails) in _BOUNDS.items()
        # zod writes the safe limits into every integer's schema; they are checked below, with words of their own.
        if is_number(schema.get(key)) and not (whole and abs(schema[key]) == LARGEST_INT)
    ]
    step = schema.get("multipleOf")

    def check(value: JsonValue) -> Iterator[Issue]:
        if whole and value != int(value):
            facts: JsonObject = {"expected": "int", "format": "safeint", "code": "invalid_type"}
            yield Issue("Invalid input: expected int, received number", facts=facts, given=value)
            return
        if whole and value > LARGEST_INT:
            yield Issue(
                f"Too big: expected int to be <={LARGEST_INT}", mild=True, facts=_beyond("maximum"), given=value
            )
        if whole and value < -LARGEST_INT:
            words = f"Too small: expected int to be >={-LARGEST_INT}"
            yield Issue(words, mild=True, facts=_beyond("minimum"), given=value)
        for key, phrase, limit, fails in bounds:
            if fails(value, limit):
                yield Issue(f"{phrase}{js_number(limit)}", mild=True, facts=_bound(key, limit), given=value)
        if step and not _is_multiple(value, step):
            words = f"Invalid number: must be a multiple of {js_number(step)}"
            facts = {"origin": "number", "code": "not_multiple_of", "divisor": step}
            yield Issue(words, mild=True, facts=facts, given=value)

    return check


def _is_multiple(value: float, step: float) -> bool:
    """True if zod takes a number for a multiple of a step: 0.3 is one of 0.1, although binary fractions leave a rest.

    The tolerance is that of zod 4.6 (`floatSafeRemainder`). Zod 3 agrees on decimal fractions written out in full.
    """
    ratio = abs(js_double(value) / js_double(step))
    rest = ratio % 1
    return min(rest, 1 - rest) < 4 * sys.float_info.epsilon * max(ratio, 1)


def _bound(key: str, limit: float) -> JsonObject:
    """Return zod's facts about a limit that a number breaks; a whole limit is written without a decimal point."""
    number = int(limit) if float(limit).is_integer() else limit
    side: JsonObject = (
        {"code": "too_small", "minimum": number} if "inimum" in key else {"code": "too_big", "maximum": number}
    )
    return {"origin": "number", **side, "inclusive": not key.startswith("exclusive")}


def _beyond(side: str) -> JsonObject:
    """Return zod's facts about an integer beyond JavaScript's safe ones."""
    low = side == "minimum"
    limit = -LARGEST_INT if low else LARGEST_INT
    note = "Integers must be within the safe integer range."
    return {"code": "too_small" if low else "too_big", side: limit, "note": note, "origin": "int", "inclusive": True}


def text_limits(schema: JsonObject) -> Limits:
    """Return the check of a text's pattern or format. Raises ValueError for an invalid pattern."""
    form, pattern = schema.get("format"), schema.get("pattern")
    message = _message(form, pattern)
    if message is None:
        return lambda value: iter(())
    compiled = validator({"pattern": pattern or (_URL if form == "uri" else "")})
    facts = _form_facts(form, pattern)

    def check(value: JsonValue) -> Iterator[Issue]:
        if not compiled.is_valid(value) or (form == "uri" and _SPECIAL.match(value) and not _HOST.match(value)):
            yield Issue(message, mild=True, facts=facts, given=value)

    return check


def _form_facts(form: JsonValue, pattern: JsonValue) -> JsonObject:
    """Return zod's facts about a text of the wrong form. A URL has neither origin nor pattern."""
    if form == "uri":
        return {"code": "invalid_format", "format": "url"}
    named = form if isinstance(form, str) else "regex"
    facts: JsonObject = {"origin": "string", "code": "invalid_format", "format": named.replace("date-time", "datetime")}
    return {**facts, "pattern": f"/{pattern}/"} if isinstance(pattern, str) else facts


def _message(form: JsonValue, pattern: JsonValue) -> str | None:
    if form in _FORMATS:
        return _FORMATS[form]
    if not isinstance(pattern, str):
        return None
    if pattern.startswith(_TIME):
        return _FORMATS["time"]
    if form == "starts_with":
        return f'Invalid string: must start with "{pattern.removeprefix("^").removesuffix(".*")}"'
    if form == "ends_with":
        return f'Invalid string: must end with "{pattern.removeprefix(".*").removesuffix("$")}"'
    return f"Invalid string: must match pattern /{pattern}/"
