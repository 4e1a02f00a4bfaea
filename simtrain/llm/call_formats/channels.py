"""Messages of several channels in one turn, each with a header: harmony (gpt-oss) and ATEM (Muse)."""

import re
from collections.abc import Iterator

from simtrain.llm.call_formats.reading import (
    AssistantMessage,
    CallFormat,
    Schemas,
    argument_schema,
    json_of,
    malformed,
)
from simtrain.llm.call_formats.tagged_values import ValueTags
from simtrain.llm.completion import ToolCall
from simtrain.values.types import encode, is_object

_START = "<|start|>assistant"
_MESSAGE = "<|message|>"
_TOOL = re.compile(r" to=functions\.([^\s<]+)")
_RECIPIENT = re.compile(r" to=([^\s<]+)")
_INVOKE = re.compile(r'\s*<atem:function_calls>\s*<atem:invoke name="([^"]+)">')
_ATEM = ValueTags('<atem:parameter name="', ('">',), "</atem:parameter>", "</atem:invoke>")


def _parts(text: str, ends: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Yield the header and body of each part; a body ends at an end mark that the next part follows, or with the text."""
    # Both marks are needed: an argument may contain one of them as text.
    borders = re.compile(f"(?:{'|'.join(map(re.escape, ends))}){re.escape(_START)}")
    for part in borders.split(text):
        header, message, body = part.partition(_MESSAGE)
        yield (header, body) if message else ("", part)


class _Channels(CallFormat):
    """A turn whose calls are messages of their own, so that `read` finds them."""

    def calls(self, text: str, schemas: Schemas) -> tuple[str, list[ToolCall]]:
        found = self.read(text, schemas)
        return found.text, list(found.calls)


class Harmony(_Channels):
    """` to=functions.NAME<|channel|>commentary json<|message|>{...}<|call|>`; thinking in the channel `analysis`."""

    opening = " to=functions."
    closing = "}"

    def read(self, text: str, schemas: Schemas, *, opened: bool = False) -> AssistantMessage:
        words, thoughts, calls = list[str](), list[str](), list[ToolCall]()
        for header, body in _parts(text, ("<|end|>", "<|call|>")):
            tool = _TOOL.search(header)
            if tool is not None:
                calls.append(_json_call(tool[1], body, len(calls)))
            else:
                (thoughts if "<|channel|>analysis" in header else words).append(body)
        return AssistantMessage("\n".join(words).strip(), "\n".join(thoughts).strip() or None, tuple(calls))


class Atem(_Channels):
    """` to=NAME<|message|><atem:function_calls>...`; thinking is sent to `self`, words to `user`."""

    opening = " to="
    closing = "</atem:function_calls>"

    def read(self, text: str, schemas: Schemas, *, opened: bool = False) -> AssistantMessage:
        words, thoughts, calls = list[str](), list[str](), list[ToolCall]()
        for header, body in _parts(text, ("<|eom|>",)):
            recipient = _RECIPIENT.search(header)
            to = recipient[1] if recipient else "user"
            if to in ("user", "self"):
                (words if to == "user" else thoughts).append(body)
            else:
                calls.append(_atem_call(to, body, schemas, len(calls)))
        return AssistantMessage("\n".join(words).strip(), "\n".join(thoughts).strip() or None, tuple(calls))


def _json_call(tool: str, body: str, index: int) -> ToolCall:
    try:
        arguments = json_of(body.strip())
    except ValueError:
        arguments = None
    return ToolCall(f"call_{index}", tool, encode(arguments) if is_object(arguments) else body)


def _atem_call(tool: str, body: str, schemas: Schemas, index: int) -> ToolCall:
    invoked = _INVOKE.match(body)
    if invoked is None:
        return malformed(body.strip(), index, tool)
    name = invoked[1]
    try:
        arguments, _ = _ATEM.read(body, invoked.end(), lambda argument: argument_schema(schemas, name, argument))
    except ValueError:
        return malformed(body.strip(), index, name)
    return ToolCall(f"call_{index}", name, encode(arguments))
