"""The same facts in another notation."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from pydantic import Field

from simtrain.contracts.perturbation import Call, Perturbation, Traits
from simtrain.contracts.request import Answer
from simtrain.mcp_wire.raw_replies import reworded
from simtrain.perturbations.notations import NOTATIONS, Notation, written_as
from simtrain.perturbations.placing import json_object
from simtrain.values.seeding import Stream
from simtrain.values.types import Observation, ToolSpec


class MultiFormat(Perturbation):
    """The text of a reply says the same in CSV, XML, YAML-like lines, a Markdown table or prose instead of JSON.

    Source: AgentNoiseBench, RobustBench-TC. An agent should read the facts whatever they are written in. Structured content stays
    as it is, unless `text_only` takes it away, and with it the promise of an output schema. Replies that are no JSON pass.
    """

    traits: ClassVar[Traits] = Traits(side="reply", layer="H", effect="after", recoverable_by=("cross-check",))

    notation: Notation | None = Field(
        default=None, description="csv, xml, lines, markdown or prose; unset, drawn for each reply."
    )
    text_only: bool = Field(
        default=False, description="Replies have no structured content, and tools promise none, for the whole episode."
    )

    def offer(self, tools: tuple[ToolSpec, ...], rng: Stream) -> tuple[ToolSpec, ...]:
        """Return the tools; with `text_only`, without output schemas."""
        return tuple(replace(tool, output_schema=None) for tool in tools) if self.text_only else tools

    async def apply(self, call: Call, proceed: Answer) -> Observation:
        """Pass the call on and write its reply in another notation; errors arrive as they are."""
        observation = await proceed(call.request)
        content = json_object(observation.text) if observation.content is None else observation.content
        if observation.is_error or content is None:
            return observation
        text = written_as(content, self.notation or call.rng.choose(NOTATIONS))
        return reworded(observation, text, None if self.text_only else observation.content)
