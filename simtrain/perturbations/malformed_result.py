"""A reply that is not a tool result."""

from dataclasses import replace
from typing import ClassVar

from simtrain.contracts.perturbation import Call, Traits
from simtrain.perturbations.catalogued import ReplyPerturbation
from simtrain.values.seeding import Stream
from simtrain.values.types import JsonObject, Observation, Provenance, ToolSpec

ERROR_TEXT = "Invalid response from the server: result.content: expected a list"
"""The texts by which hosts report to a model that their client library refused a reply."""


class MalformedResult(ReplyPerturbation):
    """The tool does its work, but the response is not a tool result: its content is text, not a list of blocks.

    Source: ToolMaze, mcp-chaos. Client libraries raise on it, so the agent sees what its host makes of that. An agent
    should try once more, then use another tool.
    """

    traits: ClassVar[Traits] = Traits(
        side="reply", layer="P", semantic=False, recoverable_by=("verify", "retry", "switch")
    )
    example: ClassVar[JsonObject] = {"protocol": True}

    def offer(self, tools: tuple[ToolSpec, ...], rng: Stream) -> tuple[ToolSpec, ...]:
        """Return the tools without output schemas, since a reply that does not fit its schema would be corrected before sending."""
        return tuple(replace(tool, output_schema=None) if tool.output_schema else tool for tool in tools)

    def changed(self, call: Call, reply: Observation) -> Observation:
        """Return what an agent sees of a reply with a broken frame."""
        wire = {"result": {"content": reply.text}}
        return Observation(ERROR_TEXT, is_error=True, provenance=Provenance(self.source), wire=wire)
