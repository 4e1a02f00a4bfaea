"""The result of a step is hidden until it is asked for another way."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from simtrain.contracts.perturbation import Call, Perturbation, Traits
from simtrain.contracts.request import Answer
from simtrain.mcp_wire.raw_replies import reworded
from simtrain.perturbations.reply_edits import content_of
from simtrain.perturbations.schema_edits import or_less, widened
from simtrain.values.seeding import Stream
from simtrain.values.types import JsonValue, Observation, Provenance, ToolSpec, encode, is_list, is_object

ACCEPTED = "The request was accepted and carried out."


class WithheldIntermediate(Perturbation):
    """A tool does its work, and its reply says nothing of the result, from the first time on: all its members are null or empty.

    Source: BENCH2ROBUST, ToolMaze. An agent should look the result up with another tool: those tell it as ever. Output schemas allow
    for members without a value; errors arrive as they are.
    """

    traits: ClassVar[Traits] = Traits(
        side="reply", layer="H", effect="after", permanent=True, recoverable_by=("switch", "verify"), follows="fired"
    )

    def offer(self, tools: tuple[ToolSpec, ...], rng: Stream) -> tuple[ToolSpec, ...]:
        """Return the tools, with output schemas that allow for less."""
        return widened(tools, or_less)

    async def apply(self, call: Call, proceed: Answer) -> Observation:
        """From now on this tool says nothing of its results."""
        call.memory[call.request.tool.name] = True
        return await self.follow(call, proceed)

    async def follow(self, call: Call, proceed: Answer) -> Observation:
        """Pass the call on; empty the reply of a tool that withholds."""
        observation = await proceed(call.request)
        if observation.is_error or call.request.tool.name not in call.memory:
            return observation
        content = observation.content
        empty = None if content is None else _emptied(content)
        bare = _emptied(content_of(observation))
        text = encode(bare) if bare else ACCEPTED
        return replace(reworded(observation, text, empty), provenance=Provenance("withheld_intermediate"))


def _emptied(value: JsonValue) -> JsonValue:
    """Return the members of an object without their values."""
    if not is_object(value):
        return None
    members = value
    return {name: list[JsonValue]() if is_list(item) else None for name, item in members.items()}
