"""Chat templates: one rendering of a conversation for training, playing and serving, and its inverse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import orjson

from simtrain.llm.call_formats.formats import FORMATS
from simtrain.llm.call_formats.reading import AssistantMessage, CallFormat, Schemas
from simtrain.llm.chat_sandbox import compiled, rendered
from simtrain.llm.chat_template_files import find_template
from simtrain.llm.conversation import Conversation, with_system
from simtrain.llm.tool_listing import compact_listing
from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject, JsonValue, canonical, is_object, object_schema

TEMPLATE_DATE = datetime(2024, 7, 26)
"""The date that templates see as today, fixed so that training and playing agree: the default of Llama's own template."""


class NotCarried(InputError):
    """Raised if a template cannot represent a conversation: it would lose a part, or render it differently later."""


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of a rendered conversation. `written`: by the model, end of turn included; otherwise the model read it."""

    text: str
    written: bool


@dataclass(frozen=True)
class ChatTemplate:
    """A chat template's source. It may refer to the special `tokens`, and to other `variables` (`enable_thinking`)."""

    name: str
    source: str
    tokens: Mapping[str, str] = field(default_factory=dict[str, str])
    variables: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    now: datetime = TEMPLATE_DATE

    @classmethod
    def load(cls, name: str | Path, **variables: JsonValue) -> ChatTemplate:
        """Return the template of a shipped name (`hermes`, `qwen`), a .jinja file, or a tokenizer's folder or config.

        Raises InputError when there is none, or it does not parse.
        """
        found = find_template(name)
        template = cls(found.name, found.source, found.tokens, variables)
        try:
            compiled(template.source)
        except InputError as error:
            raise error.at(file=name) from None
        return template

    def render(self, conversation: Conversation, *, generate: bool = False) -> str:
        """Return the whole conversation as text, with the beginning of the model's next turn if `generate`.

        Raises InputError when the template refuses it, or drops the tools that it should list.
        """
        messages, tools = self.messages(conversation)
        return self._render(messages, tools, generate)

    def messages(self, conversation: Conversation) -> tuple[tuple[JsonObject, ...], tuple[JsonObject, ...] | None]:
        """Return the template's messages and tools; a compact listing of tools becomes part of the system prompt."""
        if not conversation.tools or conversation.listing == "none":
            return conversation.messages, None
        if conversation.listing == "full":
            if not self._lists_tools:
                raise InputError(
                    f"the chat template {self.name} drops the tools",
                    remedy="list them in the system prompt (listing: compact), or take another template",
                )
            return conversation.messages, conversation.tools
        listed = compact_listing(conversation.tools, self.call_example)
        return with_system(conversation.messages, listed), None

    def turns(self, conversation: Conversation, *, generate: bool = False) -> list[Span]:
        """Return the conversation in spans, read and written by turns: the prompt, what the model wrote, the replies, ...

        What follows the model's last turn is left out; with `generate` it is the last span, up to where the next turn
        begins, and the text of all spans is what the model continues. Raises NotCarried when a turn does not come back
        from its text as it was, or when the template writes an earlier turn otherwise once another follows.
        """
        messages, tools = self.messages(conversation)
        shift = len(messages) - len(conversation.messages)
        spans, seen = list[Span](), ""
        for at in _assistant_places(messages):
            # Where the model's own bytes are known they are used: training on a re-rendering would train on text never sampled.
            raw = conversation.written.get(at - shift)
            prompt, completion = self._turn(conversation, messages, tools, at, check=raw is None)
            spans.append(Span(self._behind(prompt, seen, at), False))
            spans.append(Span(completion if raw is None else raw, True))
            # A reply that was cut off has no end of its own.
            if raw is not None and not raw.endswith(self.stop):
                spans.append(Span(self._end(completion), False))
            seen = prompt + completion
        if generate:
            spans.append(Span(self._behind(self._render(messages, tools, True), seen, len(messages)), False))
        return _merged(spans)

    def ended(self, text: str, *, calls: bool) -> str:
        """Return a turn as the model wrote it, with the end mark that servers remove; `calls`: the turn has calls."""
        if not self.stop or text.endswith(self.stop):
            return text
        # Some templates end a turn with calls differently (gpt-oss: <|call|>); that end comes second.
        return text + self.stop[-1 if calls else 0]

    def prompted(self, conversation: Conversation) -> list[tuple[str, str]]:
        """Return each turn with everything before it, as a server renders it: for templates that rewrite earlier turns.

        Raises NotCarried when a turn does not come back from its text.
        """
        messages, tools = self.messages(conversation)
        return [self._turn(conversation, messages, tools, at, check=True) for at in _assistant_places(messages)]

    def parse(self, text: str, schemas: Schemas | None = None) -> AssistantMessage:
        """Return the text, the reasoning and the calls in a completion. Any text is accepted; an invalid call is marked malformed.

        `schemas` distinguishes texts from numbers for templates that write arguments without quotes.
        """
        return self._wire.read(text, schemas or {})

    @property
    def call_example(self) -> str:
        """Return an example of a call, for a prompt that explains the format."""
        return self._wire.example

    @property
    def stop(self) -> tuple[str, ...]:
        """Return the texts that end a turn of the model; empty if the template writes no end."""
        return self._wire.ends

    @cached_property
    def _wire(self) -> _Wire:
        return _found_out(self)

    @cached_property
    def _lists_tools(self) -> bool:
        return _ABOUT in self._render(_TASK, (_TOOL,), True)

    def _turn(
        self,
        conversation: Conversation,
        messages: Sequence[JsonObject],
        tools: Sequence[JsonObject] | None,
        at: int,
        *,
        check: bool,
    ) -> tuple[str, str]:
        """Return one turn's prompt and completion; `check` that the turn can be read back from it."""
        prompt = self._render(messages[:at], tools, True)
        whole = self._render(messages[: at + 1], tools, False)
        # Training and play agree only if a turn continues its prompt byte for byte.
        if not whole.startswith(prompt):
            raise self._not_carried(at, "the prompt for it is not how the template writes what came before it")
        completion = whole[len(prompt) :].rstrip()
        lost = _difference(messages[at], self._wire.read(completion, conversation.schemas)) if check else None
        if lost is not None:
            raise self._not_carried(at, f"{lost} cannot be read back from it")
        return prompt, completion

    def _behind(self, text: str, seen: str, at: int) -> str:
        # Templates that drop earlier thinking (Qwen 3) rewrite the past; a server's prefix cache and token masks would not match.
        if not text.startswith(seen):
            raise self._not_carried(at, "earlier turns are written otherwise once another follows")
        return text[len(seen) :]

    def _not_carried(self, at: int, problem: str) -> NotCarried:
        return NotCarried(
            f"the chat template {self.name} cannot carry message {at}: {problem}",
            remedy="take another template (hermes keeps everything), or leave the episode out",
        )

    def _end(self, completion: str) -> str:
        return next((end for end in self.stop if completion.endswith(end)), "")

    def _render(self, messages: Sequence[JsonObject], tools: Sequence[JsonObject] | None, generate: bool) -> str:
        values: dict[str, Any] = {
            "messages": [_shown(message) for message in messages],
            "tools": list(tools) if tools else None,
            "documents": None,
            "add_generation_prompt": generate,
            "strftime_now": self.now.strftime,
            **self.tokens,
            **self.variables,
        }
        try:
            return rendered(compiled(self.source), values)
        except InputError as error:
            raise error.at(place=f"chat template {self.name}") from None


