"""The words of an author's own prose: what a world file says outside of the places that facts are put into."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import cast

from simtrain.types import JsonObject, JsonValue

_PLACES = re.compile(r"\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)
_QUOTED = re.compile(r"'([^']*)'|\"([^\"]*)\"")
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")


def prose_words(data: JsonValue) -> frozenset[str]:
    """The words, folded, of all texts in a world file; of what stands in braces only what is quoted there."""
    found: set[str] = set()
    for text in _texts(data):
        quoted = [one or other for place in _PLACES.findall(text) for one, other in _QUOTED.findall(place)]
        for part in (_PLACES.sub(" ", text), *quoted):
            words = [word.casefold() for word in _WORD.findall(part)]
            found.update(words)
            found.update(word.removesuffix("'s").removesuffix("’s").rstrip("'’") for word in words)
    return frozenset(found)


def _texts(value: JsonValue) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, part in cast(JsonObject, value).items():
            yield str(name)
            yield from _texts(part)
    elif isinstance(value, list):
        for part in cast(list[JsonValue], value):
            yield from _texts(part)
