"""The same facts in another notation."""

from dataclasses import replace
from typing import ClassVar

from pydantic import Field

from simtrain.contracts.perturbation import Call, Traits
from simtrain.mcp_wire.raw_replies import reworded
from simtrain.perturbations.catalogued import ReplyPerturbation
from simtrain.perturbations.notations import NOTATIONS, Notation, written_as
from simtrain.perturbations.reply_edits import content_of
from simtrain.values.seeding import Stream
from simtrain.values.types import Observation, ToolSpec, is_object


class MultiFormat(ReplyPerturbation):
    """The text of a reply is CSV, XML, YAML-like lines, a Markdown table or prose instead of JSON.

    Source: AgentNoiseBench, RobustBench-TC. The content is the same. An agent should read the facts in any notation.
    Structured content stays, unless `text_only` removes it together with the output schema. Replies that are not JSON
    pass unchanged.
    """

    traits: ClassVar[Traits] = Traits(side="reply", layer="H", recoverable_by=("cross-check",))

    notation: Notation | None = Field(
        default=None, description="csv, xml, lines, markdown or prose; unset, drawn for each reply."
    )
    text_only: bool = Field(
        default=False, description="Replies have no structured content, and tools promise none, for the whole episode."
    )

    def offer(self, tools: tuple[ToolSpec, ...], rng: Stream) -> tuple[ToolSpec, ...]:
        """Return the tools; with `text_only`, without output schemas."""
        return tuple(replace(tool, output_schema=None) for tool in tools) if self.text_only else tools

    def changed(self, call: Call, reply: Observation) -> Observation:
        """Return the reply with its text in another notation."""
        content = content_of(reply)
        if not is_object(content):
            return reply
        text = written_as(content, self.notation or call.rng.choose(NOTATIONS))
        return reworded(reply, text, None if self.text_only else reply.content)
