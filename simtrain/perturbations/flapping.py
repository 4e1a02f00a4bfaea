"""A tool that works, and does not, by turns."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from simtrain.contracts.perturbation import Call, Perturbation, Traits
from simtrain.contracts.request import Answer
from simtrain.perturbations.error_wordings import refusal
from simtrain.values.types import Observation


class Flapping(Perturbation):
    """From the call on which it fires, a tool goes down and comes up by a schedule of its calls: `down` fail, `up` work, and so on.

    Source: ReliabilityBench, agentbreak. An agent should try again, and not conclude from one success that the trouble is over.
    """

    traits: ClassVar[Traits] = Traits(
        side="call", layer="P", effect="before", recoverable_by=("retry",), follows="fired"
    )

    down: int | None = Field(
        default=None, ge=1, description="Calls of one tool that fail in a row; unset, 1 to 3 by severity."
    )
    up: int = Field(default=2, ge=1, description="Calls that then work.")

    async def apply(self, call: Call, proceed: Answer) -> Observation:
        """Return the next call of the schedule, which begins with the first."""
        call.memory.setdefault(call.request.tool.name, 0)
        return await self.follow(call, proceed)

    async def follow(self, call: Call, proceed: Answer) -> Observation:
        """Return the next call of the schedule, where it has begun."""
        tool = call.request.tool.name
        if tool not in call.memory:
            return await proceed(call.request)
        down = 1 + round(2 * self.severity) if self.down is None else self.down
        phase = call.memory[tool] % (down + self.up)
        call.memory[tool] += 1
        if phase >= down:
            return await proceed(call.request)
        return refusal(call, "unavailable", by="flapping", detail="The request was not processed.")
