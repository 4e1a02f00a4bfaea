"""A player that renders the conversation itself and has the model continue it: the bytes, or the token ids, are those of training."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from simtrain.agents.answers import read_answer
from simtrain.agents.reading_calls import CallReader
from simtrain.contracts.journal import Journal
from simtrain.contracts.trajectory import Step, Turn
from simtrain.llm.chat_template import ChatTemplate, NotCarried, Span
from simtrain.llm.client import ChatClient
from simtrain.llm.completion import Completion
from simtrain.llm.conversation import Conversation, Listing, LiveTranscript, conversation_of, names_of
from simtrain.llm.retries import REFUSED, ModelError
from simtrain.llm.token_ids import ASKED_OF_COMPLETIONS
from simtrain.llm.tokenizing import tokenized
from simtrain.values.errors import AgentFault
from simtrain.values.tokens import Tokens, ids_so_far
from simtrain.values.types import CUT, Action, JsonObject, Message, Observation, complete

_LONGEST = 1024
"""Tokens of a reply where `max_tokens` is not set: the older route's own default is 16."""


@dataclass
class RenderedPlayer:
    """One episode by `/completions`; with `token_ids` the prompt is made of the ids that were sampled, and never of their text."""

    client: ChatClient
    template: ChatTemplate
    listing: Listing
    opening: LiveTranscript
    sampling: JsonObject
    token_ids: bool
    calls: CallReader

    def conversation(self, turns: Sequence[Turn] = ()) -> Conversation:
        """Return the conversation of an episode up to some turns; thinking stays in, since nothing earlier may change."""
        return conversation_of(replace(self.opening, turns=turns), listing=self.listing, reasoning=True)

    async def think(self, journal: Journal) -> Message:
        """Return the model's next message.

        Raises ModelFault when the model is unavailable, AgentFault when its prompt is refused or cannot be rendered.
        """
        for turn in journal.turns:
            self.calls.note(turn)
        conversation = self.conversation(journal.turns)
        try:
            spans = self.template.turns(conversation, generate=True)
            completion, tokens = await self._continued(spans, journal.turns)
        except NotCarried as error:
            raise AgentFault(str(error)) from None
        except ModelError as error:
            if error.status in REFUSED:
                raise AgentFault(f"the model call was refused: {error}") from None
            raise
        return self._message(completion, tokens, conversation, journal.turns)

    async def _continued(self, spans: Sequence[Span], turns: Sequence[Turn]) -> tuple[Completion, Tokens | None]:
        fields = {
            "max_tokens": _LONGEST,
            "stop": list(self.template.stop),
            # vLLM and SGLang drop special tokens by default, and with them the markers that some templates put around calls.
            "skip_special_tokens": False,
            **self.sampling,
        }
        if not self.token_ids:
            return await self.client.continue_text("".join(span.text for span in spans), **fields), None
        prompt = await self._prompt_ids(spans, turns)
        completion = await self.client.continue_text(prompt, **(ASKED_OF_COMPLETIONS | fields))
        if completion.tokens is None:
            raise ModelError(f"{self.client.server} returns no token ids")
        return completion, replace(completion.tokens, prompt_ids=prompt)

    async def _prompt_ids(self, spans: Sequence[Span], turns: Sequence[Turn]) -> tuple[int, ...]:
        """Return the ids so far, as they were sampled, and those of what was read since."""
        before = ids_so_far(turns)
        if not before:
            return await tokenized(self.client, "".join(span.text for span in spans))
        read, end = spans[-1].text, self._end_of(spans)
        # Where the end of a turn is no token of its own server, it is read with what follows.
        if end and not _ends_with(before, await tokenized(self.client, end)):
            read = end + read
        return (*before, *await tokenized(self.client, read))

    def _end_of(self, spans: Sequence[Span]) -> str:
        written = spans[-2].text
        return next((end for end in self.template.stop if written.endswith(end)), "")

    def _message(
        self, completion: Completion, tokens: Tokens | None, conversation: Conversation, turns: Sequence[Turn]
    ) -> Message:
        found = self.template.parse(completion.text, conversation.schemas)
        native = {wire: name for name, wire in names_of(self.opening).items()}
        actions = tuple(self.calls.action(replace(call, name=native.get(call.name, call.name))) for call in found.calls)
        text = completion.text
        # Servers leave the stop text out; a reply that was cut off has not reached its end.
        if completion.finish_reason != CUT:
            text = self.template.ended(text, calls=bool(actions))
        answer, abstain = (
            read_answer(found.text) if not actions or complete(self.opening.tools, actions) else (None, False)
        )
        turn = Turn(found.text, found.reasoning, steps=[_pending(action) for action in actions])
        return Message(
            found.text,
            actions,
            found.reasoning,
            completion.usage,
            abstain,
            answer,
            completion.finish_reason,
            # Recorded only where the model wrote other bytes than the template would: training must see what was sampled.
            None if text == self._canonical(turn, turns) else text,
            tokens,
        )

    def _canonical(self, turn: Turn, turns: Sequence[Turn]) -> str | None:
        """Return how the template writes a turn; None if it cannot."""
        try:
            spans = self.template.turns(self.conversation([*turns, turn]))
        except NotCarried:
            return None
        return spans[-1].text if spans and spans[-1].written else None


def _pending(action: Action) -> Step:
    """Return a call as a step that has no reply yet."""
    return Step(0, action, Observation(""), "")


def _ends_with(ids: tuple[int, ...], end: tuple[int, ...]) -> bool:
    return ids[-len(end) :] == end
