"""Shared by all formats: the parsed message, malformed calls, and values typed by a schema."""

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from simtrain.llm.completion import ToolCall
from simtrain.values.python_source import python_literal
from simtrain.values.types import WHOLE_CALL, JsonObject, JsonValue, as_object, encode, is_list, is_object

_NAME = re.compile(r'"name"\s*:\s*"([^"\\]+)"')

Schemas: TypeAlias = Mapping[str, JsonObject]
"""The JSON Schema of each tool's arguments, by the tool's name on the wire."""


@dataclass(frozen=True, slots=True)
class AssistantMessage:
    """One turn of a model: words, thinking and calls, with surrounding white space removed."""

    text: str
    reasoning: str | None = None
    calls: tuple[ToolCall, ...] = ()


class CallFormat(ABC):
    """One way to write calls: a call is between `opening` and `closing`, thinking between the two marks of `thought`."""

    opening: ClassVar[str]
    closing: ClassVar[str]
    thought: ClassVar[tuple[str, str]] = ("<think>", "</think>")

    def read(self, text: str, schemas: Schemas, *, opened: bool = False) -> AssistantMessage:
        """Return the message in a completion without its end of turn; `opened`: the prompt has already begun the thinking."""
        thinking, rest = leading_thought(text, *self.thought, opened=opened)
        words, calls = self.calls(rest, schemas)
        return AssistantMessage(words.strip(), thinking.strip() or None, tuple(calls))

    @abstractmethod
    def calls(self, text: str, schemas: Schemas) -> tuple[str, list[ToolCall]]:
        """Return the words outside the calls, and the calls."""


class TaggedCalls(CallFormat):
    """Calls between the two marks, anywhere in the text."""

    def calls(self, text: str, schemas: Schemas) -> tuple[str, list[ToolCall]]:
        words, calls, at = list[str](), list[ToolCall](), 0
        while (start := text.find(self.opening, at)) >= 0:
            words.append(text[at:start])
            inner = start + len(self.opening)
            try:
                call, at = self.call(text, inner, schemas, len(calls))
            except ValueError:
                end = text.find(self.closing, inner)
                stop, at = (end, end + len(self.closing)) if end >= 0 else (len(text), len(text))
                call = self.unread(text, inner, stop, len(calls))
            calls.append(call)
        return "".join([*words, text[at:]]), calls

    @abstractmethod
    def call(self, text: str, at: int, schemas: Schemas, index: int) -> tuple[ToolCall, int]:
        """Return the call at a position, and the position after it. Raises ValueError."""

    def unread(self, text: str, at: int, stop: int, index: int) -> ToolCall:
        """Return the text between the marks as a malformed call."""
        return malformed(text[at:stop].strip(), index)


def leading_thought(text: str, start: str, end: str, *, opened: bool) -> tuple[str, str]:
    """Return the thinking at the start of a completion, and the rest; thinking that never ends takes all of it."""
    bare = text.lstrip()
    if bare.startswith(start):
        thinking, _, rest = bare[len(start) :].partition(end)
    elif opened:
        thinking, _, rest = text.partition(end)
    else:
        return "", text
    return thinking, rest


def skip(text: str, at: int) -> int:
    """Return the position of the next character that is not white space."""
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def json_at(text: str, at: int) -> tuple[JsonValue, int]:
    """Return the JSON value at a position, and its end. Raises ValueError for a value that cannot be recorded."""
    try:
        value, end = _DECODER.raw_decode(text, at)
        # Arguments go into the trajectory: lone surrogates and numbers beyond 64 bits fail here, not when it is written.
        encode(value)
    except (ValueError, RecursionError, TypeError):
        raise ValueError("no JSON") from None
    return value, end


def json_of(text: str) -> JsonValue:
    """Return the JSON value that a text consists of. Raises ValueError."""
    value, end = json_at(text, 0)
    if end != len(text):
        raise ValueError("more than one value")
    return value


def call_of(value: JsonValue, block: str, index: int, key: str = "arguments") -> ToolCall:
    """Return the call in an object with a name and arguments; any other value becomes a malformed call that keeps `block`."""
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
    """Return a malformed call, with its whole text in place of arguments."""
    found = _NAME.search(block)
    return ToolCall(f"call_{index}", name or (found[1] if found else ""), WHOLE_CALL + block)


def typed(text: str, schema: JsonObject) -> JsonValue:
    """Return a value written without quotes, as the type in its schema; without a schema, text that parses as JSON is JSON."""
    kinds = _kinds(schema)
    # "007" for a string is a text, although it could be read as a number.
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
    """Return the schema of one argument; empty if it is unknown."""
    return as_object(as_object(as_object(schemas.get(tool)).get("properties")).get(argument))


def _python(text: str) -> JsonValue:
    """Return a value written as a Python literal, as templates do by printing it (True, None, single quotes). Raises ValueError."""
    # literal_eval builds a syntax tree, which takes many times the memory of the text.
    if len(text) > 100_000:
        raise ValueError("too long")
    try:
        value = python_literal(text)
        encode(value)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        raise ValueError("no literal") from None
    if isinstance(value, str | tuple | bytes | set):
        raise ValueError("no JSON value")
    return value


def _kinds(schema: JsonObject) -> set[str]:
    """Return the JSON types that a schema allows; empty if it does not restrict them."""
    for key in ("anyOf", "oneOf"):
        choices = schema.get(key)
        if is_list(choices):
            found = [_kinds(as_object(choice)) for choice in choices]
            return set[str]().union(*found) if all(found) else set()
    if "const" in schema or "enum" in schema:
        given = schema.get("enum")
        # An enumeration restricts the type even if `type` is missing.
        return {_kind(value) for value in (given if is_list(given) else [schema.get("const")])}
    kind = schema.get("type")
    return {str(one) for one in kind} if is_list(kind) else {str(kind)} if kind else set()


def _kind(value: object) -> str:
    return _KINDS.get(type(value), "null")


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


# NaN and Infinity are extensions of Python's parser; no other reader of a trajectory accepts them.
_DECODER = json.JSONDecoder(parse_constant=_no_constant)
_KINDS: dict[type[object], str] = {
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
}
