"""Argument style zod: what servers of the JavaScript SDK say of bad arguments, and what they make of good ones."""

from __future__ import annotations

import pytest

from simtrain.contracts.argument_style import CheckedArguments
from simtrain.values.types import JsonObject, JsonValue
from simtrain.worlds.argument_styles.zod import zod
from simtrain.worlds.argument_styles.zod_dumped import zod3

TAGGED: list[JsonObject] = [
    {
        "type": "object",
        "properties": {"t": {"type": "string", "const": tag}, "v": {"type": kind}},
        "required": ["t", "v"],
    }
    for tag, kind in (("a", "string"), ("b", "number"))
]
NESTED: JsonObject = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {"x": {"type": "string"}, "y": {"type": "array", "items": {"type": "integer"}}},
        "required": ["x"],
    },
}


def checked(schema: JsonObject, *given: JsonValue) -> CheckedArguments:
    """The check of an argument `a` with a schema; without a value it is not given."""
    arguments: JsonObject = {"a": given[0]} if given else {}
    whole: JsonObject = {"type": "object", "properties": {"a": schema}, "required": ["a"]}
    return zod("t", whole)(arguments)


@pytest.mark.parametrize(
    ("schema", "value", "problem"),
    [
        ({"type": "string"}, None, "Invalid input: expected string, received null at a"),
        ({"type": "string"}, True, "Invalid input: expected string, received boolean at a"),
        ({"type": "string", "minLength": 2}, "x", "Too small: expected string to have >=2 characters at a"),
        ({"type": "string", "minLength": 2, "maxLength": 2}, "xyz", "Too big: expected string to have exactly 2 characters at a"),
        ({"type": "string", "minLength": 2}, [],
         "Invalid input: expected string, received array at a\n"
         "Too small: expected array to have >=2 items at a"),
        ({"type": "string", "pattern": "^a+$"}, "b", "Invalid string: must match pattern /^a+$/ at a"),
        ({"type": "string", "format": "email", "pattern": "@"}, "b", "Invalid email address at a"),
        ({"type": "string", "format": "uri"}, "b", "Invalid URL at a"),
        ({"type": "number"}, "5", "Invalid input: expected number, received string at a"),
        ({"type": "number", "minimum": 1.5}, 1, "Too small: expected number to be >=1.5 at a"),
        ({"type": "number", "exclusiveMaximum": 3}, 3, "Too big: expected number to be <3 at a"),
        ({"type": "number", "multipleOf": 5}, 7, "Invalid number: must be a multiple of 5 at a"),
        ({"type": "integer"}, 1.5, "Invalid input: expected int, received number at a"),
        ({"type": "integer", "maximum": 10}, 1e20,
         "Too big: expected int to be <=9007199254740991 at a\n"
         "Too big: expected number to be <=10 at a"),
        ({"type": "boolean"}, 1, "Invalid input: expected boolean, received number at a"),
        ({"type": "string", "enum": ["x", "y"]}, "z", 'Invalid option: expected one of "x"|"y" at a'),
        ({"type": "string", "enum": ["only"]}, None, 'Invalid input: expected "only" at a'),
        ({"const": True}, 1, "Invalid input: expected true at a"),
        ({"type": "array", "items": {"type": "string"}}, {}, "Invalid input: expected array, received object at a"),
        ({"type": "array", "minItems": 1}, [], "Too small: expected array to have >=1 items at a"),
        ({"type": "array", "maxItems": 1, "items": {"type": "string"}}, [1, 2], "Too big: expected array to have <=1 items at a"),
        (NESTED, [{"x": 1, "y": [1.5]}, 3],
         "Invalid input: expected string, received number at a[0].x\n"
         "Invalid input: expected int, received number at a[0].y[0]\n"
         "Invalid input: expected object, received number at a[1]"),
        ({"type": "object", "additionalProperties": {"type": "number"}}, {"k": "v"},
         "Invalid input: expected number, received string at a.k"),
        ({"type": "object", "additionalProperties": {"type": "number"}}, 1, "Invalid input: expected record, received number at a"),
        ({"type": "object", "additionalProperties": False}, {"k": 1, "l": 2}, 'Unrecognized keys: "k", "l" at a'),
        ({"type": ["string", "null"]}, 1, "Invalid input: expected string, received number at a"),
        ({"anyOf": [{"type": "string"}, {"type": "array"}]}, 1, "Invalid input at a"),
        ({"anyOf": [{"type": "string", "minLength": 3}, {"type": "number"}]}, "x",
         "Too small: expected string to have >=3 characters at a"),
        ({"oneOf": TAGGED}, {"t": "c"}, "Invalid discriminator value. Expected 'a' | 'b' at a.t"),
        ({"oneOf": TAGGED}, {"t": "b", "v": "x"}, "Invalid input: expected number, received string at a.v"),
        ({"type": "array", "prefixItems": [{"type": "string"}, {"type": "number"}]}, [1],
         "Too small: expected array to have >=2 items at a"),
    ],
)  # fmt: skip
def test_every_mistake_has_zods_words(schema: JsonObject, value: JsonValue, problem: str) -> None:
    assert checked(schema, value).problem == problem


