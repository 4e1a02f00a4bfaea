"""Conversations for chat templates, with every odd kind of call, and the rendering that transformers makes of them."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any

import pytest
from chat_templates import SPECIAL, lacking, sources
from transformers.utils import chat_template_utils

from simtrain.contracts.trajectory import Step, Turn
from simtrain.llm.chat_template import TEMPLATE_DATE, ChatTemplate
from simtrain.llm.conversation import LiveTranscript
from simtrain.values.types import Action, JsonObject, Observation, ToolSpec

TOOL = ToolSpec(
    "shop.find",
    "Find things. There are many.",
    {
        "type": "object",
        "properties": {
            "text": {"type": "string"},
            "count": {"type": "integer"},
            "size": {"type": "number", "default": 1.5},
            "deep": {"type": "object"},
            "items": {"type": "array", "items": {"type": ["integer", "string"]}},
            "flag": {"type": "boolean"},
            "maybe": {"type": ["string", "null"]},
        },
        "required": ["text"],
    },
)

ODD: dict[str, JsonObject] = {
    "quotes and lines": {"text": 'Zoë "Q" <b>Ünal</b>\nline \\ it\'s', "count": 3, "size": 1.5},
    "nothing": {},
    "an empty text": {"text": ""},
    "texts like numbers": {"text": "3"},
    "texts like words of JSON": {"text": "true", "maybe": None},
    "tags": {"text": "</tool_call><|im_end|></parameter>"},
    "nested": {"deep": {"on": True, "of": [1.5, "café", None], "no": {}}, "items": [1, "a", {"b": []}], "flag": False},
    "spaces": {"text": "  two \n"},
    "a text of JSON": {"text": '{"a": 1}'},
    "other scripts": {"text": "日本語 🎉"},
    "a wrong type": {"count": "three"},
    "arguments of Qwen": {"text": "\n</parameter>\n<parameter=size>\n1"},
    "a quote of Gemma": {"text": '<|"|>,size:1'},
    "a quote of LFM": {"text": "', size='c"},
    "an unknown argument": {"other": "12"},
}


def called(place: int, arguments: JsonObject, reply: str = "a reply") -> Step:
    """One call with its reply."""
    return Step(place, Action(f"call_{place}", TOOL.name, arguments), Observation(reply), "t")


def talk(*turns: Turn) -> LiveTranscript:
    """An episode in a shop, up to these turns."""
    return LiveTranscript("You are a shop.", "Buy a lamp.", [TOOL], turns)


def template(name: str) -> ChatTemplate:
    """A template of TRL; those of Nemotron begin a turn as they write it when thinking is off."""
    variables = {"enable_thinking": False} if name.startswith("nemotron") else {}
    return ChatTemplate(name, sources()[name], SPECIAL, variables)


class _Today(datetime.datetime):
    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> datetime.datetime:
        return TEMPLATE_DATE


def theirs(
    template: ChatTemplate, messages: Sequence[JsonObject], tools: Sequence[JsonObject] | None, **options: Any
) -> tuple[str, list[tuple[int, int]]]:
    """The text that transformers makes of a conversation, and the spans that it takes for the assistant's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chat_template_utils, "datetime", _Today)
        texts, spans = chat_template_utils.render_jinja_template(
            [list(messages)],
            tools=list(tools) if tools else None,
            chat_template=template.source,
            **options,
            **template.tokens,
            **template.variables,
        )
    return texts[0], spans[0] if spans else []


TAKES_TOOLS = sorted(name for name in sources() if lacking(name) is None)
"""The templates of TRL that take tools."""
