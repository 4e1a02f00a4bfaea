"""Calls as JSON objects: between tags, as Hermes and Qwen 2.5 and 3 write them, or bare, as Llama 3.1 does."""

from simtrain.llm.call_formats.reading import CallFormat, Schemas, TaggedCalls, call_of, json_at, skip
from simtrain.llm.completion import ToolCall


class TaggedJson(TaggedCalls):
    """`<tool_call>\\n{"name": ..., "arguments": {...}}\\n</tool_call>`."""

    opening = "<tool_call>"
    closing = "</tool_call>"

    def call(self, text: str, at: int, schemas: Schemas, index: int) -> tuple[ToolCall, int]:
        """Return a call and its end. The JSON decides, not the first closing tag: an argument may contain one."""
        begin = skip(text, at)
        value, end = json_at(text, begin)
        after = skip(text, end)
        # Servers leave out the text at which they stop, and the closing tag may be that text.
        if not text.startswith(self.closing, after) and after < len(text):
            raise ValueError("no end")
        return call_of(value, text[begin:end], index), min(after + len(self.closing), len(text))


class BareJson(CallFormat):
    """`{"name": ..., "parameters": {...}}`: one call and no other text."""

    opening = "{"
    closing = "}"

    def calls(self, text: str, schemas: Schemas) -> tuple[str, list[ToolCall]]:
        bare = text.strip()
        try:
            value, end = json_at(bare, 0)
        except ValueError:
            return text, []
        call = call_of(value, bare, 0, "parameters")
        # Any other JSON is an answer: without tags only a complete call counts as one.
        if end != len(bare) or not isinstance(value, dict) or call.arguments.endswith(bare):
            return text, []
        return "", [call]
