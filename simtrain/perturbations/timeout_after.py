"""The effect lands, the reply is lost."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from simtrain.perturbation import Call, Effect, Layer, Perturbation, Recovery, Side
from simtrain.request import Answer
from simtrain.surfaces import refusal
from simtrain.types import Observation


class TimeoutAfter(Perturbation):
    """The call is carried out, but instead of its reply the caller sees a timeout.

    Source: ReliabilityBench, ToolMisuseBench. An agent should look whether the effect is there before it calls again.
    """

    side: ClassVar[Side] = "reply"
    layer: ClassVar[Layer] = "D"
    effect: ClassVar[Effect] = "after"
    recoverable_by: ClassVar[tuple[Recovery, ...]] = ("verify", "retry")

    seconds: float | None = Field(
        default=None,
        gt=0,
        description="Virtual seconds until the caller gives up; unset, 60 times the severity, at least 1.",
    )

    async def apply(self, call: Call, proceed: Answer) -> Observation:
        """Carry the call out and lose the reply. A call that was refused anyway has no effect to hide: its error is passed on."""
        observation = await proceed(call.request)
        if observation.is_error:
            return observation
        waited = max(1.0, 60 * self.severity) if self.seconds is None else self.seconds
        call.clock.advance(waited)
        return refusal(call, "timeout", by="timeout_after", detail=f"No reply within {waited:g} seconds.")
