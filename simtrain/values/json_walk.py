"""Walk over JSON values, and copy them with their texts, leaves or objects changed."""

from collections.abc import Callable, Iterable, Iterator

from simtrain.values.types import JsonObject, JsonValue, is_list, is_object


def children(value: JsonValue) -> Iterable[JsonValue]:
    """Return the members of an object or the items of a list; empty for other values."""
    if is_object(value):
        return value.values()
    return value if is_list(value) else ()


def texts_in(value: JsonValue) -> Iterator[str]:
    """Yield every text in a value, at any depth."""
    if isinstance(value, str):
        yield value
    for item in children(value):
        yield from texts_in(item)


def objects_in(value: JsonValue) -> Iterator[JsonObject]:
    """Yield every object of a JSON value, itself included, the outer ones first."""
    if is_object(value):
        yield value
    for item in children(value):
        yield from objects_in(item)


def each_leaf(value: JsonValue, change: Callable[[JsonValue], JsonValue]) -> JsonValue:
    """Return a copy of a value with every part changed that is neither an object nor a list."""
    if is_object(value):
        return {name: each_leaf(item, change) for name, item in value.items()}
    return [each_leaf(item, change) for item in value] if is_list(value) else change(value)


def each_text(value: JsonValue, change: Callable[[str], str]) -> JsonValue:
    """Return a copy of a value with every text in it changed, except member names."""
    return each_leaf(value, lambda leaf: change(leaf) if isinstance(leaf, str) else leaf)


def each_object(value: JsonValue, change: Callable[[JsonObject], JsonValue]) -> JsonValue:
    """Return a copy of a value with every object in it changed, from the inside out."""
    if is_list(value):
        return [each_object(item, change) for item in value]
    if is_object(value):
        return change({name: each_object(item, change) for name, item in value.items()})
    return value
