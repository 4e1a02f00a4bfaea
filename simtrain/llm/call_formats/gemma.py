"""Calls as Gemma 4 writes them: `<|tool_call>call:name{key:<|"|>text<|"|>,other:3}<tool_call|>`."""

import re

from simtrain.llm.call_formats.reading import Schemas, TaggedCalls, made_call, malformed
from simtrain.llm.completion import ToolCall
from simtrain.values.types import JsonValue

_QUOTE = '<|"|>'
_CALL = re.compile(r"call:([^\s{<]+)\{")
_KEY = re.compile(r"([^{}\[\],:<]+):")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
_WORDS = {"true": True, "false": False, "null": None, "None": None}
_DEEPEST = 60


class Gemma(TaggedCalls):
    """Calls in braces with unquoted keys; thinking has its own channel."""

    opening = "<|tool_call>"
    closing = "<tool_call|>"
    thought = ("<|channel>thought\n", "<channel|>")

    def call(self, text: str, at: int, schemas: Schemas, index: int) -> tuple[ToolCall, int]:
        named = _CALL.match(text, at)
        if named is None:
            raise ValueError("no call")
        arguments, at = _object(text, named.end(), 0)
        if not text.startswith(self.closing, at):
            raise ValueError("no end")
        return made_call(named[1], arguments, index), at + len(self.closing)

    def unread(self, text: str, at: int, stop: int, index: int) -> ToolCall:
        named = _CALL.match(text, at)
        return malformed(text[at:stop], index, named[1] if named else None)


def _value(text: str, at: int, depth: int) -> tuple[JsonValue, int]:
    """Return the value at a position, and its end. Raises ValueError."""
    # The parser is recursive: deep nesting in a model's output must not become a RecursionError.
    if depth > _DEEPEST:
        raise ValueError("too deep")
    if text.startswith(_QUOTE, at):
        return _text(text, at)
    if text.startswith("{", at):
        return _object(text, at + 1, depth)
    if text.startswith("[", at):
        return _list(text, at + 1, depth)
    for word, value in _WORDS.items():
        if text.startswith(word, at):
            return value, at + len(word)
    number = _NUMBER.match(text, at)
    if number is None:
        raise ValueError("no value")
    digits = number[0]
    return (int(digits) if digits.lstrip("-").isdigit() else float(digits)), number.end()


def _text(text: str, at: int) -> tuple[str, int]:
    """Return a quoted text and its end. The text may contain the quote: only one before a separator ends it."""
    end = text.find(_QUOTE, at + len(_QUOTE))
    while end >= 0:
        after = end + len(_QUOTE)
        if text.startswith((",", "}", "]", ":"), after):
            return text[at + len(_QUOTE) : end], after
        end = text.find(_QUOTE, after)
    raise ValueError("no end of text")


def _object(text: str, at: int, depth: int) -> tuple[dict[str, JsonValue], int]:
    found: dict[str, JsonValue] = {}
    while not text.startswith("}", at):
        if text.startswith(_QUOTE, at):
            key, at = _text(text, at)
            at += 1
        else:
            named = _KEY.match(text, at)
            if named is None:
                raise ValueError("no key")
            key, at = named[1], named.end()
        found[key], at = _value(text, at, depth + 1)
        at += text.startswith(",", at)
    return found, at + 1


def _list(text: str, at: int, depth: int) -> tuple[list[JsonValue], int]:
    found: list[JsonValue] = []
    while not text.startswith("]", at):
        value, at = _value(text, at, depth + 1)
        found.append(value)
        at += text.startswith(",", at)
    return found, at + 1
