"""Episodes as text by a chat template, with the character ranges that the model wrote."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import ClassVar, Literal

from pydantic import Field

from simtrain.contracts.exporter import Exporter
from simtrain.contracts.trajectory import Trajectory
from simtrain.llm.chat_template import ChatTemplate, NotCarried, Span
from simtrain.llm.conversation import Conversation, Listing, conversation_of
from simtrain.runs.exporters.messages import NO_WORDS, spoken
from simtrain.values.types import JsonObject


class Rendered(Exporter):
    """Rows of text as the agent `chat` plays it with the same template and listing, and the spans that the model wrote.

    `text` is the whole episode, or `prompt` the task and `completion` what followed. `spans` has `[start, end]` of each
    piece that the model wrote, its end of turn included, in characters of the text or of the completion. Turns with a
    malformed call are left out of them. An episode that the template cannot express gives no row.
    """

    example: ClassVar[JsonObject] = {"with": {"listing": "full"}}

    chat_template: str = Field("hermes", description="hermes, qwen, a .jinja file or the folder of a tokenizer.")
    listing: Listing = Field(
        "compact", description="Tools in one line each, as JSON Schemas by the template, or not listed."
    )
    form: Literal["text", "prompt_completion", "turns"] = Field(
        "text",
        description="One text, the task and what followed, or a row for each turn with all that stood before it.",
    )
    reasoning: Literal["drop", "keep"] = Field("drop", description="Keep thinking, as the template writes it.")
    calls: Literal["together", "apart"] = Field(
        "together", description="The calls of a turn in one message, or each in its own."
    )

    @cached_property
    def template(self) -> ChatTemplate:
        """The chat template. Raises InputError."""
        return ChatTemplate.load(self.chat_template)

    def lacking(self, trajectory: Trajectory) -> str | None:
        if not spoken(trajectory):
            return NO_WORDS
        try:
            list(self._rows(trajectory))
        except NotCarried:
            return f"that the chat template {self.template.name} cannot carry"
        return None

    def rows(self, trajectory: Trajectory) -> Iterator[JsonObject]:
        """Yield one row, or one for each turn; none if the agent said nothing, or the template cannot express the episode.

        Raises InputError for a template that cannot list tools or write calls.
        """
        if not spoken(trajectory):
            return
        try:
            # All or none: part of an episode would be a wrong example.
            yield from list(self._rows(trajectory))
        except NotCarried:
            return

    def _rows(self, trajectory: Trajectory) -> Iterator[JsonObject]:
        conversation = self._conversation(trajectory)
        reward: JsonObject = {"reward": trajectory.reward}
        if self.form == "turns":
            sound = self._sound(conversation)
            for (prompt, completion), fits in zip(self.template.prompted(conversation), sound, strict=True):
                if fits:
                    yield {"prompt": prompt, "completion": completion, "spans": [[0, len(completion)]]} | reward
            return
        spans = self._trained(self.template.turns(conversation), self._sound(conversation))
        if self.form == "text":
            yield {"text": _text(spans), "spans": _places(spans)} | reward
        else:
            yield {"prompt": spans[0].text, "completion": _text(spans[1:]), "spans": _places(spans[1:])} | reward

    def _conversation(self, trajectory: Trajectory) -> Conversation:
        return conversation_of(
            trajectory, listing=self.listing, reasoning=self.reasoning == "keep", apart=self.calls == "apart"
        )

    def _sound(self, conversation: Conversation) -> list[bool]:
        """Return for each turn whether the model wrote it as it is shown; a malformed call is shown as it was sent back."""
        places = [at for at, message in enumerate(conversation.messages) if message["role"] == "assistant"]
        return [at in conversation.written or at not in conversation.malformed for at in places]

    def _trained(self, spans: Sequence[Span], sound: Sequence[bool]) -> list[Span]:
        left = iter(sound)
        return [Span(span.text, next(left)) if span.written else span for span in spans]


def _text(spans: Sequence[Span]) -> str:
    return "".join(span.text for span in spans)


def _places(spans: Sequence[Span]) -> list[list[int]]:
    """Return `[start, end]` of each piece that the model wrote."""
    found, at = list[list[int]](), 0
    for span in spans:
        if span.written:
            found.append([at, at + len(span.text)])
        at += len(span.text)
    return found
