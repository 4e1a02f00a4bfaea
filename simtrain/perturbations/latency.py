"""The true reply, late."""

from typing import ClassVar

from pydantic import Field

from simtrain.contracts.perturbation import Call, Perturbation, Traits
from simtrain.contracts.request import Answer
from simtrain.values.types import Observation


class Latency(Perturbation):
    """The reply is right but late: virtual time advances by `seconds`, plus or minus `jitter`.

    Source: mcp-chaos, agentbreak. An agent should wait; the reply itself is correct.
    """

    traits: ClassVar[Traits] = Traits(
        side="call", layer="P", effect="none", recoverable_by=("wait",), shell=True, page=True
    )

    seconds: float | None = Field(default=None, ge=0, description="Virtual seconds; unset, 120 times the severity.")
    jitter: float = Field(default=0.2, ge=0, le=1, description="Share by which the delay varies either way.")

    async def apply(self, call: Call, proceed: Answer) -> Observation:
        """Advance virtual time, then return the true reply."""
        mean = 120 * self.severity if self.seconds is None else self.seconds
        observation = await proceed(call.request)
        # After the call: the service acts and stamps its reply on time, only the way back is slow.
        call.clock.advance(mean * (1 + self.jitter * (2 * call.rng.once() - 1)))
        return observation
