"""A language world model: a chat model that answers tool calls in place of their servers."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import ClassVar

import orjson
from pydantic import Field

from simtrain.contracts.domain import Domain
from simtrain.contracts.request import Answer, Request
from simtrain.contracts.tool_globs import matches
from simtrain.contracts.world import WorldState
from simtrain.contracts.world_model import WorldModel
from simtrain.files.file_model import FileModel
from simtrain.llm.completion import Completion, whole
from simtrain.llm.knobs import ModelKnobs
from simtrain.llm.retries import ModelError
from simtrain.values.errors import SimulatorFault
from simtrain.values.types import JsonObject, JsonValue, Observation, Provenance, ToolSpec, Usage
from simtrain.world_models.claims_ledger import Ledger

FROM_WORLD = "world"

_ESTABLISHED = "Hidden state, established by your earlier replies; it holds until a call changes it:"


class Demonstration(FileModel):
    """One worked example in the prompt: a call and its reply, in the form of the domain."""

    action: str
    observation: str


class ToolSettings(FileModel):
    """Sampling settings for some tools. Settings that are not given keep the value for all tools."""

    tools: str | list[str] = Field(
        description="Glob, or list of globs, over tool names; the first entry that fits counts."
    )
    temperature: float | None = Field(None, ge=0)
    top_p: float | None = Field(None, gt=0, le=1)
    top_k: int | None = Field(None, ge=1)
    max_tokens: int | None = Field(None, ge=1)
    thinking: bool | None = None

    def fits(self, tool: str) -> bool:
        """Return True if these settings apply to a tool."""
        return matches(tool, self.tools if isinstance(self.tools, str) else tuple(self.tools))


class Chat(ModelKnobs, WorldModel):
    """A chat model predicts what the tools return.

    It reads the calls that reach it in this episode, in order, and none that other world models answer. The sampling
    defaults are those of the Qwen-AgentWorld model card.
    """

    example: ClassVar[JsonObject] = {"with": {"model": "small"}}

    temperature: float | None = Field(0.6, ge=0, description="Sampling temperature.")
    top_p: float | None = Field(0.95, gt=0, le=1, description="Nucleus sampling.")
    top_k: int | None = Field(
        20, ge=1, description="Most likely tokens to draw from; null where the server refuses it."
    )
    max_tokens: int | None = Field(32_768, ge=1, description="Most tokens in one prediction, thinking included.")
    seed: int | None = Field(None, description="Sampling seed sent with every call.")
    thinking: bool | None = Field(
        None, description="Sent as chat_template_kwargs.enable_thinking; the server's own setting when not given."
    )
    per_tool: list[ToolSettings] = Field(
        default_factory=list[ToolSettings], description="Other sampling for some tools."
    )
    initial_state: str = Field(FROM_WORLD, description="`world`: the world describes its state; else the text itself.")
    hidden_state: str = Field("", description="What holds although the agent cannot see it.")
    demonstrations: list[Demonstration] = Field(default_factory=list[Demonstration], description="Worked examples.")
    instruction: str = Field("", description="What shall happen in the episode: a script that the model carries out.")
    ledger: bool = Field(
        True,
        description="Keep what replies establish, give it back with later calls, refuse replies that contradict it.",
    )
    volatile: list[str] = Field(
        default_factory=list[str], description="Globs of fields that may differ from reply to reply, for the ledger."
    )
    retries: int = Field(1, ge=0, description="New predictions asked for when one is rejected.")

    @asynccontextmanager
    async def session(
        self, *, domain: Domain, world: WorldState, tools: tuple[ToolSpec, ...]
    ) -> AsyncGenerator[Answer, None]:
        """Open one episode. Its history only grows, so that the server's prefix cache hits."""
        # The initial state is described once: later states follow from the calls in the history.
        system = domain.system_prompt(
            tools,
            initial_state=world.describe() if self.initial_state == FROM_WORLD else self.initial_state,
            hidden_state=self.hidden_state,
            demonstrations=[(shown.action, shown.observation) for shown in self.demonstrations],
            instruction=self.instruction,
        )
        ledger = Ledger(ignore=(*domain.volatile, *self.volatile)) if self.ledger else None
        yield _Session(self, domain, system, ledger).answer

    def sampling_for(self, tool: str) -> JsonObject:
        """Return the sampling fields of the request body for calls of `tool`."""
        fields: JsonObject = {
            "temperature": self.temperature,
            "top_p": self.top_p,
            "top_k": self.top_k,
            "max_tokens": self.max_tokens,
            "seed": self.seed,
        }
        # Only the first entry that fits counts: settings of several are not merged.
        settings = next((settings for settings in self.per_tool if settings.fits(tool)), None)
        other = settings.model_dump(exclude={"tools", "thinking"}, exclude_none=True) if settings else {}
        thinking = self.thinking if settings is None or settings.thinking is None else settings.thinking
        body = {name: value for name, value in {**fields, **other}.items() if value is not None} | self.extra_body
        if thinking is None:
            return body
        template: dict[str, JsonValue] = body.get("chat_template_kwargs") or {}
        # The author's own template settings win over `thinking`.
        return {**body, "chat_template_kwargs": {"enable_thinking": thinking, **template}}


