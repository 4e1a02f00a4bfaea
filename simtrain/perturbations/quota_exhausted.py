"""The account has used up what it may use."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from simtrain.perturbation import Call, Effect, Follows, Layer, Perturbation, Recovery, Side
from simtrain.perturbations.standby import PASSING, stand_in, with_stand_ins
from simtrain.request import Answer
from simtrain.seeding import Stream
from simtrain.surfaces import refusal
from simtrain.types import Observation, ToolSpec

_SUFFIX = "partner"
_SAID = "By way of a partner: the same records, and a quota of its own."


class QuotaExhausted(Perturbation):
    """From the call on which it fires, a server refuses all its tools for the rest of the episode: the quota is used up.

    Source: AgentDisruptBench, ToolMisuseBench. Trying again is in vain: an agent should take another server's tool, or say that it
    cannot go on. With a partner every tool is there a second time, on another server.
    """

    side: ClassVar[Side] = "call"
    layer: ClassVar[Layer] = "P"
    effect: ClassVar[Effect] = "before"
    permanent: ClassVar[bool] = True
    recoverable_by: ClassVar[tuple[Recovery, ...]] = ("switch", "abstain")
    follows: ClassVar[Follows] = "fired"

    partner: bool | None = Field(
        default=None,
        description="Offer every tool on another server as well, which works; unset, as long as the severity is below 1.",
    )

    def offer(self, tools: tuple[ToolSpec, ...], rng: Stream) -> tuple[ToolSpec, ...]:
        """The tools, and those of the partner."""
        offered = self.severity < 1 if self.partner is None else self.partner
        return with_stand_ins(tools, _SUFFIX, _SAID) if offered else tools

    async def apply(self, call: Call, proceed: Answer) -> Observation:
        """Refuse, from now on."""
        if PASSING in call.memory:
            return await proceed(call.request)
        call.memory[call.request.tool.server] = True
        return refusal(call, "quota", by="quota_exhausted", detail="It is renewed at the beginning of next month.")

    async def follow(self, call: Call, proceed: Answer) -> Observation:
        """Refuse the tools of a server whose quota is used up."""
        if call.request.tool.server not in call.memory or PASSING in call.memory:
            return await proceed(call.request)
        return await self.apply(call, proceed)

    async def serve(self, call: Call, proceed: Answer) -> Observation:
        """Have the partner answer."""
        return await stand_in(call, proceed, _SUFFIX)
