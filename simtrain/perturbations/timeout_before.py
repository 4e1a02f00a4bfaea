"""The call never reaches the tool, and the caller waits in vain."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from simtrain.perturbation import Call, Effect, Layer, Perturbation, Recovery, Side
from simtrain.request import Answer
from simtrain.surfaces import refusal
from simtrain.types import Observation


class TimeoutBefore(Perturbation):
    """The call gets lost on its way: nothing is done, and after a while the caller sees a timeout.

    Source: ReliabilityBench, ToolMaze, mcp-chaos. What it says is what `timeout_after` says, where the effect landed: an agent should
    look whether it is there, then call again, a bounded number of times.
    """

    side: ClassVar[Side] = "call"
    layer: ClassVar[Layer] = "P"
    effect: ClassVar[Effect] = "before"
    recoverable_by: ClassVar[tuple[Recovery, ...]] = ("verify", "retry")

    seconds: float | None = Field(
        default=None,
        gt=0,
        description="Virtual seconds until the caller gives up; unset, 60 times the severity, at least 1.",
    )

    async def apply(self, call: Call, proceed: Answer) -> Observation:
        """Let time go by, and pass nothing on."""
        waited = max(1.0, 60 * self.severity) if self.seconds is None else self.seconds
        call.clock.advance(waited)
        return refusal(call, "timeout", by="timeout_before", detail=f"No reply within {waited:g} seconds.")
