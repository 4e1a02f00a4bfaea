"""One call, two effects."""

from typing import ClassVar

from simtrain.contracts.perturbation import Call, Traits
from simtrain.contracts.request import Answer
from simtrain.perturbations.catalogued import Catalogued
from simtrain.values.types import JsonObject, Observation


class DuplicateDelivery(Catalogued):
    """A write is delivered twice: its effect lands twice, and the caller sees the first reply.

    Source: ReliabilityBench, ToolMisuseBench, AgentChaos. An agent should check the state before it reports success,
    and undo the surplus. Reads pass, and so do writes whose repetition the service refuses.
    """

    traits: ClassVar[Traits] = Traits(side="call", layer="D", effect="after", visible=False, recoverable_by=("verify",))
    example: ClassVar[JsonObject] = {"when": {"tools": "orders.place"}}

    async def apply(self, call: Call, proceed: Answer) -> Observation:
        """Carry a write out twice; a call that was refused is not repeated."""
        first = await proceed(call.request)
        if first.is_error or not call.request.tool.writes:
            return first
        second = await proceed(call.request)
        return first if second.is_error else self.signed(first)