@pytest.mark.parametrize(
    ("value", "step"),
    [(0.3, 0.1), (-0.3, 0.1), (19.99, 0.01), (2.03, 0.07), (3e-7, 1e-7), (1.0, 0.1), (0, 0.1), (15, 5)],
)
def test_a_decimal_fraction_is_a_multiple_as_people_count(value: float, step: float) -> None:
    assert checked({"type": "number", "multipleOf": step}, value).problem is None


@pytest.mark.parametrize(("value", "step"), [(0.35, 0.1), (0.3000001, 0.1), (19.995, 0.01), (7, 5)])
def test_a_number_between_two_multiples_is_refused(value: float, step: float) -> None:
    assert checked({"type": "number", "multipleOf": step}, value).problem == (
        f"Invalid number: must be a multiple of {step} at a"
    )


def test_a_number_too_large_for_javascript_is_no_multiple() -> None:
    assert checked({"type": "number", "multipleOf": 0.1}, 10**400).problem == (
        "Invalid number: must be a multiple of 0.1 at a"
    )


@pytest.mark.parametrize(
    ("limit", "text", "third", "fourth"),
    [
        ({"maxLength": 2}, "a😀", "String must contain at most 2 character(s) at a", None),
        ({"minLength": 2}, "😀", None, "Too small: expected string to have >=2 characters at a"),
        ({"minLength": 1, "maxLength": 1}, "😀", "String must contain exactly 1 character(s) at a", None),
        ({"maxLength": 2}, "éß", None, None),
    ],
)
def test_zod_3_counts_utf_16_code_units_and_zod_4_code_points(
    limit: JsonObject, text: str, third: str | None, fourth: str | None
) -> None:
    of_a: JsonObject = {"type": "string", **limit}
    assert zod3("t", {"type": "object", "properties": {"a": of_a}, "required": ["a"]})({"a": text}).problem == third
    assert checked(of_a, text).problem == fourth


def test_a_list_has_the_length_of_its_items_in_both_versions() -> None:
    listed: JsonObject = {"type": "object", "properties": {"a": {"type": "array", "maxItems": 1}}}
    assert zod3("t", listed)({"a": ["😀"]}).problem is None
    assert zod("t", listed)({"a": ["😀"]}).problem is None


def test_an_absent_argument_is_undefined() -> None:
    assert checked({"type": "string"}).problem == "Invalid input: expected string, received undefined at a"
    assert checked({"anyOf": [{"type": "string"}, {"type": "number"}]}).problem == "Invalid input at a"


def test_unknown_arguments_are_dropped_at_every_depth() -> None:
    schema: JsonObject = {"type": "object", "properties": {"x": {"type": "string"}}}
    assert checked(schema, {"x": "s", "q": 1}) == CheckedArguments({"a": {"x": "s"}})
    assert zod("t", {"type": "object", "properties": {}})({"b": 1}) == CheckedArguments({})


def test_unknown_arguments_are_kept_or_refused_where_the_schema_says_so() -> None:
    kept: JsonObject = {"type": "object", "properties": {}, "additionalProperties": {}}
    assert zod("t", kept)({"b": 1}) == CheckedArguments({"b": 1})
    assert zod("t", {**kept, "additionalProperties": False})({"b": 1}).problem == 'Unrecognized key: "b"'


def test_absent_arguments_get_their_defaults_and_absent_optional_ones_stay_absent() -> None:
    schema: JsonObject = {
        "type": "object",
        "properties": {"d": {"default": [], "type": "array"}, "o": {"type": "string"}},
    }
    assert zod("t", schema)({}) == CheckedArguments({"d": []})


def test_references_within_the_schema_are_followed() -> None:
    schema: JsonObject = {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/n"}},
        "$defs": {"n": {"type": "number"}},
    }
    assert zod("t", schema)({"a": "x"}).problem == "Invalid input: expected number, received string at a"


def test_a_schema_within_itself_is_refused() -> None:
    schema: JsonObject = {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/n"}},
        "$defs": {"n": {"type": "array", "items": {"$ref": "#/$defs/n"}}},
    }
    with pytest.raises(ValueError, match="refers to itself"):
        zod("t", schema)
