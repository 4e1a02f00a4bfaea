"""A reply that is no tool result."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from simtrain.contracts.perturbation import Call, Perturbation, Traits
from simtrain.contracts.request import Answer
from simtrain.values.seeding import Stream
from simtrain.values.types import JsonObject, Observation, Provenance, ToolSpec

SAID = "Invalid response from the server: result.content: expected a list"
"""What hosts tell their models of a reply that their client library refused."""


class MalformedResult(Perturbation):
    """The tool does its work, and the server's response is no tool result: its content is a text where a list of blocks should be.

    Source: ToolMaze, mcp-chaos. Client libraries raise on it, so that the agent sees what its host makes of that. An agent should try
    once more, then take another tool.
    """

    traits: ClassVar[Traits] = Traits(
        side="reply", layer="P", effect="after", semantic=False, recoverable_by=("verify", "retry", "switch")
    )
    example: ClassVar[JsonObject] = {"protocol": True}

    def offer(self, tools: tuple[ToolSpec, ...], rng: Stream) -> tuple[ToolSpec, ...]:
        """Return the tools, without output schemas: what does not fit one is mended before it goes over the wire."""
        return tuple(replace(tool, output_schema=None) if tool.output_schema else tool for tool in tools)

    async def apply(self, call: Call, proceed: Answer) -> Observation:
        """Pass the call on and break the frame of its reply; errors arrive as they are."""
        observation = await proceed(call.request)
        if observation.is_error:
            return observation
        wire = {"result": {"content": observation.text}}
        return Observation(SAID, is_error=True, provenance=Provenance("malformed_result"), wire=wire)
