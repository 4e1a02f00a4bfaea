"""Conversations as token ids: rendered by simtrain's own renderer, kept as sampled, and never re-tokenized from text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from jinja2 import TemplateError

from simtrain.llm.call_formats.reading import AssistantMessage
from simtrain.llm.chat_template import ChatTemplate
from simtrain.llm.conversation import Conversation, Listing, LiveTranscript, conversation_of
from simtrain.public import Session
from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject

_SPECIAL = ("bos_token", "eos_token", "unk_token", "pad_token")


@dataclass(frozen=True)
class ChatTokens:
    """A tokenizer, its chat template, and how tools are listed."""

    tokenizer: Any
    template: ChatTemplate
    listing: Listing

    @classmethod
    def of_trainer(cls, trainer: Any, listing: Listing) -> ChatTokens:
        """Return the ChatTokens of a trainer: the tokenizer's template, or TRL's training variant if that one rewrites earlier turns.

        Raises InputError for a template that cannot be trained with.
        """
        tokenizer = trainer.processing_class
        tokens = {name: token for name in _SPECIAL if (token := getattr(tokenizer, name, None))}
        source, variables = _source(tokenizer), dict(trainer.chat_template_kwargs or {})
        return cls(tokenizer, ChatTemplate("of the tokenizer", source, tokens, variables), listing)

    def opening(self, session: Session) -> list[int]:
        """Return the prompt of an episode. Raises InputError if the template drops the tools, or the tokenizer loses text."""
        live = LiveTranscript(session.system, session.prompt, session.tools)
        text = self.template.render(conversation_of(live, listing=self.listing), generate=True)
        ids = self._ids(text)
        # White space may differ: some tokenizers put a space before the first word, or after special tokens.
        if "".join(self._text(ids).split()) != "".join(text.split()):
            raise InputError("the tokenizer does not give back the prompt", remedy="take one that keeps all characters")
        return ids

    def read(self, ids: Sequence[int], schemas: dict[str, JsonObject]) -> AssistantMessage:
        """Return the words and the calls that a model wrote."""
        return self.template.parse(self._text(ids), schemas)

    def replies(self, replies: Sequence[JsonObject]) -> list[int]:
        """Return the tokens between the end of a turn with calls and the model's next turn: the replies, as the template writes them.

        They are rendered after a made-up turn that calls tools of these names, since the model's own turn is never rendered again.
        """
        calls: list[JsonObject] = [
            {"id": reply["tool_call_id"], "type": "function", "function": {"name": reply["name"], "arguments": {}}}
            for reply in replies
        ]
        called: tuple[JsonObject, ...] = (
            {"role": "user", "content": "-"},
            {"role": "assistant", "content": "", "tool_calls": calls},
        )
        before, whole = self._rendered(called), self._rendered((*called, *replies), generate=True)
        if not whole.startswith(before):
            raise InputError(
                "the chat template rewrites the model's turn once a reply follows", remedy="take its twin for training"
            )
        # The model has already written its end of turn; white space that the template adds after it belongs to the replies.
        ends = [before.rindex(end) + len(end) for end in self.template.stop if end in before]
        return self._ids(whole[max(ends, default=len(before)) :])

    def _rendered(self, messages: Sequence[JsonObject], *, generate: bool = False) -> str:
        return self.template.render(Conversation(tuple(messages)), generate=generate)

    def _text(self, ids: Sequence[int]) -> str:
        return self.tokenizer.decode(ids, skip_special_tokens=False)

    def _ids(self, text: str) -> list[int]:
        # The template writes all special tokens itself; the tokenizer would add a second one at the start.
        return self.tokenizer.encode(text, add_special_tokens=False)


def _source(tokenizer: Any) -> str:
    templates: Any = import_module("trl.chat_template_utils")
    if not tokenizer.chat_template:
        raise InputError("the tokenizer has no chat template", remedy="set its chat_template")
    try:
        # Only if a longer conversation begins with the text of a shorter one do the sampled tokens stay a prefix.
        if templates.is_chat_template_prefix_preserving(tokenizer):
            return tokenizer.chat_template
        return templates.get_training_chat_template(tokenizer)
    except (ValueError, TemplateError) as error:
        raise InputError(
            f"the tokenizer's chat template cannot be trained with: {error}",
            remedy="take another template, such as hermes",
        ) from None
