"""ShareGPT conversations in the layout of LLaMA-Factory, with tools."""

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from simtrain.contracts.exporter import Exporter
from simtrain.contracts.trajectory import Trajectory, Turn
from simtrain.runs.exporters.functions import definitions, names_of
from simtrain.runs.exporters.messages import NO_WORDS
from simtrain.values.types import JsonObject, encode

# The separator that LLaMA-Factory itself writes between the replies of one turn (data/converter.py).
_BETWEEN_REPLIES = "\n</tool_response>\n<tool_response>\n"


class ShareGPT(Exporter):
    """ShareGPT rows for LLaMA-Factory: human and observation at odd places, gpt and function_call at even ones.

    `system` is text and `tools` is JSON text, as its `dataset_info.json` expects with `formatting: sharegpt`. Several
    calls of a turn are one function_call with a list. The format has no place for words beside calls, so they are left
    out. Replies after the agent's last message are cut, since a row must end with the agent.
    """

    reasoning: Literal["drop", "keep"] = Field(
        "drop", description="Keep thinking in <think> tags before the text or call."
    )

    def lacking(self, trajectory: Trajectory) -> str | None:
        last = trajectory.turns[-1] if trajectory.turns else None
        return None if trajectory.steps or (last is not None and last.text) else NO_WORDS

    def rows(self, trajectory: Trajectory) -> Iterator[JsonObject]:
        """Yield one row; none if the agent said nothing."""
        if self.lacking(trajectory):
            return
        names = names_of(trajectory)
        messages: list[JsonObject] = [{"from": "human", "value": trajectory.prompt}]
        for turn in trajectory.turns:
            if turn.steps:
                messages.append({"from": "function_call", "value": self._thought(turn) + _calls(turn, names)})
                messages.append(
                    {
                        "from": "observation",
                        "value": _BETWEEN_REPLIES.join(step.observation.text for step in turn.steps),
                    }
                )
            # Places alternate in this format: a message without a call in between has no human answer.
            elif turn.text and turn is trajectory.turns[-1]:
                messages.append({"from": "gpt", "value": self._thought(turn) + turn.text})
        # LLaMA-Factory drops conversations that do not end with the agent.
        if messages[-1]["from"] == "observation":
            messages.pop()
        tools = [definition["function"] for definition in definitions(trajectory, names)]
        yield {"conversations": messages, "system": trajectory.system, "tools": encode(tools) if tools else ""}

    def _thought(self, turn: Turn) -> str:
        return f"<think>\n{turn.reasoning}\n</think>\n\n" if self.reasoning == "keep" and turn.reasoning else ""


def _calls(turn: Turn, names: dict[str, str]) -> str:
    calls = [
        {
            "name": names[step.action.tool],
            "arguments": step.action.arguments if step.action.malformed is None else step.action.malformed,
        }
        for step in turn.steps
    ]
    return encode(calls[0] if len(calls) == 1 else calls)
