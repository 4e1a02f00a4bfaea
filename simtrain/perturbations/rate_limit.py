"""Too many calls: the server refuses for a while."""

from math import ceil
from typing import ClassVar

from pydantic import Field

from simtrain.contracts.perturbation import Call, Traits
from simtrain.perturbations.catalogued import Refusing
from simtrain.values.types import JsonObject, Observation


class RateLimit(Refusing):
    """The server refuses a call, says how many seconds to wait, and refuses all its tools until then.

    Source: ToolMaze, AgentDisruptBench, ToolMisuseBench, mcp-chaos. An agent should back off. Time is virtual and
    advances with every step. A caller that can wait only by calling is let through after `refusals`.
    """

    traits: ClassVar[Traits] = Traits(
        side="call", layer="P", recoverable_by=("wait", "retry"), follows="fired", shell=True, page=True
    )

    retry_after: float | None = Field(
        default=None,
        gt=0,
        description="Virtual seconds that the limit lasts; unset, 60 times the severity, at least 1.",
    )
    refusals: int = Field(default=3, ge=1, description="Refusals after which the limit is lifted before its time.")

    def begin(self, call: Call) -> None:
        """Begin a limit, unless one is active."""
        if self._limit(call) is None:
            lasts = max(1.0, 60 * self.severity) if self.retry_after is None else self.retry_after
            call.memory[call.request.tool.server] = {"until": call.clock.moment + lasts, "refusals": 0}

    def refused(self, call: Call) -> Observation | None:
        """Refuse while the limit is active."""
        limit = self._limit(call)
        if limit is None:
            return None
        limit["refusals"] += 1
        # Rounded up: a caller that waits exactly as told must not be refused again.
        return self.refusal(call, "rate_limit", retry_after=max(1, ceil(limit["until"] - call.clock.moment)))

    def _limit(self, call: Call) -> JsonObject | None:
        """Return the active limit of the server, with its number of refusals; None if there is none."""
        limit = call.memory.get(call.request.tool.server)
        # Virtual time advances little per call, so an agent without a way to wait would burn its budget on one limit.
        over = limit is None or call.clock.moment >= limit["until"] or limit["refusals"] >= self.refusals
        return None if over else limit
