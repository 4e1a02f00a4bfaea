"""Calls as functions are called in code: `[name(key='text', other=3)]`, as LFM2 writes them."""

import re
from dataclasses import dataclass

from simtrain.llm.call_formats.reading import CallFormat, Schemas, made_call, malformed, typed
from simtrain.llm.completion import ToolCall
from simtrain.values.types import JsonValue

_NAME = re.compile(r"([^\s(),='\[\]]+)\(")
_KEY = re.compile(r"([^\s(),='\[\]]+)=")
# Behind a value: the next argument, or the end of the call with the next call or the end of all.
_AFTER = re.compile(r", [^\s(),='\[\]]+=|\)(?=, [^\s(),='\[\]]+\(|\]|\Z)")
_ESCAPES = {"\\\\": "\\", "\\'": "'", "\\n": "\n", "\\r": "\r"}
_ESCAPE = re.compile(r"\\[\\'nr]")
# Each try parses the value so far, so hostile text would cost its length squared.
_MOST_TRIES = 2_000


@dataclass(frozen=True)
class FunctionCalls(CallFormat):
    """`<|tool_call_start|>[name(key='text'), ...]<|tool_call_end|>`; `escaped`: quotes in texts are escaped."""

    escaped: bool

    opening = "<|tool_call_start|>"
    closing = "<|tool_call_end|>"

    def calls(self, text: str, schemas: Schemas) -> tuple[str, list[ToolCall]]:
        start = text.find(self.opening)
        if start < 0:
            return text, []
        stop = text.rfind(self.closing)
        after = stop + len(self.closing) if stop > start else len(text)
        block = text[start + len(self.opening) : stop if stop > start else len(text)].strip()
        try:
            calls = self._calls(block)
        except ValueError:
            calls = [malformed(block, 0, _named(block))]
        return text[:start] + text[after:], calls

    def _calls(self, block: str) -> list[ToolCall]:
        if not block.startswith("[") or not block.endswith("]"):
            raise ValueError("no list")
        calls, at = list[ToolCall](), 1
        while True:
            named = _NAME.match(block, at)
            if named is None:
                raise ValueError("no call")
            arguments, at = self._arguments(block, named.end())
            calls.append(made_call(named[1], arguments, len(calls)))
            if at == len(block) - 1:
                return calls
            if not block.startswith(", ", at):
                raise ValueError("no end")
            at += 2

    def _arguments(self, block: str, at: int) -> tuple[dict[str, JsonValue], int]:
        arguments: dict[str, JsonValue] = {}
        if block.startswith(")", at):
            return arguments, at + 1
        while True:
            key = _KEY.match(block, at)
            if key is None:
                raise ValueError("no argument")
            arguments[key[1]], at = self._value(block, key.end())
            if block.startswith(")", at):
                return arguments, at + 1
            at += 2

    def _value(self, block: str, at: int) -> tuple[JsonValue, int]:
        """Return a value and its end: the first place after which an argument or a call can begin."""
        # Quotes in a text may be unescaped, so only what follows shows where a value ends.
        for tries, after in enumerate(_AFTER.finditer(block, at)):
            if tries > _MOST_TRIES:
                break
            try:
                return self._read(block[at : after.start()]), after.start()
            except ValueError:
                continue
        raise ValueError("no value")

    def _read(self, text: str) -> JsonValue:
        if text.startswith("'"):
            if len(text) < 2 or not text.endswith("'"):
                raise ValueError("no text")
            return self._unescaped(text[1:-1])
        value = typed(text, {})
        # `typed` returns what it cannot read as text; here that means the value goes on.
        if isinstance(value, str) and not text.startswith('"'):
            raise ValueError("no value")
        return value

    def _unescaped(self, text: str) -> str:
        if not self.escaped:
            return text
        bare = _ESCAPE.sub("", text)
        if "'" in bare or bare.endswith("\\"):
            raise ValueError("a quote inside")
        return _ESCAPE.sub(lambda found: _ESCAPES[found[0]], text)


def _named(block: str) -> str | None:
    found = _NAME.search(block)
    return found[1] if found else None
