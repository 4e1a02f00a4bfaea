"""A payload that cannot be parsed."""

import json
from dataclasses import replace
from typing import ClassVar, Literal, TypeAlias

from pydantic import Field

from simtrain.contracts.perturbation import Call, Traits
from simtrain.perturbations.catalogued import ReplyPerturbation
from simtrain.perturbations.reply_edits import content_of
from simtrain.values.seeding import Stream
from simtrain.values.types import JsonValue, Observation, ToolSpec

Form: TypeAlias = Literal["unquoted", "unclosed", "page", "bytes"]

_READABLE: tuple[Form, ...] = ("unquoted", "unclosed")
_UNREADABLE: tuple[Form, ...] = ("page", "bytes")
_PAGE = (
    "<!DOCTYPE html>\n<html><head><title>Just a moment...</title></head><body>"
    "<noscript>Enable JavaScript and cookies to continue</noscript></body></html>"
)


class MalformedOutput(ReplyPerturbation):
    """The tool does its work, but its payload cannot be parsed: foreign literals, unclosed brackets, HTML, mojibake.

    Source: ToolMaze, ToolBench-X, mcp-chaos. An agent should read what can be read, else try once more and then use
    another tool. Clients validate structured content and raise, so no agent would see it. So the tools declare none,
    and the text is changed.
    """

    traits: ClassVar[Traits] = Traits(side="reply", layer="P", recoverable_by=("retry", "switch"))

    form: Form | None = Field(
        default=None,
        description="`unquoted` and `unclosed` can still be read, `page` and `bytes` cannot; unset, drawn: unreadable as often as severe.",
    )

    def offer(self, tools: tuple[ToolSpec, ...], rng: Stream) -> tuple[ToolSpec, ...]:
        """Return the tools, without output schemas."""
        return tuple(replace(tool, output_schema=None) if tool.output_schema else tool for tool in tools)

    def changed(self, call: Call, reply: Observation) -> Observation:
        """Return the reply with its text spoiled."""
        form = self.form or call.rng.choose(_UNREADABLE if call.rng.random() < self.severity else _READABLE)
        return self.reworded(reply, _spoiled(reply.text, content_of(reply), form))


def _spoiled(text: str, content: JsonValue, form: Form) -> str:
    """Return the text in a form that no JSON parser accepts. Prose has no brackets to lose, so it is decoded wrongly."""
    if form == "page":
        return _PAGE
    if form == "bytes" or content is None:
        # UTF-16 read as Latin-1, as in real mojibake; its NULs would cut the text off in terminals and C strings.
        return text.encode("utf-16-le").decode("latin-1").replace("\0", "\ufffd")
    if form == "unquoted":
        # Python's own literals (single quotes, None, True): what servers send that print a dict instead of dumping it.
        return repr(content)
    return json.dumps(content, ensure_ascii=False).rstrip(']}" ')
