"""A tool is dead for good."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from simtrain.perturbation import Call, Effect, Follows, Layer, Perturbation, Recovery, Side
from simtrain.perturbations.standby import PASSING, stand_in, with_stand_ins
from simtrain.request import Answer
from simtrain.seeding import Stream
from simtrain.surfaces import refusal
from simtrain.types import Observation, ToolSpec

_SUFFIX = "standby"
_SAID = "On the standby server, which has the same records: for when the main one does not answer."


class Outage(Perturbation):
    """From the call on which it fires, a tool answers no more for the rest of the episode.

    Source: ToolMaze, ReliabilityBench, agentbreak. The first errors look like those that pass; an agent should give up after a few
    attempts and take another tool, or say that there is none. With a standby every tool is there a second time, on another server.
    """

    side: ClassVar[Side] = "call"
    layer: ClassVar[Layer] = "P"
    effect: ClassVar[Effect] = "before"
    permanent: ClassVar[bool] = True
    recoverable_by: ClassVar[tuple[Recovery, ...]] = ("switch", "abstain")
    follows: ClassVar[Follows] = "fired"

    standby: bool | None = Field(
        default=None,
        description="Offer a standby of every tool, which works; unset, as long as the severity is below 1.",
    )

    def offer(self, tools: tuple[ToolSpec, ...], rng: Stream) -> tuple[ToolSpec, ...]:
        """The tools, and their stand-ins."""
        offered = self.severity < 1 if self.standby is None else self.standby
        return with_stand_ins(tools, _SUFFIX, _SAID) if offered else tools

    async def apply(self, call: Call, proceed: Answer) -> Observation:
        """Refuse, from now on."""
        if PASSING in call.memory:
            return await proceed(call.request)
        call.memory[call.request.tool.name] = True
        return refusal(call, "unavailable", by="outage", detail="The request was not processed.")

    async def follow(self, call: Call, proceed: Answer) -> Observation:
        """Refuse a tool that is dead."""
        if call.request.tool.name not in call.memory or PASSING in call.memory:
            return await proceed(call.request)
        return await self.apply(call, proceed)

    async def serve(self, call: Call, proceed: Answer) -> Observation:
        """Have the standby answer."""
        return await stand_in(call, proceed, _SUFFIX)
