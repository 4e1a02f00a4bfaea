"""A tool is dead for good."""

from __future__ import annotations

from typing import ClassVar

from simtrain.perturbation import Call, Effect, Follows, Layer, Perturbation, Recovery, Side
from simtrain.request import Answer
from simtrain.surfaces import refusal
from simtrain.types import Observation


class Outage(Perturbation):
    """From the call on which it fires, a tool answers no more for the rest of the episode.

    Source: ToolMaze, ReliabilityBench, agentbreak. The first errors look like those that pass; an agent should give up after a few
    attempts and take another tool, or say that there is none.
    """

    side: ClassVar[Side] = "call"
    layer: ClassVar[Layer] = "P"
    effect: ClassVar[Effect] = "before"
    permanent: ClassVar[bool] = True
    recoverable_by: ClassVar[tuple[Recovery, ...]] = ("switch", "abstain")
    follows: ClassVar[Follows] = "fired"

    async def apply(self, call: Call, proceed: Answer) -> Observation:
        """Refuse, from now on."""
        call.memory[call.request.tool.name] = True
        return refusal(call, "unavailable", by="outage", detail="The request was not processed.")

    async def follow(self, call: Call, proceed: Answer) -> Observation:
        """Refuse a tool that is dead."""
        if call.request.tool.name not in call.memory:
            return await proceed(call.request)
        return await self.apply(call, proceed)
