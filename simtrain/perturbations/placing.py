"""Where foreign words stand in a reply: around its text, inside it, or in one of its fields."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from simtrain.files.json_schemas import validator
from simtrain.mcp_wire.raw_replies import reworded
from simtrain.values.types import JsonObject, JsonValue, Observation, encode, is_list, is_object

Position: TypeAlias = Literal["start", "middle", "end", "field"]

PROSE = frozenset(
    {
        "about", "body", "comment", "content", "description", "message", "note", "notes", "purpose", "snippet",
        "summary", "text", "topic",
    }
)  # fmt: skip
"""Names of fields that hold what somebody wrote: nothing is looked up by them."""


@dataclass(frozen=True, slots=True)
class _Field:
    """A text inside structured content: the keys that lead to it, and what it says."""

    path: tuple[str | int, ...]
    text: str


def placed(observation: Observation, words: str, position: Position, *, schema: JsonObject | None) -> Observation:
    """Return the reply with the words in it; structured content still fits `schema`, the output schema of its tool.

    At the start, in the middle and at the end they stand in the text alone. In a field they stand behind what somebody wrote
    there; a reply without such a field, or whose schema leaves no room in it, has them at its end.
    """
    if position == "field":
        found = _in_field(observation, words, schema)
        if found is not None:
            return found
    return reworded(observation, _in_text(observation.text, words, position), observation.content)


def _in_text(text: str, words: str, position: Position) -> str:
    if not text:
        return words
    if position == "start":
        return f"{words}\n\n{text}"
    if position != "middle":
        return f"{text}\n\n{words}"
    cut = _break_near(text, len(text) // 2)
    return f"{text[:cut]}\n{words}\n{text[cut:]}"


def _break_near(text: str, middle: int) -> int:
    """Return the end of the line, list item or word that is nearest to the middle."""
    for mark in ("\n", ",", " "):
        before, after = text.rfind(mark, 0, middle), text.find(mark, middle)
        found = [place + 1 for place in (before, after) if place >= 0]
        if found:
            return min(found, key=lambda place: abs(place - middle))
    return middle


def _in_field(observation: Observation, words: str, schema: JsonObject | None) -> Observation | None:
    content = observation.content if observation.content is not None else json_object(observation.text)
    if content is None:
        return None
    check = validator(schema) if schema is not None and observation.content is not None else None
    for field in _prose(content, ()):
        longer = f"{field.text}\n\n{words}"
        changed = _with(content, field.path, longer)
        if check is not None and not check.is_valid(changed):
            continue
        if observation.json:
            return replace(observation, text=encode(changed))
        structured = None if observation.content is None else changed
        return reworded(observation, _retold(observation.text, content, changed, field.text, longer), structured)
    return None


def _retold(text: str, content: JsonObject, changed: JsonObject, before: str, after: str) -> str:
    """Return the text that goes with changed content: written anew where it is that content, else with the longer field in it."""
    if json_object(text) == content:
        return json.dumps(changed, indent=2, ensure_ascii=False) if "\n" in text else encode(changed)
    return text.replace(before, after, 1) if before in text else f"{text}\n\n{after.removeprefix(before).strip()}"


def _prose(value: JsonValue, path: tuple[str | int, ...]) -> Iterator[_Field]:
    """Yield the texts that somebody wrote, in their order."""
    if isinstance(value, str):
        if path and path[-1] in PROSE and value:
            yield _Field(path, value)
    elif is_object(value):
        for name, item in value.items():
            yield from _prose(item, (*path, name))
    elif is_list(value):
        for index, item in enumerate(value):
            yield from _prose(item, (*path, index))


def _with(value: JsonValue, path: tuple[str | int, ...], text: str) -> JsonValue:
    """Return a copy in which the text at a path is another."""
    if not path:
        return text
    first, rest = path[0], path[1:]
    if is_list(value):
        items = value
        return [_with(item, rest, text) if place == first else item for place, item in enumerate(items)]
    members = value.items()
    return {name: _with(item, rest, text) if name == first else item for name, item in members}


def json_object(text: str) -> JsonObject | None:
    """Return the JSON object that a text is; None for any other text."""
    try:
        value: JsonValue = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if is_object(value) else None
