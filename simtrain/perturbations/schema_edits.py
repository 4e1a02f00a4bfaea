"""Widens output schemas, so that changed replies still fit them."""

from collections.abc import Callable
from dataclasses import replace

from simtrain.values.types import JsonObject, JsonValue, ToolSpec, is_list, is_object

# Where JSON Schema 2020-12 (and draft 7) puts subschemas: maps by name, lists, single ones. Elsewhere objects are data.
_NAMED = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
_LISTED = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
_SINGLE = frozenset({"items", "additionalProperties", "unevaluatedProperties", "contains", "not", "if", "then", "else"})
# Keywords that a value of another type, or none at all, could not meet.
_BOUNDS = (
    "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "pattern", "format",
    "enum", "const", "minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties",
)  # fmt: skip

_CONFUSED = (({"number", "integer", "boolean", "null"}, "string"), ({"boolean", "string"}, "integer"))


def widened(tools: tuple[ToolSpec, ...], change: Callable[[JsonObject], JsonObject]) -> tuple[ToolSpec, ...]:
    """Return the tools with every schema inside their output schemas changed; tools without one, or without a change,
    stay the same.
    """
    return tuple(_widened(tool, change) for tool in tools)


def _widened(tool: ToolSpec, change: Callable[[JsonObject], JsonObject]) -> ToolSpec:
    if tool.output_schema is None:
        return tool
    schema = each_schema(tool.output_schema, change)
    return tool if schema == tool.output_schema else replace(tool, output_schema=schema)


def each_schema(schema: JsonValue, change: Callable[[JsonObject], JsonObject]) -> JsonValue:
    """Return a schema with a change applied to it and all its subschemas, innermost first."""
    if not is_object(schema):
        return schema
    changed = {name: _inside(name, value, change) for name, value in schema.items()}
    return change(changed)


def _inside(name: str, value: JsonValue, change: Callable[[JsonObject], JsonObject]) -> JsonValue:
    if name in _NAMED and is_object(value):
        return {key: each_schema(inner, change) for key, inner in value.items()}
    if name in _LISTED and is_list(value):
        return [each_schema(inner, change) for inner in value]
    return each_schema(value, change) if name in _SINGLE else value


def or_less(schema: JsonObject) -> JsonObject:
    """Return a schema in which members may be missing or null, and lists and texts empty."""
    kept = {name: value for name, value in schema.items() if name not in ("required", *_BOUNDS)}
    return or_type(kept, "null")


def or_otherwise(schema: JsonObject) -> JsonObject:
    """Return a schema in which numbers and booleans may also be text, without bounds and formats."""
    kept = {name: value for name, value in schema.items() if name not in _BOUNDS}
    return or_type(kept, "string") if {"number", "integer", "boolean"} & set(types_of(kept)) else kept


def or_confused(schema: JsonObject) -> JsonObject:
    """Return a schema in which values may also be of a type that services confuse them with: text, digits, seconds, one item for a list."""
    kept = {name: value for name, value in schema.items() if name not in _BOUNDS}
    types = set(types_of(kept))
    for held, further in _CONFUSED:
        if types & held:
            kept = or_type(kept, further)
    # anyOf, since the items of a list may be of any type and have keywords of their own.
    return {"anyOf": [kept, kept["items"]]} if "array" in types and "items" in kept else kept


def without_bounds(schema: JsonObject) -> JsonObject:
    """Return a schema in which a number may be any number."""
    kept = {name: value for name, value in schema.items() if name not in _BOUNDS}
    return or_type(kept, "number") if "integer" in types_of(kept) else kept


def or_type(schema: JsonObject, further: str) -> JsonObject:
    """Return a schema that allows a further type, if it names types at all."""
    types = types_of(schema)
    # A schema without types allows all of them already.
    return schema if not types or further in types else {**schema, "type": [*types, further]}


def types_of(schema: JsonObject) -> list[str]:
    """Return the types that a schema names."""
    named: JsonValue = schema.get("type", [])
    return [named] if isinstance(named, str) else list(named)


def or_list(schema: JsonObject) -> JsonObject:
    """Return a schema whose members that are records may also be lists of records."""
    properties: JsonValue = schema.get("properties")
    if not is_object(properties):
        return schema
    return {**schema, "properties": {name: _or_list_of(member) for name, member in properties.items()}}


def _or_list_of(member: JsonObject) -> JsonObject:
    return {"anyOf": [member, {"type": "array", "items": member}]} if "object" in types_of(member) else member
