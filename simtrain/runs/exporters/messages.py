"""A trajectory as OpenAI chat messages: the task, the agent's messages, the tools' replies."""

from collections.abc import Sequence
from typing import Literal, TypeAlias

from pydantic import Field

from simtrain.contracts.exporter import Exporter
from simtrain.contracts.trajectory import Step, Trajectory, Turn
from simtrain.values.types import JsonObject, encode

Arguments: TypeAlias = Literal["text", "object"]
"""The form of call arguments: JSON text, as OpenAI writes them, or objects, as most chat templates expect."""


def opening(trajectory: Trajectory) -> list[JsonObject]:
    """Return the messages that the agent read before its first turn."""
    system: list[JsonObject] = [{"role": "system", "content": trajectory.system}] if trajectory.system else []
    return [*system, {"role": "user", "content": trajectory.prompt}]


def spoken(trajectory: Trajectory) -> list[Turn]:
    """Return the turns in which the agent said or called something."""
    return [turn for turn in trajectory.turns if turn.text or turn.steps]


NO_WORDS = "in which the agent said nothing"


def assistant_message(
    turn: Turn, names: dict[str, str], *, reasoning: bool = False, arguments: Arguments = "text"
) -> JsonObject:
    """Return the assistant message of a turn; `names` maps tools to names in the API's format."""
    # OpenAI's API takes null beside calls.
    message: JsonObject = {"role": "assistant", "content": turn.text or None}
    if reasoning and turn.reasoning:
        message["reasoning_content"] = turn.reasoning
    if turn.steps:
        message["tool_calls"] = [called(step, names, arguments) for step in turn.steps]
    return message


def replies(turn: Turn) -> list[JsonObject]:
    """Return the tool messages that answer the calls of a turn."""
    return [{"role": "tool", "tool_call_id": step.action.id, "content": step.observation.text} for step in turn.steps]


def called(step: Step, names: dict[str, str], arguments: Arguments) -> JsonObject:
    """Return one call in the form of a message's `tool_calls`."""
    action = step.action
    written = encode(action.arguments) if arguments == "text" else action.arguments
    # As the model wrote it, so that the mistake is not hidden from a trainer.
    given = written if action.malformed is None else action.malformed
    return {"id": action.id, "type": "function", "function": {"name": names[action.tool], "arguments": given}}


class ChatRows(Exporter):
    """The knobs and messages of exporters whose rows are chat messages."""

    reasoning: Literal["drop", "keep"] = Field("drop", description="Keep thinking as `reasoning_content`.")
    arguments: Arguments = Field("text", description="Arguments as JSON text, as OpenAI has them, or as objects.")

    def message(self, turn: Turn, names: dict[str, str]) -> JsonObject:
        """Return the assistant message of a turn."""
        return assistant_message(turn, names, reasoning=self.reasoning == "keep", arguments=self.arguments)

    def history(self, turns: Sequence[Turn], names: dict[str, str]) -> list[JsonObject]:
        """Return turns with the replies to them."""
        return [message for turn in turns for message in (self.message(turn, names), *replies(turn))]

    def conversation(self, turns: Sequence[Turn], names: dict[str, str]) -> list[JsonObject]:
        """Return turns with their replies; replies to the last one are cut, since a row must end with the agent."""
        return [*self.history(turns[:-1], names), self.message(turns[-1], names)]
