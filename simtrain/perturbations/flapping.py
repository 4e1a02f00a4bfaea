"""A tool that works and fails alternately."""

from typing import ClassVar

from pydantic import Field

from simtrain.contracts.perturbation import Call, Traits
from simtrain.perturbations.catalogued import Refusing
from simtrain.values.types import Observation


class Flapping(Refusing):
    """From the call on which it fires, a tool alternates: `down` calls fail, `up` calls work, and so on.

    Source: ReliabilityBench, agentbreak. An agent should try again, and not conclude from one success that the tool has
    recovered.
    """

    traits: ClassVar[Traits] = Traits(
        side="call", layer="P", recoverable_by=("retry",), follows="fired", shell=True, page=True
    )

    down: int | None = Field(
        default=None, ge=1, description="Calls of one tool that fail in a row; unset, 1 to 3 by severity."
    )
    up: int = Field(default=2, ge=1, description="Calls that then work.")

    def begin(self, call: Call) -> None:
        """Begin a tool's schedule."""
        # A second firing does not start the schedule anew, or a tool that fires often would never recover.
        call.memory.setdefault(call.request.tool.name, 0)

    def refused(self, call: Call) -> Observation | None:
        """Refuse by the schedule, if it has begun."""
        tool = call.request.tool.name
        if tool not in call.memory:
            return None
        down = 1 + round(2 * self.severity) if self.down is None else self.down
        phase = call.memory[tool] % (down + self.up)
        call.memory[tool] += 1
        return self.refusal(call, "unavailable", "The request was not processed.") if phase < down else None
