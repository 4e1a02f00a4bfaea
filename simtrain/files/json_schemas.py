"""Compile JSON Schemas in one place, without ever opening a URL or a file."""

from collections.abc import Iterator
from typing import Any, NoReturn, cast

import jsonschema_rs

from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject, JsonValue, as_object, is_list, is_object


def validator(schema: JsonObject) -> Any:
    """Return the compiled validator of a schema. Raises ValueError for an invalid JSON Schema, and for one that refers to another file."""
    return jsonschema_rs.validator_for(schema, retriever=_refuse)


def _refuse(address: str) -> NoReturn:
    # Schemas come from untrusted files: they must not make us open a URL or a file.
    raise ValueError("a schema may refer to nothing outside itself")


def check_schema(schema: JsonObject, *, place: str) -> None:
    """Raise InputError, at the place of the mistake, for an invalid JSON Schema, or one that refers to another file."""
    try:
        validator(schema)
    except jsonschema_rs.ValidationError as error:
        # Before 0.60 a pattern that cannot be compiled is only placed by the second.
        found = error.instance_path or error.schema_path
        parts = [part for part in found if part != "properties"]
        raise InputError(
            f"not a JSON Schema: {error.message}", place=".".join(str(part) for part in (place, *parts))
        ) from None


def is_schema(value: JsonValue) -> bool:
    """True if a JSON value is a valid JSON Schema; servers also declare invalid ones."""
    if not is_object(value):
        return False
    try:
        validator(value)
    except ValueError:
        return False
    return True


def properties_of(schema: JsonValue) -> JsonObject:
    """Return the properties that a schema declares, by name; empty if it declares none."""
    declared: JsonValue = schema.get("properties") if is_object(schema) else None
    return as_object(declared)


def property_names(schema: JsonValue) -> Iterator[str]:
    """Yield the names of all properties in a schema, nested ones included."""
    if is_object(schema):
        for name, part in schema.items():
            if name == "properties" and is_object(part):
                yield from part
            yield from property_names(part)
    elif is_list(schema):
        for part in schema:
            yield from property_names(part)


def declared_names(schema: JsonValue, *types: str) -> frozenset[str] | None:
    """Return the names of all properties that a schema declares, at any depth; None if it allows others, or names none.

    With `types` only those that may hold a value of one of them.
    """
    found: set[str] = set()
    return frozenset(found) if _declares(schema, found, frozenset(types)) else None


def _declares(schema: JsonValue, found: set[str], wanted: frozenset[str]) -> bool:
    """Collect names; return True if the schema allows no others. A property without a type is a scalar of any type."""
    if not is_object(schema):
        return False
    # These may declare names elsewhere, so the names found here would not be all.
    if any(name in schema for name in ("$ref", "anyOf", "oneOf", "allOf", "patternProperties", "if", "prefixItems")):
        return False
    named: JsonValue = schema.get("type")
    types = named if is_list(named) else [named]
    if "array" in types and not _declares(schema.get("items"), found, wanted):
        return False
    if "object" not in types:
        return True
    properties = cast(JsonObject, schema.get("properties") or {})
    found.update(name for name, inner in properties.items() if not wanted or _has_type(inner, wanted))
    # Strictly, a schema without `additionalProperties: false` is open; servers that declare properties mean them as all.
    closed = bool(properties) and not schema.get("additionalProperties")
    return all([closed, *(_declares(inner, found, wanted) for inner in properties.values())])


def _has_type(schema: JsonValue, wanted: frozenset[str]) -> bool:
    named: JsonValue = schema.get("type") if is_object(schema) else None
    return named is None or not wanted.isdisjoint(named if is_list(named) else [named])


def may_hold(schema: JsonValue, *types: str) -> bool:
    """True if a value of one of these types may occur somewhere in data that fits a schema; true if the schema does
    not say.
    """
    if not is_object(schema) or not schema:
        return True
    named: JsonValue = schema.get("type")
    own = named if is_list(named) else [named]
    if declared_names(schema) is None or named is None or not set(types).isdisjoint(own):
        return True
    inner = [*cast(JsonObject, schema.get("properties") or {}).values()]
    return any(may_hold(item, *types) for item in ([*inner, schema["items"]] if "items" in schema else inner))
