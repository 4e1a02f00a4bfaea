"""Compiled JSON Schemas: one way to compile them, which never opens an address or a file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn, cast

import jsonschema_rs

from simtrain.errors import InputError
from simtrain.types import JsonObject, JsonValue


def validator(schema: JsonObject) -> Any:
    """The compiled validator of a schema. Raises ValueError for what is no JSON Schema or refers to another file."""
    return jsonschema_rs.validator_for(schema, retriever=_refuse)


def _refuse(address: str) -> NoReturn:
    # A schema comes from a file that anybody may have written: it must not make us open an address or a file.
    raise ValueError("a schema may refer to nothing outside itself")


def check_schema(schema: JsonObject, *, place: str) -> None:
    """Refuse, with an InputError at the place of the mistake, what is no JSON Schema or refers to another file."""
    try:
        validator(schema)
    except jsonschema_rs.ValidationError as error:
        # Before 0.60 a pattern that cannot be compiled is only placed by the second.
        found = cast(list[object], error.instance_path or error.schema_path)
        parts = [part for part in found if part != "properties"]
        raise InputError(
            f"not a JSON Schema: {error.message}", place=".".join(str(part) for part in (place, *parts))
        ) from None


def is_schema(value: JsonValue) -> bool:
    """Whether a JSON value is a JSON Schema that a validator takes; servers declare others too."""
    if not isinstance(value, dict):
        return False
    try:
        validator(cast(JsonObject, value))
    except ValueError:
        return False
    return True


def property_names(schema: JsonValue) -> Iterator[str]:
    """The names of all properties in a schema, nested ones included."""
    if isinstance(schema, dict):
        for name, part in cast(JsonObject, schema).items():
            if name == "properties" and isinstance(part, dict):
                yield from cast(JsonObject, part)
            yield from property_names(part)
    elif isinstance(schema, list):
        for part in cast(list[JsonValue], schema):
            yield from property_names(part)
