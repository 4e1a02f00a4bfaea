"""The result of a step is hidden until it is requested in another way."""

from typing import ClassVar

from simtrain.contracts.perturbation import Call, Traits
from simtrain.contracts.request import Answer
from simtrain.perturbations.catalogued import Lasting
from simtrain.perturbations.reply_edits import content_of
from simtrain.perturbations.schema_edits import or_less, widened
from simtrain.values.seeding import Stream
from simtrain.values.types import JsonValue, Observation, ToolSpec, encode, is_list, is_object

ACCEPTED = "The request was accepted and carried out."


class WithheldIntermediate(Lasting):
    """A tool does its work, but from the first time on its reply shows no result: all its members are null or empty.

    Source: BENCH2ROBUST, ToolMaze. An agent should look the result up with another tool: those return it as usual.
    Output schemas allow members without a value; errors arrive unchanged.
    """

    traits: ClassVar[Traits] = Traits(side="reply", layer="H", recoverable_by=("switch", "verify"), follows="fired")

    def offer(self, tools: tuple[ToolSpec, ...], rng: Stream) -> tuple[ToolSpec, ...]:
        """Return the tools, with output schemas that allow missing values."""
        return widened(tools, or_less)

    async def follow(self, call: Call, proceed: Answer) -> Observation:
        """Pass the call on, and empty the reply of a withholding tool."""
        reply = await proceed(call.request)
        if reply.is_error or call.request.tool.name not in call.memory:
            return reply
        bare = _emptied(content_of(reply))
        structured = None if reply.content is None else bare
        # A prose reply has no members to empty, so it is replaced by a sentence without a result.
        return self.reworded(reply, encode(bare) if bare else ACCEPTED, structured)


def _emptied(value: JsonValue) -> JsonValue:
    """Return the members of an object without their values."""
    if not is_object(value):
        return None
    return {name: list[JsonValue]() if is_list(item) else None for name, item in value.items()}