@dataclass(frozen=True, slots=True)
class _Wire:
    """How a template writes calls: format, an example, the ends of a turn, and whether the prompt already begins the thinking."""

    format: CallFormat
    example: str
    ends: tuple[str, ...]
    opened: bool

    def read(self, text: str, schemas: Schemas) -> AssistantMessage:
        bare = text.rstrip()
        end = next((end for end in self.ends if bare.endswith(end)), "")
        return self.format.read(bare.removesuffix(end), schemas, opened=self.opened)


_ABOUT = "What a tool is for."
_WORDS = "The words of an answer."
_TASK: tuple[JsonObject, ...] = ({"role": "user", "content": "A task."},)
# Quotes, a backslash, a line break and every JSON type: what templates most often write so that it cannot be read back.
_ARGUMENTS: JsonObject = {"text": 'it\'s "so" \\ é\nhere', "count": 3, "flag": True, "list": [1, "a"]}
_TOOL: JsonObject = {
    "type": "function",
    "function": {
        "name": "a_tool",
        "description": _ABOUT,
        "parameters": object_schema(
            ("text",),
            text={"type": "string"},
            count={"type": "integer"},
            flag={"type": "boolean"},
            list={"type": "array"},
        ),
    },
}


def _calling(name: str, arguments: JsonObject) -> JsonObject:
    call = {"id": "call_0", "type": "function", "function": {"name": name, "arguments": arguments}}
    return {"role": "assistant", "content": "", "tool_calls": [call]}


