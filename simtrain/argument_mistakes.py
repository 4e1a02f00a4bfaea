"""What is wrong with the arguments of a call at their outermost level, by kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from simtrain.types import JsonObject, JsonValue

_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,), "array": (list,), "object": (dict,),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ArgumentMistakes:
    """Required arguments that are absent, arguments that the tool does not have, and those of a wrong type with the type wanted."""

    absent: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    wrong: tuple[tuple[str, str], ...] = ()
    nothing_given: bool = False


def argument_mistakes(schema: JsonObject, arguments: JsonObject) -> ArgumentMistakes:
    """The mistakes, in the order of the schema."""
    known = cast(JsonObject, schema.get("properties", {}))
    required = cast("list[str]", schema.get("required", []))
    wrong = [(name, kind) for name in known if name in arguments and (kind := _wanted(known[name], arguments[name]))]
    return ArgumentMistakes(
        absent=tuple(name for name in required if name not in arguments),
        unknown=tuple(name for name in arguments if name not in known),
        wrong=tuple(wrong),
        nothing_given=bool(required) and not arguments,
    )


def _wanted(schema: JsonValue, value: JsonValue) -> str | None:
    """The type that a value does not have, or `enum` where it is none of those listed; None where it fits as far as is seen."""
    described = cast(JsonObject, schema) if isinstance(schema, dict) else {}
    kind: JsonValue = described.get("type")
    if isinstance(kind, str) and kind in _TYPES:
        fits = isinstance(value, _TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool))
        if not fits:
            return kind
    options: JsonValue = described.get("enum")
    return "enum" if isinstance(options, list) and value not in options else None
