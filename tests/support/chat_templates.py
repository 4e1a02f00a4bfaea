"""The chat templates that TRL ships, rendered by what trainers render them with; and what each of them can carry.

What a template can carry is told from a conversation made here, as TRL's documentation has tool calling, and never from exported rows.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

os.environ.setdefault("TRANSFORMERS_NO_ADVISORY_WARNINGS", "1")

from transformers.utils.chat_template_utils import render_jinja_template

Message = dict[str, Any]

FOLDER = Path(sys.prefix, "trl", "trl", "chat_templates")
"""Where `make` puts the templates of the version that constraints.txt names."""

SPECIAL = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}

TOOL: Message = {
    "type": "function",
    "function": {
        "name": "name_of_a_tool",
        "description": "What the tool does.",
        "parameters": {"type": "object", "properties": {"key_of_it": {"type": "string"}}, "required": ["key_of_it"]},
    },
}
ARGUMENTS = '{"key_of_it": "value_of_it"}'
CALL: Message = {"type": "function", "function": {"name": "name_of_a_tool", "arguments": json.loads(ARGUMENTS)}}


@dataclass(frozen=True)
class Rendered:
    """A rendered conversation, and the parts of it that the template marks as the assistant's."""

    text: str
    marked: tuple[str, ...]


@cache
def sources() -> dict[str, str]:
    """Every template by its name."""
    found = {path.stem: path.read_text() for path in sorted(FOLDER.glob("*.jinja"))}
    assert found, f"there are no chat templates in {FOLDER}; `make test` installs them"
    return found


def render(name: str, messages: Sequence[Message], tools: Sequence[Message] | None = None) -> Rendered:
    """A conversation in a template, by the function that `apply_chat_template` calls. Raises what the template raises."""
    source = sources()[name]
    marks = "generation %}" in source or "generation -%}" in source
    (text,), spans = render_jinja_template(
        [list(messages)], tools=tools, chat_template=source, return_assistant_tokens_mask=marks, **SPECIAL
    )
    return Rendered(text, tuple(text[start:end] for start, end in (spans[0] if marks else ())))


def blocks(messages: Sequence[Message]) -> list[Message]:
    """The messages as templates of models that also see images have them."""
    return [message | {"content": [{"type": "text", "text": message["content"]}]} for message in messages]


def tool_calling() -> list[Message]:
    """A task, a call, its reply and an answer."""
    return [
        {"role": "user", "content": "the task"},
        {"role": "assistant", "content": "", "tool_calls": [CALL]},
        {"role": "tool", "name": "name_of_a_tool", "content": "reply_of_it"},
        {"role": "assistant", "content": "the answer"},
    ]


@cache
def lacking(name: str) -> str | None:
    """What a template cannot do with tools, in a few words; None for one that lists tools and carries calls and replies.

    It is tried with content as text and in blocks, and with arguments as an object and as JSON text.
    """
    texts = tool_calling()
    texts[1] = texts[1] | {"tool_calls": [CALL | {"function": {"name": "name_of_a_tool", "arguments": ARGUMENTS}}]}
    tried = [_lacking(name, form) for form in (tool_calling(), blocks(tool_calling()), texts)]
    return None if None in tried else min((why or "" for why in tried), key=lambda why: why.startswith("raises"))


def _lacking(name: str, messages: list[Message]) -> str | None:
    try:
        text = render(name, messages, [TOOL]).text
    except Exception as error:
        return f"raises {type(error).__name__}"
    lost = [what for what, sign in _signs() if sign not in text]
    return f"drops {', '.join(lost)}" if lost else None


def _signs() -> Iterator[tuple[str, str]]:
    yield "tools", "What the tool does."
    yield "calls", "value_of_it"
    yield "replies", "reply_of_it"
    yield "answers", "the answer"


def once(value: object) -> set[str]:
    """How a value may stand in a text where it was written once: as it is, as JSON, or in Python's quotes."""
    if isinstance(value, str):
        return {value, repr(value)[1:-1], json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]}
    return {json.dumps(value), str(value)}


def leaves(value: object) -> Iterator[object]:
    """All keys and single values of a JSON value."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from leaves(item)
    elif isinstance(value, list):
        for item in value:
            yield from leaves(item)
    else:
        yield value
