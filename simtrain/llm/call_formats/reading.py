"""What all formats share: the message that is read, calls that are none, and values that a schema gives their type."""

from __future__ import annotations

import ast
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from simtrain.llm.completion import ToolCall
from simtrain.values.types import WHOLE_CALL, JsonObject, JsonValue, as_object, encode, is_list, is_object

_NAME = re.compile(r'"name"\s*:\s*"([^"\\]+)"')

Schemas: TypeAlias = Mapping[str, JsonObject]
"""The JSON Schema of each tool's arguments, by the tool's name on the wire."""


@dataclass(frozen=True, slots=True)
class AssistantMessage:
    """What a model wrote in one turn: words, thinking apart, and calls. White space around words and thinking is left out."""

    text: str
    reasoning: str | None = None
    calls: tuple[ToolCall, ...] = ()


class CallFormat(ABC):
    """One way to write calls. A call stands between `opening` and `closing`, thinking between the marks of `thought`."""

    opening: ClassVar[str]
    closing: ClassVar[str]
    thought: ClassVar[tuple[str, str]] = ("<think>", "</think>")

    def read(self, text: str, schemas: Schemas, *, opened: bool = False) -> AssistantMessage:
        """Return the message in a completion without its end of turn; `opened` says that the prompt began the thinking."""
        thinking, rest = leading_thought(text, *self.thought, opened=opened)
        words, calls = self.calls(rest, schemas)
        return AssistantMessage(words.strip(), thinking.strip() or None, tuple(calls))

    @abstractmethod
    def calls(self, text: str, schemas: Schemas) -> tuple[str, list[ToolCall]]:
        """Return the words outside the calls, and the calls."""


def leading_thought(text: str, start: str, end: str, *, opened: bool) -> tuple[str, str]:
    """Return the thinking that a completion begins with, and the rest; thinking that never ends is all there is."""
    bare = text.lstrip()
    if bare.startswith(start):
        thinking, _, rest = bare[len(start) :].partition(end)
    elif opened:
        thinking, _, rest = text.partition(end)
    else:
        return "", text
    return thinking, rest


def json_at(text: str, at: int) -> tuple[JsonValue, int]:
    """Return the JSON value that begins at a place, and where it ends. Raises ValueError for anything that cannot be recorded."""
    try:
        value, end = _DECODER.raw_decode(text, at)
        encode(value)
    except (ValueError, RecursionError, TypeError):
        raise ValueError("no JSON") from None
    return value, end


def json_of(text: str) -> JsonValue:
    """Return the JSON value that is the whole of a text. Raises ValueError."""
    value, end = json_at(text, 0)
    if end != len(text):
        raise ValueError("more than one value")
    return value


def call_of(value: JsonValue, block: str, index: int, key: str = "arguments") -> ToolCall:
    """Return the call in an object of a name and arguments; a block that is no such object is kept as malformed arguments."""
    if is_object(value):
        tool, arguments = value.get("name"), value.get(key, {})
        if isinstance(tool, str) and is_object(arguments) and not set(value) - {"name", key}:
            return ToolCall(f"call_{index}", tool, encode(arguments))
    return malformed(block, index)


def made_call(name: str, arguments: JsonObject, index: int) -> ToolCall:
    """Return a call. Raises ValueError for arguments that JSON cannot record."""
    try:
        return ToolCall(f"call_{index}", name, encode(arguments))
    except TypeError:
        raise ValueError("arguments that cannot be recorded") from None


def malformed(block: str, index: int, name: str | None = None) -> ToolCall:
    """Return a call that cannot be read, with the whole of it in place of arguments."""
    found = _NAME.search(block)
    return ToolCall(f"call_{index}", name or (found[1] if found else ""), WHOLE_CALL + block)


def typed(text: str, schema: JsonObject) -> JsonValue:
    """Return a value that was written without quotes, in the type that its schema says; without one, a text that is JSON is JSON."""
    kinds = _kinds(schema)
    if kinds == {"string"}:
        return text
    for read in (json_of, _python):
        try:
            value = read(text)
        except ValueError:
            continue
        if not kinds or _kind(value) in kinds or (_kind(value) == "integer" and "number" in kinds):
            return value
    return text


def argument_schema(schemas: Schemas, tool: str, argument: str) -> JsonObject:
    """Return the schema of one argument; an empty one where it is unknown."""
    return as_object(as_object(as_object(schemas.get(tool)).get("properties")).get(argument))


def _python(text: str) -> JsonValue:
    """Return a value in Python's words: templates write True, None and lists with quotes of its kind. Raises ValueError."""
    if len(text) > 100_000:
        raise ValueError("too long")
    try:
        value = ast.literal_eval(text)
        encode(value)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        raise ValueError("no literal") from None
    if isinstance(value, str | tuple | bytes | set):
        raise ValueError("no JSON value")
    return value


def _kinds(schema: JsonObject) -> set[str]:
    """Return the JSON types that a schema allows; none where it does not say."""
    for key in ("anyOf", "oneOf"):
        choices = schema.get(key)
        if is_list(choices):
            found = [_kinds(as_object(choice)) for choice in choices]
            return set[str]().union(*found) if all(found) else set()
    if "const" in schema or "enum" in schema:
        given = schema.get("enum")
        return {_kind(value) for value in (given if is_list(given) else [schema.get("const")])}
    kind = schema.get("type")
    return {str(one) for one in kind} if is_list(kind) else {str(kind)} if kind else set()


def _kind(value: object) -> str:
    return _KINDS.get(type(value), "null")


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


_DECODER = json.JSONDecoder(parse_constant=_no_constant)
_KINDS: dict[type[object], str] = {
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
}
