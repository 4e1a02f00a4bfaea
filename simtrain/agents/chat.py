"""The chat policy: any model on an OpenAI-compatible server, chooses the next calls."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import ClassVar, Literal, Self

import orjson
from pydantic import Field

from simtrain.agents.answers import read_answer
from simtrain.agents.context_check import FirstPrompt, check_room, check_token_ids
from simtrain.agents.native_calls import NativeCalls
from simtrain.agents.reading_calls import CallReader
from simtrain.agents.rendered_player import RenderedPlayer
from simtrain.agents.template_calls import TemplateCalls
from simtrain.agents.text_calls import TextCalls
from simtrain.contracts.agent import Briefing, Outlook, Player, Policy
from simtrain.contracts.journal import Journal
from simtrain.llm.chat_template import ChatTemplate
from simtrain.llm.completion import Completion
from simtrain.llm.conversation import Listing, LiveTranscript
from simtrain.llm.knobs import ModelKnobs
from simtrain.llm.retries import REFUSED, ModelError
from simtrain.llm.token_ids import ASKED_OF_CHAT
from simtrain.llm.tokenizing import chat_prompt_ids
from simtrain.values.errors import AgentFault
from simtrain.values.seeding import derive
from simtrain.values.tokens import Tokens
from simtrain.values.types import JsonObject, Message, complete


class ChatPolicy(ModelKnobs, Policy):
    """A chat model on any OpenAI-compatible server, with native tool calls or calls written as text."""

    example: ClassVar[JsonObject] = {"with": {"model": "small"}}

    trusted: ClassVar[bool] = True
    continues: ClassVar[bool] = True

    protocol: Literal["native", "text", "template", "completions"] = Field(
        "native",
        description="Calls in the wire's own fields, as fenced blocks, or as the chat template writes them; "
        "`completions` renders the whole conversation here.",
    )
    chat_template: str = Field(
        "hermes", description="For `template` and `completions`: hermes, qwen, a .jinja file or a tokenizer's folder."
    )
    listing: Listing = Field(
        "compact", description="For the same: tools in one line each, as JSON Schemas, or not listed."
    )
    token_ids: bool = Field(
        False, description="Record token ids and logprobs of every turn, from vLLM, SGLang or llama.cpp."
    )
    seed: int | Literal["episode"] | None = Field(
        None, description="Sampling seed sent with every call; `episode` derives one from the episode's own."
    )
    system_suffix: str = Field("", description="Text put behind the system prompt.")
    send_reasoning: bool = Field(False, description="Send the thinking of earlier turns back, as reasoning_content.")

    def __copy__(self) -> Self:
        copied = super().__copy__()
        # pydantic copies cached properties along, and a copy may have another chat_template.
        vars(copied).pop("template", None)
        return copied

    @cached_property
    def template(self) -> ChatTemplate:
        """The chat template. Raises InputError."""
        return ChatTemplate.load(self.chat_template)

    def player(self, briefing: Briefing) -> Player:
        """Return a fresh player for one episode."""
        return self._rendered(briefing) if self.protocol == "completions" else _Player(self, briefing)

    def _rendered(self, briefing: Briefing) -> RenderedPlayer:
        opening = LiveTranscript(self.system(briefing), briefing.prompt, briefing.tools)
        sampling = self.episode_sampling(briefing)
        return RenderedPlayer(self.client, self.template, self.listing, opening, sampling, self.token_ids, CallReader())

    def system(self, briefing: Briefing) -> str:
        """Return the system prompt with its suffix."""
        return "\n\n".join(part for part in (briefing.system, self.system_suffix) if part)

    def episode_sampling(self, briefing: Briefing) -> JsonObject:
        """Return the sampling fields of one episode."""
        sampling = self.sampling()
        if self.seed is not None:
            # Servers take a signed 32-bit or 64-bit seed; 31 bits suit them all.
            sampling["seed"] = derive(briefing.seed, "chat") >> 33 if self.seed == "episode" else self.seed
        return sampling

    async def ready_for(self, outlooks: Sequence[Outlook]) -> None:
        """Check that the server shows its model the tools and has room for the longest prompt. Raises InputError."""
        openings = [self._opening(outlook) for outlook in outlooks]
        if not openings:
            return
        # One probe for all: if the longest opening fits, so do the others.
        longest = max(openings, key=lambda one: len(orjson.dumps([one.messages, one.tools])))
        if self.token_ids:
            await check_token_ids(self.client, longest, self.sampling())
        await check_room(self.client, longest, self.sampling())

    def _opening(self, outlook: Outlook) -> FirstPrompt:
        if self.protocol != "completions":
            return _Player(self, outlook.briefing).opening(outlook)
        player = self._rendered(outlook.briefing)
        text = self.template.render(player.conversation(), generate=True)
        return FirstPrompt(outlook.scenario, text, None, len(outlook.briefing.tools), outlook.limits)

    def facts(self) -> JsonObject:
        """Return the model, how it is spoken to and how it samples."""
        rendered = {"chat_template": self.template.name, "listing": self.listing}
        own = rendered if self.protocol in ("template", "completions") else {}
        return {"model": self.model, "protocol": self.protocol, **own, **self.sampling()}


class _Player:
    """One episode. The history is append-only and each message is encoded once, so that the server's prefix cache hits."""

    __slots__ = ("_calls", "_history", "_policy", "_reader", "_sampling", "_tools", "_turns")

    def __init__(self, policy: ChatPolicy, briefing: Briefing) -> None:
        self._policy = policy
        self._calls = _calls_of(policy, briefing)
        self._history: list[orjson.Fragment] = []
        self._turns = 0
        self._tools = briefing.tools
        self._reader = CallReader()
        self._sampling = policy.episode_sampling(briefing) | (ASKED_OF_CHAT if policy.token_ids else {})
        system = self._calls.system(policy.system(briefing))
        if system:
            self._append({"role": "system", "content": system})
        self._append({"role": "user", "content": briefing.prompt})

    def opening(self, outlook: Outlook) -> FirstPrompt:
        """Return the messages that open the conversation, before the first turn."""
        return FirstPrompt(
            outlook.scenario, self._history, self._calls.tools, len(outlook.briefing.tools), outlook.limits
        )

    async def think(self, journal: Journal) -> Message:
        """Return the model's next message.

        Raises ModelFault when the model is unavailable, AgentFault when its history is refused (too long).
        """
        self._catch_up(journal)
        try:
            completion = await self._policy.client.complete(self._history, tools=self._calls.tools, **self._sampling)
        except ModelError as error:
            # The server refuses what this agent has written so far, so trying again is useless and the fault is the agent's.
            if error.status in REFUSED:
                raise AgentFault(f"the model call was refused: {error}") from None
            raise
        text, calls = self._calls.read(completion)
        actions = tuple(self._reader.action(call) for call in calls)
        answer, abstain = read_answer(text) if not actions or complete(self._tools, actions) else (None, False)
        tokens = await self._tokens(completion) if self._policy.token_ids else None
        return Message(
            text,
            actions,
            completion.reasoning,
            completion.usage,
            abstain,
            answer,
            completion.finish_reason,
            tokens=tokens,
        )

    async def _tokens(self, completion: Completion) -> Tokens:
        found = completion.tokens
        if found is None:
            raise ModelError(f"{self._policy.client.server} returns no token ids")
        # vLLM returns the prompt's ids; other servers have to tokenize the same messages once more.
        if found.prompt_ids:
            return found
        prompt = await chat_prompt_ids(self._policy.client, self._history, self._calls.tools)
        return replace(found, prompt_ids=prompt)

    def _catch_up(self, journal: Journal) -> None:
        """Append the journal's turns that the history lacks, so that a resumed episode has the same history."""
        for turn in journal.turns[self._turns :]:
            self._reader.note(turn)
            messages = self._calls.write(turn.text, turn.steps)
            if self._policy.send_reasoning and turn.reasoning:
                messages[0]["reasoning_content"] = turn.reasoning
            for message in messages:
                self._append(message)
        self._turns = len(journal.turns)

    def _append(self, message: JsonObject) -> None:
        # Encoded once: with plain dicts each turn would encode the whole history again.
        self._history.append(orjson.Fragment(orjson.dumps(message)))


def _calls_of(policy: ChatPolicy, briefing: Briefing) -> NativeCalls | TextCalls:
    """Return how calls are offered and read."""
    if policy.protocol == "template":
        return TemplateCalls(briefing.tools, policy.template, policy.listing)
    return (NativeCalls if policy.protocol == "native" else TextCalls)(briefing.tools)
