"""The account has used up what it may use."""

from __future__ import annotations

from typing import ClassVar

from simtrain.perturbation import Call, Effect, Follows, Layer, Perturbation, Recovery, Side
from simtrain.request import Answer
from simtrain.surfaces import refusal
from simtrain.types import Observation


class QuotaExhausted(Perturbation):
    """From the call on which it fires, a server refuses all its tools for the rest of the episode: the quota is used up.

    Source: AgentDisruptBench, ToolMisuseBench. Trying again is in vain: an agent should take another server's tool, or say that it
    cannot go on.
    """

    side: ClassVar[Side] = "call"
    layer: ClassVar[Layer] = "P"
    effect: ClassVar[Effect] = "before"
    permanent: ClassVar[bool] = True
    recoverable_by: ClassVar[tuple[Recovery, ...]] = ("switch", "abstain")
    follows: ClassVar[Follows] = "fired"

    async def apply(self, call: Call, proceed: Answer) -> Observation:
        """Refuse, from now on."""
        call.memory[call.request.tool.server] = True
        return refusal(call, "quota", by="quota_exhausted", detail="It is renewed at the beginning of next month.")

    async def follow(self, call: Call, proceed: Answer) -> Observation:
        """Refuse the tools of a server whose quota is used up."""
        if call.request.tool.server not in call.memory:
            return await proceed(call.request)
        return await self.apply(call, proceed)
