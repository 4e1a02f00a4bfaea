"""Argument checks of servers that send a whole `ZodError`: its issues as JSON of zod 4 or zod 3, or those of zod 3 by lines."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import cast

from simtrain.contracts.argument_style import Check
from simtrain.values.json_walk import each_object
from simtrain.values.types import JsonObject, JsonValue
from simtrain.worlds.argument_styles.zod import zod_check
from simtrain.worlds.argument_styles.zod_checks import utf16_length
from simtrain.worlds.argument_styles.zod_words import MISSING, Issue, Step, is_number, js_number, type_of


def zod_json(tool: str, schema: JsonObject) -> Check:
    """Return the check of a server whose zod 4 issues are sent as JSON. Raises ValueError for an invalid or recursive
    JSON Schema.
    """
    return zod_check(schema, lambda issues: _dumped(list(map(_fourth, issues))))


def zod3_json(tool: str, schema: JsonObject) -> Check:
    """Return the check of a server whose zod 3 issues are sent as JSON. Raises ValueError as `zod_json` does."""
    return zod_check(_lenient(schema), lambda issues: _dumped(list(_third(issues))), utf16_length)


def zod3(tool: str, schema: JsonObject) -> Check:
    """Return the check of a server whose zod 3 issues have a line each. Raises ValueError as `zod_json` does."""
    return zod_check(_lenient(schema), lambda issues: "\n".join(map(_line, _third(issues))), utf16_length)


def _line(issue: JsonObject) -> str:
    return str(Issue(issue["message"], tuple(issue["path"])))


def _lenient(schema: JsonObject) -> JsonObject:
    """Return the schema without `additionalProperties: false`, which the converter for zod 3 writes for every object, strict or not."""

    def relaxed(held: JsonObject) -> JsonObject:
        return {key: item for key, item in held.items() if (key, item) != ("additionalProperties", False)}

    return each_object(schema, relaxed)


def _fourth(issue: Issue) -> JsonObject:
    errors: JsonObject = {"errors": [list(map(_fourth, tried)) for tried in issue.tried]} if issue.tried else {}
    return {**issue.facts, **errors, "path": list(issue.path), "message": issue.message}


def _third(issues: Sequence[Issue], place: tuple[Step, ...] = ()) -> Iterator[JsonObject]:
    # zod 3 checks nothing more of a value of the wrong type; zod 4 goes on with its length.
    wrong = {issue.path for issue in issues if issue.facts.get("code") == "invalid_type"}
    for issue in issues:
        if issue.mild and issue.path in wrong:
            continue
        path = (*place, *issue.path)
        if not issue.tried:
            yield in_words_of_zod3(replace(issue, path=path))
            continue
        errors = [{"issues": list(_third(tried, path)), "name": "ZodError"} for tried in issue.tried]
        yield {"code": "invalid_union", "unionErrors": errors, "path": list(path), "message": "Invalid input"}


def _dumped(issues: list[JsonObject]) -> str:
    # The message of a ZodError is `JSON.stringify(issues, null, 2)`.
    return json.dumps(issues, indent=2, ensure_ascii=False)


_FORMATS = {"date-time": "datetime", "url": "url"}
_UNITS = {"string": ("String", "character(s)"), "array": ("Array", "element(s)")}
_KINDS = {"record": "object", "tuple": "array"}


def in_words_of_zod3(issue: Issue) -> JsonObject:
    """Return the issue in zod 3's form, with its members in the order in which that version sets them."""
    words = _WORDS.get(cast(str, issue.facts.get("code")), _other)
    found = words(issue.facts, issue.given)
    if "message" in found:
        return {**found, "path": list(issue.path)}
    message = found.pop("text")
    return {**found, "path": list(issue.path), "message": message}


def _type(facts: JsonObject, given: JsonValue) -> JsonObject:
    kind = facts["expected"]
    if kind == "int":
        integer: JsonObject = {"code": "invalid_type", "expected": "integer", "received": "float"}
        return {**integer, "message": "Expected integer, received float"}
    kind = _KINDS.get(kind, kind)
    received = type_of(given)
    text = "Required" if given is MISSING else f"Expected {kind}, received {received}"
    return {"code": "invalid_type", "expected": kind, "received": received, "text": text}


def _value(facts: JsonObject, given: JsonValue) -> JsonObject:
    values = facts["values"]
    quoted = " | ".join(f"'{value}'" if isinstance(value, str) else _number(value) for value in values)
    if len(values) == 1:
        literal = values[0]
        shown = f'"{literal}"' if isinstance(literal, str) else _number(literal)
        received: JsonObject = {} if given is MISSING else {"received": given}
        return {
            **received,
            "code": "invalid_literal",
            "expected": literal,
            "text": f"Invalid literal value, expected {shown}",
        }
    if isinstance(given, str):
        text = f"Invalid enum value. Expected {quoted}, received '{given}'"
        return {"received": given, "code": "invalid_enum_value", "options": values, "text": text}
    received_type = type_of(given)
    text = "Required" if given is MISSING else f"Expected {quoted}, received {received_type}"
    return {"expected": quoted, "received": received_type, "code": "invalid_type", "text": text}


def _limit(facts: JsonObject, side: str, length: str, size: str) -> JsonObject:
    kind, limit = facts["origin"].replace("int", "number"), facts[side]
    exact, inclusive = facts.get("exact") is True, facts["inclusive"] is True
    if kind in _UNITS:
        name, unit = _UNITS[kind]
        message = f"{name} must contain {'exactly' if exact else length} {limit} {unit}"
    else:
        message = f"Number must be {size}{' or equal to' if inclusive else ''} {_number(limit)}"
    found: JsonObject = {"code": facts["code"], side: limit, "type": kind, "inclusive": inclusive, "exact": exact}
    return {**found, "message": message}


def _multiple(facts: JsonObject, given: JsonValue) -> JsonObject:
    step = facts["divisor"]
    return {"code": "not_multiple_of", "multipleOf": step, "message": f"Number must be a multiple of {_number(step)}"}


def _format(facts: JsonObject, given: JsonValue) -> JsonObject:
    form = facts["format"]
    form = _FORMATS.get(form, form)
    message = "Invalid" if form == "regex" else f"Invalid {form}"
    return {"validation": form, "code": "invalid_string", "message": message}


def _keys(facts: JsonObject, given: JsonValue) -> JsonObject:
    keys = facts["keys"]
    quoted = ", ".join(f"'{key}'" for key in keys)
    return {"code": "unrecognized_keys", "keys": keys, "text": f"Unrecognized key(s) in object: {quoted}"}


def _other(facts: JsonObject, given: JsonValue) -> JsonObject:
    return {**facts, "text": "Invalid input"}


def _number(value: JsonValue) -> str:
    return js_number(value) if is_number(value) else str(value).lower()


_WORDS: Mapping[str, Callable[[JsonObject, JsonValue], JsonObject]] = {
    "invalid_type": _type,
    "invalid_value": _value,
    "too_small": lambda facts, _: _limit(facts, "minimum", "at least", "greater than"),
    "too_big": lambda facts, _: _limit(facts, "maximum", "at most", "less than"),
    "not_multiple_of": _multiple,
    "invalid_format": _format,
    "unrecognized_keys": _keys,
}
