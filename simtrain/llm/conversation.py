"""Conversations for chat templates: messages and tools, from a trajectory or from an episode in progress."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from simtrain.contracts.trajectory import Step, Trajectory, Turn
from simtrain.llm.tool_names import definition, wire_names
from simtrain.values.types import Action, JsonObject, ToolSpec, as_object

Listing: TypeAlias = Literal["full", "compact", "none"]
"""How tools are listed: as JSON Schemas by the template, in one line each in the system prompt, or not at all."""

MALFORMED = "malformed_arguments"
"""The name under which malformed arguments are sent back: many servers and templates require a JSON object."""


@dataclass(frozen=True, slots=True)
class LiveTranscript:
    """An episode so far."""

    system: str
    prompt: str
    tools: Sequence[ToolSpec]
    turns: Sequence[Turn] = ()


Transcript: TypeAlias = Trajectory | LiveTranscript
"""The source of a conversation: a trajectory, or what an agent has seen of its episode."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """Messages in the form of chat templates, and the tools that are offered, as function definitions.

    In a message content is a text, the arguments of calls are objects and a reply names its tool. `written` holds what
    the model wrote, by message, if that is known and a template would write it differently; `malformed` has the
    messages with a malformed call, which is kept in the form that the agent was shown.
    """

    messages: tuple[JsonObject, ...]
    tools: tuple[JsonObject, ...] = ()
    listing: Listing = "full"
    written: Mapping[int, str] = field(default_factory=dict[int, str])
    malformed: frozenset[int] = frozenset()

    def upto(self, count: int) -> Conversation:
        """Return the conversation of the first `count` messages."""
        return replace(self, messages=self.messages[:count])

    @property
    def schemas(self) -> dict[str, JsonObject]:
        """The JSON Schemas of the tools' arguments, by name."""
        functions = [as_object(tool.get("function")) for tool in self.tools]
        return {str(one.get("name")): as_object(one.get("parameters")) for one in functions}


def conversation_of(
    transcript: Transcript, *, listing: Listing = "full", reasoning: bool = False, apart: bool = False
) -> Conversation:
    """Return the conversation of a trajectory or a live transcript, under tool names that the wire allows.

    With `reasoning` thinking is kept, as `reasoning_content`. With `apart` every call of a turn has a message of its
    own, for templates that take one.
    """
    # Called but not offered tools as well: a model's mistake must be rendered under a name that the wire allows.
    names = names_of(transcript)
    messages: list[JsonObject] = [{"role": "system", "content": transcript.system}] if transcript.system else []
    messages.append({"role": "user", "content": transcript.prompt})
    written: dict[int, str] = {}
    malformed: set[int] = set()
    for turn in transcript.turns:
        # Templates render an empty message as a turn, which the model would learn to write.
        if not turn.text and not turn.steps:
            continue
        if turn.written is not None and not apart:
            written[len(messages)] = turn.written
        for place, steps in enumerate([[step] for step in turn.steps] if apart and turn.steps else [turn.steps]):
            if any(step.action.malformed is not None for step in steps):
                malformed.add(len(messages))
            messages.append(_assistant_message(turn, steps, names, first=not place, reasoning=reasoning))
            messages.extend(tool_message(step, names) for step in steps)
    tools = tuple(definition(tool, names[tool.name]) for tool in transcript.tools)
    return Conversation(tuple(messages), tools, listing, written, frozenset(malformed))


def names_of(transcript: Transcript) -> dict[str, str]:
    """Return tool name -> name on the wire, for the offered tools, then for those that were only called."""
    called = [step.action.tool for turn in transcript.turns for step in turn.steps]
    return wire_names([*(tool.name for tool in transcript.tools), *called])


def wire_arguments(action: Action) -> JsonObject:
    """Return the arguments of a call as an object, even if the model wrote something else."""
    return action.arguments if action.malformed is None else {MALFORMED: action.malformed}


def with_system(messages: Sequence[JsonObject], text: str) -> tuple[JsonObject, ...]:
    """Return the messages with a text appended to the system prompt."""
    first = messages[0] if messages and messages[0]["role"] == "system" else None
    system = f"{first['content']}\n\n{text}" if first else text
    return ({"role": "system", "content": system}, *messages[1 if first else 0 :])


def _assistant_message(
    turn: Turn, steps: Sequence[Step], names: Mapping[str, str], *, first: bool, reasoning: bool
) -> JsonObject:
    message: JsonObject = {"role": "assistant", "content": turn.text.strip() if first else ""}
    if reasoning and turn.reasoning and first:
        message["reasoning_content"] = turn.reasoning.strip()
    if steps:
        message["tool_calls"] = [_call(step.action, names) for step in steps]
    return message


def _call(action: Action, names: Mapping[str, str]) -> JsonObject:
    function = {"name": names[action.tool], "arguments": wire_arguments(action)}
    return {"id": action.id, "type": "function", "function": function}


def tool_message(step: Step, names: Mapping[str, str]) -> JsonObject:
    """Return the reply to a call as a message that names its tool."""
    name, text = names[step.action.tool], step.observation.text
    return {"role": "tool", "tool_call_id": step.action.id, "name": name, "content": text}
