"""Entities in replies: the JSON objects that have an id, and their fields."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from simtrain.values.tool_words import singular, tool_words
from simtrain.values.types import JsonObject, JsonValue, is_list, is_object

IDS = ("id", "uuid", "key", "number", "slug", "sha", "path", "uri", "url", "name")
"""The fields that identify an object, most reliable first; a `*_id` named after the object precedes them all."""

PAGE = "page"
"""The kind of objects identified only by their URL, whichever tool returns them: web pages and other resources."""

DEEPEST = 12

_LETTERS = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Entity:
    """An object of a reply: its kind (a noun in the singular), its id as text, and its fields without nested entities."""

    kind: str
    id: str
    fields: JsonObject


def entities_in(value: JsonValue, *, tool: str) -> list[Entity]:
    """Return all entities in a tool's reply, in document order. The tool's noun is the default kind."""
    return list(_walk(value, tool_words(tool).noun, 0))


def _walk(value: JsonValue, kind: str, depth: int) -> Iterator[Entity]:
    # Replies come from models and real servers; recursion needs a bound.
    if depth > DEEPEST:
        return
    if is_list(value):
        for item in value:
            yield from _walk(item, kind, depth + 1)
    elif is_object(value):
        identity = _identity(value, kind)
        inner = {name: item for name, item in value.items() if _holds_entities(item)}
        if identity is not None:
            field, shown = identity
            fields = {name: item for name, item in value.items() if name not in inner and name != field}
            yield Entity(PAGE if field.lower() in ("url", "uri") else kind, shown, fields)
        for name, item in inner.items():
            yield from _walk(item, kind_under(name) or kind, depth + 1)


def _identity(held: JsonObject, kind: str) -> tuple[str, str] | None:
    """Return the field that identifies an object, and its value."""
    by_form = {_plain(name): name for name in held}
    for wanted in (f"{_plain(kind)}id", *IDS):
        name = by_form.get(wanted)
        value: JsonValue = None if name is None else held[name]
        if isinstance(value, str | int) and not isinstance(value, bool) and value != "":
            return cast(str, name), str(value)
    return None


def _holds_entities(value: JsonValue) -> bool:
    """True if a field holds nested entities rather than a value of the object itself."""
    if is_object(value):
        return True
    return is_list(value) and any(is_object(item) for item in value)


def kind_under(name: str) -> str:
    """Return the kind of the value under a key, in the singular; empty if the key does not say."""
    plain = singular(name.lower())
    return "" if plain in ("item", "result", "data", "record", "entry", "row", "value", "content") else plain


def _plain(name: str) -> str:
    return _LETTERS.sub("", name.lower())
