"""The chat policy: any model on an OpenAI-compatible server, deciding what to call next."""

from collections.abc import Sequence
from functools import reduce
from typing import ClassVar, Literal

import orjson
from pydantic import Field

from simtrain.agents.answers import read_answer
from simtrain.agents.context_check import FirstPrompt, check_room
from simtrain.agents.native_calls import NativeCalls
from simtrain.agents.text_calls import TextCalls
from simtrain.contracts.agent import Briefing, Outlook, Player, Policy
from simtrain.contracts.journal import Journal
from simtrain.llm.completion import ToolCall
from simtrain.llm.knobs import ModelKnobs
from simtrain.llm.retries import ModelError
from simtrain.values.errors import AgentFault
from simtrain.values.seeding import derive
from simtrain.values.types import Action, JsonObject, Message, encode, is_object

_REFUSED_HISTORY = (400, 413, 422)
_LEVELS_ABOVE = 20


class ChatPolicy(ModelKnobs, Policy):
    """A chat model on any OpenAI-compatible server, with native tool calls or calls written as text."""

    example: ClassVar[JsonObject] = {"with": {"model": "small"}}

    trusted: ClassVar[bool] = True
    continues: ClassVar[bool] = True

    protocol: Literal["native", "text"] = Field(
        "native", description="Tool calls in the wire's own fields, or as fenced blocks for servers without them."
    )
    seed: int | Literal["episode"] | None = Field(
        None, description="Sampling seed sent with every call; `episode` derives one from the episode's own."
    )
    system_suffix: str = Field("", description="Text put behind the system prompt.")
    send_reasoning: bool = Field(False, description="Send the thinking of earlier turns back, as reasoning_content.")

    def player(self, briefing: Briefing) -> Player:
        """Return a fresh player for one episode."""
        return _Player(self, briefing)

    async def ready_for(self, outlooks: Sequence[Outlook]) -> None:
        """Check that the server shows its model the tools and has room for the longest prompt. Raises InputError."""
        openings = [_Player(self, outlook.briefing).opening(outlook) for outlook in outlooks]
        if openings:
            await check_room(
                self.client,
                max(openings, key=lambda one: len(orjson.dumps([one.messages, one.tools]))),
                self.sampling(),
            )

    def facts(self) -> JsonObject:
        """Return the model and how it samples."""
        return {"model": self.model, "protocol": self.protocol, **self.sampling()}


class _Player:
    """One episode. The history only grows, each message encoded once, so that the server's prefix cache hits."""

    __slots__ = ("_calls", "_history", "_ids", "_policy", "_sampling", "_turns")

    def __init__(self, policy: ChatPolicy, briefing: Briefing) -> None:
        self._policy = policy
        self._calls = (NativeCalls if policy.protocol == "native" else TextCalls)(briefing.tools)
        self._history: list[orjson.Fragment] = []
        self._turns = 0
        self._ids: set[str] = set()
        self._sampling = policy.sampling()
        if policy.seed is not None:
            # Servers take a signed 32-bit or 64-bit seed; 31 bits suit them all.
            self._sampling["seed"] = derive(briefing.seed, "chat") >> 33 if policy.seed == "episode" else policy.seed
        system = "\n\n".join(part for part in (briefing.system, policy.system_suffix) if part)
        system = self._calls.system(system)
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
            if error.status in _REFUSED_HISTORY:
                raise AgentFault(f"the model call was refused: {error}") from None
            raise
        text, calls = self._calls.read(completion)
        actions = tuple(self._action(call) for call in calls)
        answer, abstain = (None, False) if actions else read_answer(text)
        return Message(text, actions, completion.reasoning, completion.usage, abstain, answer, completion.finish_reason)

    def _catch_up(self, journal: Journal) -> None:
        """Write the turns that the history lacks, from the journal, so that a resumed episode has the same history."""
        for turn in journal.turns[self._turns :]:
            self._ids.update(step.action.id for step in turn.steps)
            messages = self._calls.write(turn.text, turn.steps)
            if self._policy.send_reasoning and turn.reasoning:
                messages[0]["reasoning_content"] = turn.reasoning
            for message in messages:
                self._append(message)
        self._turns = len(journal.turns)

    def _append(self, message: JsonObject) -> None:
        self._history.append(orjson.Fragment(orjson.dumps(message)))

    def _action(self, call: ToolCall) -> Action:
        # Some servers number the calls of each message from 0 again; an action's id is unique in its episode.
        id = call.id if call.id not in self._ids else f"{call.id}-{len(self._ids)}"
        self._ids.add(id)
        arguments = _object(call.arguments)
        if arguments is None:
            return Action(id, call.name, {}, malformed=call.arguments)
        written = None if call.arguments == encode(arguments) else call.arguments
        return Action(id, call.name, arguments, written=written)


def _object(text: str) -> JsonObject | None:
    """Return the JSON object in a text; None if it holds none, or one too deep to be recorded."""
    try:
        value = orjson.loads(text)
        # JSON is read to a depth of 1024 and written to one of 254, and a trajectory holds arguments some levels down.
        orjson.dumps(reduce(lambda inner, _: [inner], range(_LEVELS_ABOVE), value))
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):
        return None
    return value if is_object(value) else None
