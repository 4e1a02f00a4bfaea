"""TRL: chat rows that the chat templates of open models accept unchanged."""

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from simtrain.contracts.exporter import Exporter
from simtrain.contracts.trajectory import Trajectory, Turn
from simtrain.llm.conversation import tool_message
from simtrain.runs.exporters.functions import definitions, names_of
from simtrain.runs.exporters.messages import NO_WORDS, called, opening, spoken
from simtrain.values.types import JsonObject


class Trl(Exporter):
    """Rows of `messages` and `tools` for TRL's trainers, with a `mask` of the messages that the agent wrote.

    Templates differ from OpenAI's service: the arguments of a call are an object, content is never null, and a reply
    names its tool. Several calls of a turn are written separately, each with its reply, since some templates take one
    per message and others drop the rest. An episode with a call whose arguments were not a JSON object gives no row.
    Format: https://huggingface.co/docs/trl/dataset_formats.
    """

    form: Literal["messages", "prompt_completion"] = Field(
        "messages", description="One list of messages, or the task as `prompt` and what followed as `completion`."
    )
    calls: Literal["apart", "together"] = Field(
        "apart", description="Each call of a turn in a message of its own, which every template takes, or all in one."
    )
    reasoning: Literal["drop", "keep"] = Field("drop", description="Keep thinking as `reasoning_content`.")

    def lacking(self, trajectory: Trajectory) -> str | None:
        if not spoken(trajectory):
            return NO_WORDS
        malformed = any(step.action.malformed is not None for step in trajectory.steps)
        return "in which the arguments of a call were not a JSON object" if malformed else None

    def rows(self, trajectory: Trajectory) -> Iterator[JsonObject]:
        """Yield one row; none if the agent said nothing, or a call cannot be written."""
        if self.lacking(trajectory):
            return
        turns = spoken(trajectory)
        names = names_of(trajectory)
        before, after = opening(trajectory), list[JsonObject]()
        for turn in turns:
            after.extend(self._messages(turn, names))
        # A row must end with the agent, which is what it trains.
        while after[-1]["role"] == "tool":
            after.pop()
        row: JsonObject = (
            {"messages": before + after} if self.form == "messages" else {"prompt": before, "completion": after}
        )
        if trajectory.tools:
            row["tools"] = definitions(trajectory, names)
        heard = before + after if self.form == "messages" else after
        yield row | {"mask": [int(message["role"] == "assistant") for message in heard]}

    def _messages(self, turn: Turn, names: dict[str, str]) -> Iterator[JsonObject]:
        # A turn without calls is still one message.
        apart = [[step] for step in turn.steps] if self.calls == "apart" else [turn.steps]
        for place, steps in enumerate(apart or [[]]):
            message: JsonObject = {"role": "assistant", "content": "" if place else turn.text}
            if self.reasoning == "keep" and turn.reasoning and not place:
                message["reasoning_content"] = turn.reasoning
            if steps:
                message["tool_calls"] = [called(step, names, "object") for step in steps]
            yield message
            yield from (tool_message(step, names) for step in steps)
