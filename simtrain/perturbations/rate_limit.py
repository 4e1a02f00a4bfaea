"""Too many calls: the server wants to be left alone for a while."""

from __future__ import annotations

from math import ceil
from typing import ClassVar

from pydantic import Field

from simtrain.contracts.perturbation import Call, Perturbation, Traits
from simtrain.contracts.request import Answer
from simtrain.perturbations.error_wordings import refusal
from simtrain.values.types import JsonObject, Observation


class RateLimit(Perturbation):
    """The server refuses a call, says after how many seconds to come back, and refuses all its tools until then.

    Source: ToolMaze, AgentDisruptBench, ToolMisuseBench, mcp-chaos. An agent should back off. Time is virtual and goes by with every
    step; a caller that has no other way of waiting than calling is let through after `refusals`.
    """

    traits: ClassVar[Traits] = Traits(
        side="call", layer="P", effect="before", recoverable_by=("wait", "retry"), follows="fired"
    )

    retry_after: float | None = Field(
        default=None,
        gt=0,
        description="Virtual seconds that the limit lasts; unset, 60 times the severity, at least 1.",
    )
    refusals: int = Field(default=3, ge=1, description="Refusals after which the limit is lifted before its time.")

    async def apply(self, call: Call, proceed: Answer) -> Observation:
        """Begin a limit, unless one is on already, and refuse."""
        limits = _limits(call)
        if not self._on(call):
            lasts = max(1.0, 60 * self.severity) if self.retry_after is None else self.retry_after
            limits[call.request.tool.server] = {"until": call.clock.moment + lasts, "refusals": 0}
        return self._refuse(call)

    async def follow(self, call: Call, proceed: Answer) -> Observation:
        """Refuse while the limit is on."""
        return self._refuse(call) if self._on(call) else await proceed(call.request)

    def _on(self, call: Call) -> bool:
        limit = _limits(call).get(call.request.tool.server)
        return limit is not None and call.clock.moment < limit["until"] and limit["refusals"] < self.refusals

    def _refuse(self, call: Call) -> Observation:
        limit = _limits(call)[call.request.tool.server]
        limit["refusals"] += 1
        left = max(1, ceil(limit["until"] - call.clock.moment))
        return refusal(call, "rate_limit", by="rate_limit", retry_after=left)


def _limits(call: Call) -> JsonObject:
    """Server -> until when its limit lasts, and how often it was felt."""
    return call.memory
