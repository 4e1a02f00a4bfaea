"""The service is briefly down."""

from typing import ClassVar, Literal

from pydantic import Field

from simtrain.contracts.perturbation import Call, Traits
from simtrain.contracts.request import Answer
from simtrain.perturbations.catalogued import Catalogued
from simtrain.perturbations.error_wordings import Kind
from simtrain.values.types import Observation

_KINDS: dict[int, Kind] = {500: "internal", 502: "bad_gateway", 503: "unavailable"}


class TransientError(Catalogued):
    """The call does not reach the tool: the caller sees 500, 502 or 503, and the same call works later.

    Source: ToolBench-X, mcp-chaos, agentbreak. An agent should try again, a bounded number of times.
    """

    traits: ClassVar[Traits] = Traits(side="call", layer="P", recoverable_by=("retry",), shell=True, page=True)

    status: Literal[500, 502, 503] | None = Field(default=None, description="HTTP status; unset, drawn.")
    times: int | None = Field(
        default=None,
        ge=1,
        description="Failures of one tool, after which it works; unset, as often as the trigger fires.",
    )

    async def apply(self, call: Call, proceed: Answer) -> Observation:
        """Refuse without passing the call on, until the tool has failed often enough."""
        tool = call.request.tool.name
        failed = call.memory.get(tool, 0)
        if self.times is not None and failed >= self.times:
            return await proceed(call.request)
        call.memory[tool] = failed + 1
        kind = _KINDS[self.status or call.rng.choose(tuple(_KINDS))]
        return self.refusal(call, kind, "The request was not processed.")