def _found_out(template: ChatTemplate) -> _Wire:
    """Return how a template writes calls, found by rendering a call and an answer. Raises InputError if the call cannot be read back."""
    render = template._render  # pyright: ignore[reportPrivateUsage]
    start = render(_TASK, None, True)
    answer = render((*_TASK, {"role": "assistant", "content": _WORDS}), None, False)
    called = _calling("a_tool", _ARGUMENTS)
    call = render((*_TASK, called), None, False)
    if not answer.startswith(start) or not call.startswith(start):
        raise InputError(
            f"the chat template {template.name} does not write the model's turn as its generation prompt begins it",
            remedy="take its twin for training, set a variable such as enable_thinking, or take another template",
        )
    words_end = answer[answer.rindex(_WORDS) + len(_WORDS) :].strip() if _WORDS in answer else ""
    written = call[len(start) :].rstrip()
    for one in FORMATS:
        if one.opening not in written or one.closing not in written:
            continue
        call_end = written[written.rindex(one.closing) + len(one.closing) :].strip()
        ends = tuple(dict.fromkeys(end for end in (words_end, call_end) if end))
        example = render((*_TASK, _calling("NAME", {"ARGUMENT": "VALUE"})), None, False)[len(start) :].rstrip()
        example = example[example.index(one.opening) :].removesuffix(call_end).strip()
        wire = _Wire(one, example, ends, start.rstrip().endswith(one.thought[0].strip()))
        # A format counts only if the probe survives the round trip; similar marks alone prove nothing.
        if _difference(called, wire.read(written, {"a_tool": _TOOL["function"]["parameters"]})) is None:
            return wire
    raise InputError(
        f"the chat template {template.name} drops calls, or writes them in an unknown form",
        remedy="take another template, such as hermes or qwen",
    )


def _difference(message: JsonObject, read: AssistantMessage) -> str | None:
    """Return the part of a message that is lost in its rendered text; None if all of it can be read back."""
    calls = [call["function"] for call in message.get("tool_calls", ())]
    if [call["name"] for call in calls] != [call.name for call in read.calls]:
        return "a call"
    for call, found in zip(calls, read.calls, strict=True):
        if canonical(call["arguments"]) != _canonical(found.arguments):
            return f"the arguments of {call['name']}"
    if message["content"].strip() != read.text:
        return "the text beside a call" if calls else "the text"
    return None if (message.get("reasoning_content") or None) == read.reasoning else "the thinking"


def _canonical(arguments: str) -> bytes | None:
    try:
        value = orjson.loads(arguments)
    except orjson.JSONDecodeError:
        return None
    return canonical(value) if is_object(value) else None


def _shown(message: JsonObject) -> JsonObject:
    """Return a message as transformers passes it to a template: thinking under both names, and no null values."""
    kept = {name: value for name, value in message.items() if value is not None}
    reasoning = kept.get("reasoning_content")
    return kept if reasoning is None else {"thinking": reasoning, **kept}


def _assistant_places(messages: Sequence[JsonObject]) -> list[int]:
    return [at for at, message in enumerate(messages) if message["role"] == "assistant"]


def _merged(spans: Sequence[Span]) -> list[Span]:
    """Return the spans with neighbours of the same kind joined, so that read and written spans alternate."""
    found = list[Span]()
    for span in spans:
        if found and found[-1].written == span.written:
            found[-1] = Span(found[-1].text + span.text, span.written)
        elif span.text:
            found.append(span)
    return found