class _Session:
    """The conversation with the model in one episode."""

    def __init__(self, knobs: Chat, domain: Domain, system: str, ledger: Ledger | None) -> None:
        self.knobs = knobs
        self.domain = domain
        self.ledger = ledger
        # Encoded messages: a long history is not serialised again with every request.
        self.history = [_message("system", system)]
        self.turns = 0
        self.settled: dict[str | None, Observation] = {}

    async def answer(self, request: Request) -> Observation:
        """Return the model's prediction, or its earlier reply to the same request if the domain says that it is settled.

        Raises SimulatorFault if the model cannot be reached or no prediction is usable.
        """
        settled = self.domain.settled(request) if self.ledger is not None else None
        # A model asked twice may answer differently; real tools do not for such requests.
        if settled in self.settled:
            return self.settled[settled]
        observation = await self._predicted(request)
        # Used again without cost, so later replies have no usage of their own.
        if settled is not None:
            self.settled[settled] = replace(observation, provenance=Provenance("chat", self.knobs.model, Usage(), 0))
        return observation

    async def _predicted(self, request: Request) -> Observation:
        self.turns += 1
        conversation = [*self.history, _message("user", self._action(request))]
        sampling = self.knobs.sampling_for(request.tool.name)
        messages, usage, attempts, reason = conversation, Usage(), 0, ""
        for _ in range(1 + self.knobs.retries):
            completion = await self._complete(messages, sampling)
            usage, attempts = usage + (completion.usage or Usage()), attempts + completion.attempts
            try:
                observation = self._read(completion, request)
            except ValueError as error:
                reason = str(error)
                # Only the latest rejected text is shown, so that retries do not grow the prompt.
                messages = (
                    conversation if not completion.text else [*conversation, *_correction(completion.text, reason)]
                )
                continue
            if self.ledger is not None:
                self.ledger.note(request, observation)
            # The observation is written anew, without thinking and slips of form, so that later replies imitate the right form.
            self.history = [*conversation, _message("assistant", self.domain.write_observation(observation))]
            provenance = Provenance("chat", self.knobs.model, usage, attempts)
            return Observation(
                observation.text, observation.structured, observation.is_error, observation.json, provenance
            )
        raise SimulatorFault(f"the prediction for {request.tool.name} cannot be used: {reason}")

    async def _complete(self, messages: list[orjson.Fragment], sampling: JsonObject) -> Completion:
        try:
            return await self.knobs.client.complete(messages, **sampling)
        # The agent is not to blame for the world's model: this must not become a failure of the agent.
        except ModelError as error:
            raise SimulatorFault(f"the world model is not available: {error}") from None

    def _action(self, request: Request) -> str:
        """Return the call, followed by what the ledger knows about the things that it names."""
        action = self.domain.write_action(request, turn=self.turns)
        known = self.ledger.known(request) if self.ledger is not None else ""
        return f"{action}\n\n{_ESTABLISHED}\n{known}" if known else action

    def _read(self, completion: Completion, request: Request) -> Observation:
        observation = self.domain.parse(whole(completion), request)
        if self.ledger is not None:
            self.ledger.check(request, observation)
        return observation


def _message(role: str, content: str) -> orjson.Fragment:
    return orjson.Fragment(orjson.dumps({"role": role, "content": content}))


def _correction(rejected: str, reason: str) -> list[orjson.Fragment]:
    """Return the messages for a retry. They are dropped afterwards, so that a slip does not become part of the history."""
    wanted = f"That cannot be used: {reason}. Write the observation of the same call again, and only that."
    return [_message("assistant", rejected), _message("user", wanted)]
