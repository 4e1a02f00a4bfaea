"""What the perturbations share that write the values of a reply in another way."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from simtrain.contracts.perturbation import Call, Perturbation, Traits
from simtrain.contracts.request import Answer
from simtrain.perturbations.reply_edits import content_of, retold
from simtrain.perturbations.schema_edits import or_otherwise, widened
from simtrain.values.seeding import Stream
from simtrain.values.types import JsonValue, Observation, ToolSpec


class RewrittenValues(Perturbation):
    """The values of a reply are right and written otherwise, in structured content and text; errors, and replies that are no JSON, pass."""

    traits: ClassVar[Traits] = Traits(side="reply", layer="P", effect="after", recoverable_by=("cross-check",))
    name: ClassVar[str]

    def offer(self, tools: tuple[ToolSpec, ...], rng: Stream) -> tuple[ToolSpec, ...]:
        """Return the tools, with output schemas that allow for text in the place of numbers."""
        return widened(tools, or_otherwise)

    async def apply(self, call: Call, proceed: Answer) -> Observation:
        """Pass the call on and rewrite its reply."""
        observation = await proceed(call.request)
        content = content_of(observation)
        if observation.is_error or content is None:
            return observation
        rewritten = self.rewritten(content, call.rng)
        if rewritten == content:
            return observation
        return retold(observation, rewritten, tool=call.request.tool, world=call.world, source=self.name) or observation

    @abstractmethod
    def rewritten(self, content: JsonValue, rng: Stream) -> JsonValue:
        """Return the content with its values written otherwise."""
