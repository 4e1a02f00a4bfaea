"""OpenAI chat fine-tuning: one JSON line per trajectory, with messages and tools."""

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from simtrain.contracts.exporter import Exporter
from simtrain.contracts.trajectory import Trajectory, Turn
from simtrain.runs.exporters.functions import definitions, names_of
from simtrain.runs.exporters.messages import NO_WORDS, assistant_message, opening, replies, spoken
from simtrain.values.types import JsonObject


class OpenAI(Exporter):
    """Chat messages with tools, as OpenAI's fine-tuning and most open trainers read them.

    A row is a `FineTuneChatRequestInput` of the OpenAI API: `messages`, `tools`, `parallel_tool_calls`. The arguments
    of a call are JSON text; arguments that were not a JSON object are written as the agent wrote them. Replies after the
    agent's last message are cut, since a row must end with the agent.
    """

    reasoning: Literal["drop", "keep"] = Field(
        "drop", description="Keep thinking as `reasoning_content`, which OpenAI's own service refuses."
    )
    weight: Literal["none", "answer", "succeeded"] = Field(
        "none",
        description="Which assistant messages to learn from: all (no `weight` is written), the last one, or those "
        "with no failed call.",
    )
    parallel_tool_calls: bool | None = Field(
        None, description="Its value in the row; unset, whether any turn made several calls."
    )

    def lacking(self, trajectory: Trajectory) -> str | None:
        return None if spoken(trajectory) else NO_WORDS

    def rows(self, trajectory: Trajectory) -> Iterator[JsonObject]:
        """Yield one row; none if the agent said nothing."""
        if self.lacking(trajectory):
            return
        turns = spoken(trajectory)
        names = names_of(trajectory)
        messages = opening(trajectory)
        for turn in turns:
            messages.append(self._message(turn, names, last=turn is turns[-1]))
            if turn is not turns[-1]:
                messages.extend(replies(turn))
        row: JsonObject = {"messages": messages}
        if trajectory.tools:
            row["tools"] = definitions(trajectory, names)
            # OpenAI's API refuses it in a row without tools.
            row["parallel_tool_calls"] = self._parallel(trajectory)
        yield row

    def _message(self, turn: Turn, names: dict[str, str], *, last: bool) -> JsonObject:
        message = assistant_message(turn, names, reasoning=self.reasoning == "keep")
        if self.weight == "answer":
            message["weight"] = int(last)
        elif self.weight == "succeeded":
            message["weight"] = int(not any(step.observation.is_error for step in turn.steps))
        return message

    def _parallel(self, trajectory: Trajectory) -> bool:
        if self.parallel_tool_calls is not None:
            return self.parallel_tool_calls
        return any(len(turn.steps) > 1 for turn in trajectory.turns)
