"""Calls as JSON objects: between tags, as Hermes and Qwen 2.5 and 3 write them, or bare, as Llama 3.1 does."""

from __future__ import annotations

from simtrain.llm.call_formats.reading import CallFormat, Schemas, call_of, json_at, malformed
from simtrain.llm.completion import ToolCall


class TaggedJson(CallFormat):
    """`<tool_call>\\n{"name": ..., "arguments": {...}}\\n</tool_call>`."""

    opening = "<tool_call>"
    closing = "</tool_call>"

    def calls(self, text: str, schemas: Schemas) -> tuple[str, list[ToolCall]]:
        words, calls, at = list[str](), list[ToolCall](), 0
        while (start := text.find(self.opening, at)) >= 0:
            words.append(text[at:start])
            call, at = self._call(text, start + len(self.opening), len(calls))
            calls.append(call)
        return "".join([*words, text[at:]]), calls

    def _call(self, text: str, start: int, index: int) -> tuple[ToolCall, int]:
        """Return a call and where it ends. The JSON decides, not the first closing tag: an argument may hold one."""
        begin = skip(text, start)
        try:
            value, end = json_at(text, begin)
        except ValueError:
            value, end = None, begin
        after = skip(text, end)
        if value is not None and text.startswith(self.closing, after):
            return call_of(value, text[begin:end], index), after + len(self.closing)
        if value is not None and after == len(text):
            return call_of(value, text[begin:end], index), after
        end = text.find(self.closing, start)
        stop = len(text) if end < 0 else end
        return malformed(text[start:stop].strip(), index), stop + (len(self.closing) if end >= 0 else 0)


class BareJson(CallFormat):
    """`{"name": ..., "parameters": {...}}`, one call and nothing beside it."""

    opening = "{"
    closing = "}"

    def calls(self, text: str, schemas: Schemas) -> tuple[str, list[ToolCall]]:
        bare = text.strip()
        try:
            value, end = json_at(bare, 0)
        except ValueError:
            return text, []
        call = call_of(value, bare, 0, "parameters")
        if end != len(bare) or not isinstance(value, dict) or call.arguments.endswith(bare):
            return text, []
        return "", [call]


def skip(text: str, at: int) -> int:
    """Return the place of the next character that is no white space."""
    while at < len(text) and text[at].isspace():
        at += 1
    return at
