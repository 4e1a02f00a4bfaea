"""Half of a write lands."""

from typing import ClassVar

from pydantic import Field

from simtrain.contracts.perturbation import Call, Traits
from simtrain.contracts.request import Answer
from simtrain.perturbations.catalogued import Catalogued
from simtrain.values.errors import SimulatorFault
from simtrain.values.types import Observation


class PartialUpdate(Catalogued):
    """A write of several statements stops midway: the first ones are committed, and the caller sees a server error.

    Source: ToolMisuseBench, BENCH2ROBUST. An agent should read the state again, then complete or undo what is half
    done. A write of a single statement cannot be split, so it passes.
    """

    traits: ClassVar[Traits] = Traits(side="state", layer="D", recoverable_by=("verify",), needs_world=True, page=True)

    statements: int | None = Field(
        default=None, ge=1, description="Statements that land; unset, fewer the higher the severity."
    )

    async def apply(self, call: Call, proceed: Answer) -> Observation:
        """Commit the first statements. Raises SimulatorFault if no world is behind the proxy."""
        world = call.world
        if world is None:
            raise SimulatorFault("partial_update needs a world")
        # Only a tool that the world answers has statements: one that a perturbation added or a model answers has none here.
        total = world.statements(call.request) if call.in_world else 0
        if total < 2:
            return await proceed(call.request)
        landed = round((total - 1) * (1 - self.severity)) if self.statements is None else self.statements
        # At least one statement lands and one does not, whatever the knobs say: else it would be a plain error or a success.
        whole = world.partial(call.request, min(max(landed, 1), total - 1))
        if whole.is_error:
            return whole
        return self.refusal(call, "internal", "The request was not completed.")
