"""Success, with nothing in it."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, cast

from simtrain.contracts.perturbation import Call, Perturbation, Traits
from simtrain.contracts.request import Answer
from simtrain.mcp_wire.raw_replies import reworded
from simtrain.perturbations.reply_edits import content_of, retold
from simtrain.perturbations.schema_edits import or_less, widened
from simtrain.values.seeding import Stream
from simtrain.values.types import JsonValue, Observation, Provenance, ToolSpec, is_object

SOURCE = "empty_success"


class EmptySuccess(Perturbation):
    """The tool does its work, and its reply says nothing: lists and texts are empty, values are null, and no error is told of.

    Source: ToolMaze, ToolBench-X, AgentDisruptBench. That nothing was found is not proved by that: an agent should ask again, or in
    other words, before it believes it.
    """

    traits: ClassVar[Traits] = Traits(
        side="reply", layer="P", effect="after", visible=False, recoverable_by=("retry", "verify")
    )

    def offer(self, tools: tuple[ToolSpec, ...], rng: Stream) -> tuple[ToolSpec, ...]:
        """Return the tools, with output schemas that allow for less."""
        return widened(tools, or_less)

    async def apply(self, call: Call, proceed: Answer) -> Observation:
        """Pass the call on and empty its reply; errors arrive as they are."""
        observation = await proceed(call.request)
        if observation.is_error:
            return observation
        content = content_of(observation)
        if content is None:
            return replace(reworded(observation, "", None), provenance=Provenance(SOURCE))
        return (
            retold(observation, _emptied(content), tool=call.request.tool, world=call.world, source=SOURCE)
            or observation
        )


def _emptied(content: JsonValue) -> JsonValue:
    """Return the content without what it says: its own members are there and empty, further in is nothing, and it does not go on."""
    if not is_object(content):
        return []
    return {name: None if "cursor" in name else _nothing(value) for name, value in content.items()}


def _nothing(value: JsonValue) -> JsonValue:
    if isinstance(value, list | dict | str):
        return type(cast(object, value))()
    return None
