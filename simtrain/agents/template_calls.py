"""Tool calls read from the text of a model, in the form in which its chat template writes them."""

import json
from collections.abc import Sequence
from dataclasses import replace

import orjson

from simtrain.agents.native_calls import NativeCalls
from simtrain.llm.chat_template import ChatTemplate
from simtrain.llm.completion import Completion, ToolCall
from simtrain.llm.conversation import Conversation, Listing, LiveTranscript, conversation_of
from simtrain.values.types import ToolSpec


class TemplateCalls(NativeCalls):
    """Tools listed in the system prompt, or by the server (`listing: full`); calls as text, or as the server reads them itself."""

    __slots__ = ("_conversation", "_listing", "_template")

    def __init__(self, tools: Sequence[ToolSpec], template: ChatTemplate, listing: Listing) -> None:
        super().__init__(tools)
        self._template, self._listing = template, listing
        self._conversation = conversation_of(LiveTranscript("", "", tools), listing=listing)
        if listing != "full":
            self.tools = None

    def system(self, system: str) -> str:
        """Return the system prompt, with the tools where they are listed in it."""
        opening: Conversation = replace(self._conversation, messages=({"role": "system", "content": system},))
        if not system and self._listing != "compact":
            return system
        messages, _ = self._template.messages(opening if system else replace(opening, messages=()))
        return str(messages[0]["content"]) if messages else system

    def read(self, completion: Completion) -> tuple[str, tuple[ToolCall, ...]]:
        """Return the words and the calls, under native names."""
        if not completion.calls:
            found = self._template.parse(completion.text, self._conversation.schemas)
            calls = tuple(replace(call, arguments=_spaced(call.arguments)) for call in found.calls)
            completion = replace(completion, text=found.text, calls=calls)
        return super().read(completion)


def _spaced(arguments: str) -> str:
    """Return JSON text as chat templates write it: servers that hand it to one as it is then write what the model wrote."""
    try:
        return json.dumps(orjson.loads(arguments), ensure_ascii=False)
    except orjson.JSONDecodeError:
        return arguments
