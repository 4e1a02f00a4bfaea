"""Places added words in a reply: around its text, inside it, or in one of its fields."""

from dataclasses import replace
from typing import Literal, TypeAlias

from simtrain.files.json_schemas import validator
from simtrain.mcp_wire.raw_replies import reworded
from simtrain.perturbations.reply_edits import content_of, json_like, leaves, parsed, put
from simtrain.values.types import JsonObject, Observation, encode, is_object

Position: TypeAlias = Literal["start", "middle", "end", "field"]

PROSE = frozenset(
    {
        "about", "body", "comment", "content", "description", "message", "note", "notes", "purpose", "snippet",
        "summary", "text", "topic",
    }
)  # fmt: skip
"""Names of fields with free text, which no other call uses as an identifier."""


def placed(observation: Observation, words: str, position: Position, *, schema: JsonObject | None) -> Observation:
    """Return the reply with the words added; structured content still fits `schema`, the tool's output schema.

    At the start, in the middle and at the end they are added only to the text. In a field they follow its free text
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
    # From coarse to fine: a break inside a JSON value or a word would make the reply unreadable.
    for mark in ("\n", ",", " "):
        before, after = text.rfind(mark, 0, middle), text.find(mark, middle)
        found = [place + 1 for place in (before, after) if place >= 0]
        if found:
            return min(found, key=lambda place: abs(place - middle))
    return middle


def _in_field(observation: Observation, words: str, schema: JsonObject | None) -> Observation | None:
    content = content_of(observation)
    if not is_object(content):
        return None
    # Without structured content nothing is validated: clients compare only that with the schema.
    check = validator(schema) if schema is not None and observation.content is not None else None
    for path, text in leaves(content):
        if path[-1] not in PROSE or not isinstance(text, str) or not text:
            continue
        longer = f"{text}\n\n{words}"
        changed = put(content, path, longer)
        if check is not None and not check.is_valid(changed):
            continue
        if observation.json:
            return replace(observation, text=encode(changed))
        structured = None if observation.content is None else changed
        return reworded(observation, _in_prose(observation.text, content, changed, text, longer), structured)
    return None


def _in_prose(text: str, content: JsonObject, changed: JsonObject, before: str, after: str) -> str:
    """Return the text that goes with changed content: rewritten where it is that content, else with the longer field in it."""
    if parsed(text) == content:
        return json_like(text, changed)
    return text.replace(before, after, 1) if before in text else f"{text}\n\n{after.removeprefix(before).strip()}"
