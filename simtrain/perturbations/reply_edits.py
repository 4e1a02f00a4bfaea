"""Edits replies: changes their content, keeping its form and its fit to the output schema."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TypeAlias, cast

from simtrain.contracts.world import WorldState
from simtrain.files.json_schemas import validator
from simtrain.mcp_wire.raw_replies import reworded
from simtrain.values.json_walk import each_text
from simtrain.values.types import JsonValue, Observation, Provenance, ToolSpec, encode, is_list, is_object

Path: TypeAlias = tuple[str | int, ...]
"""The place of a value in a content: keys and indices from the outside in."""

_INDENT = re.compile(r"\n( +)\S")


def content_of(observation: Observation) -> JsonValue:
    """Return the content of a reply: its structured content, or its text if that is a JSON object or list; None for prose."""
    content = observation.content
    return parsed(observation.text) if content is None else content


def leaves(value: JsonValue, path: Path = ()) -> Iterator[tuple[Path, JsonValue]]:
    """Yield all values other than objects and lists, with their places, in document order."""
    if is_object(value):
        for name, item in value.items():
            yield from leaves(item, (*path, name))
    elif is_list(value):
        for index, item in enumerate(value):
            yield from leaves(item, (*path, index))
    else:
        yield path, value


def at(value: JsonValue, path: Path) -> JsonValue:
    """Return the value at a place."""
    for part in path:
        value = value[part]
    return value


def put(value: JsonValue, path: Path, new: JsonValue) -> JsonValue:
    """Return a copy with the value at a place replaced."""
    if not path:
        return new
    # Only the containers on the way are copied: the world's reply may be shared with the trajectory.
    copy: JsonValue = dict(value) if is_object(value) else list(value)
    copy[path[0]] = put(copy[path[0]], path[1:], new)
    return copy


def main_list(value: JsonValue) -> Path | None:
    """Return the place of a content's main list: itself, or its longest member; None if there is none."""
    found = list(_lists(value, ()))
    return max(found, key=lambda place: len(at(value, place))) if found else None


def name_at(path: Path) -> str:
    """Return the name of the field at a place, or of the list it is in; empty if there is none."""
    return next((part for part in reversed(path) if isinstance(part, str)), "")


def lists_within(value: JsonValue, path: Path = ()) -> Iterator[Path]:
    """Yield the places of the innermost lists, in document order."""
    if is_object(value):
        for name, item in value.items():
            yield from lists_within(item, (*path, name))
    elif is_list(value):
        within = [place for index, item in enumerate(value) for place in lists_within(item, (*path, index))]
        yield from within or [path]


def _lists(value: JsonValue, path: Path) -> Iterator[Path]:
    if is_list(value):
        yield path
    elif is_object(value):
        for name, item in value.items():
            yield from _lists(item, (*path, name))


def fits(value: JsonValue, tool: ToolSpec) -> bool:
    """Return True if a content fits the tool's output schema."""
    return tool.output_schema is None or bool(validator(tool.output_schema).is_valid(value))


def rewritten(
    observation: Observation,
    value: JsonValue,
    *,
    tool: ToolSpec,
    source: str,
    words: Mapping[str, str] | None = None,
    world: WorldState | None = None,
) -> Observation | None:
    """Return the reply with other content; None if that would not fit the output schema or could not be expressed in its text.

    Text that is the content as JSON is rewritten, and so is text that the `world` can make from the content. In other prose `words`
    are replaced wherever they occur as whole words. `source` names the perturbation.
    """
    # A reply states the same thing up to three times: in its text, as structured content, and in the server's raw reply. A change to one
    # of them alone would give itself away, and a client that reads another one would see the truth.
    content, written = observation.content, parsed(observation.text)
    # Clients validate structured content against the output schema and raise; the agent would never see the perturbation.
    if content is not None and not (is_object(value) and fits(value, tool)):
        return None
    provenance = Provenance(source)
    # The common case: the text is only the compact JSON of the content.
    if observation.json and observation.wire is None:
        return replace(observation, text=encode(value), provenance=provenance)
    text = _in_world_words(observation, value, tool, world)
    if text is None and written is None:
        text = respoken(observation.text, words or {})
        # Prose that does not contain the words would still state the old value.
        if text == observation.text and text:
            return None
    elif text is None:
        # FastMCP wraps a list as {"result": [...]} in the structured content, but not in the text.
        if content is not None and content not in (written, {"result": written}):
            return None
        text = _written(value if content is None or content == written else value["result"], like=observation.text)
    structured = None if content is None else value
    return replace(reworded(observation, text, structured), provenance=provenance)


def _in_world_words(observation: Observation, value: JsonValue, tool: ToolSpec, world: WorldState | None) -> str | None:
    """Return the text of the new content in the world's words, if the reply is written in these; new members are appended."""
    content = observation.content
    if world is None or content is None or world.tell(tool, content) != observation.text:
        return None
    text = world.tell(tool, value)
    if text is None:
        return None
    new = {name: item for name, item in value.items() if name not in content and item is not None}
    return "\n\n".join((text, *(f"{name}: {_plainly(item)}" for name, item in new.items())))


def _plainly(value: JsonValue) -> str:
    """Return a value in prose: lists of texts line by line, other lists and objects as JSON."""
    if is_list(value) and all(isinstance(item, str) for item in value):
        return "\n".join(value)
    return encode(cast(object, value)) if isinstance(value, list | dict) else str(value)


def respoken_within(value: JsonValue, words: Mapping[str, str]) -> JsonValue:
    """Return the value with some words replaced in all its texts."""
    return each_text(value, lambda text: respoken(text, words))


def respoken(text: str, words: Mapping[str, str]) -> str:
    """Return a text with some words replaced where they occur as whole words; part of a longer number is never
    replaced.
    """
    if not words:
        return text
    # Longest first, since alternation takes the first match and one word may begin another.
    either = "|".join(re.escape(old) for old in sorted(words, key=len, reverse=True))
    # 12 must not be replaced within 12.50, 3,12 or A12.
    return re.sub(rf"(?<![\w.,])(?:{either})(?![\w]|[.,]\d)", lambda found: words[found[0]], text)


def parsed(text: str) -> JsonValue:
    """Return a text parsed as a JSON object or list; None for any other text."""
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _written(value: JsonValue, *, like: str) -> str:
    """Return a value as JSON text in the layout of another text."""
    # Same layout as before: a change of layout alone would reveal the perturbation.
    indent = _INDENT.search(like)
    if indent is not None:
        return json.dumps(value, indent=len(indent[1]), ensure_ascii=False)
    return json.dumps(value, ensure_ascii=False) if '": ' in like else encode(value)


def json_like(text: str, value: JsonValue) -> str:
    """Return a value as JSON text, indented if another text has several lines."""
    return json.dumps(value, indent=2, ensure_ascii=False) if "\n" in text else encode(value)
