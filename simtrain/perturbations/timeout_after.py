"""The effect lands, the reply is lost."""

from __future__ import annotations

from typing import ClassVar

from simtrain.contracts.perturbation import Call, Traits
from simtrain.contracts.request import Answer
from simtrain.perturbations.lost_reply import LostReply
from simtrain.values.types import Observation


class TimeoutAfter(LostReply):
    """The call is carried out, but instead of its reply the caller sees a timeout.

    Source: ReliabilityBench, ToolMisuseBench. An agent should look whether the effect is there before it calls again.
    A call that is refused anyway passes.
    """

    traits: ClassVar[Traits] = Traits(side="reply", layer="D", effect="after", recoverable_by=("verify", "retry"))

    async def apply(self, call: Call, proceed: Answer) -> Observation:
        """Carry the call out and lose the reply. A call that was refused anyway has no effect to hide: its error is passed on."""
        observation = await proceed(call.request)
        if observation.is_error:
            return observation
        return self.given_up(call, by="timeout_after")
