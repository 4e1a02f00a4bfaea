"""The reply reports success, but nothing was done."""

from typing import ClassVar

from simtrain.contracts.perturbation import Call, Traits
from simtrain.contracts.request import Answer
from simtrain.perturbations.app_pages import app_of
from simtrain.perturbations.catalogued import Catalogued
from simtrain.values.types import Observation


class FalseSuccess(Catalogued):
    """A write is answered in every detail as if it had been carried out, but the state does not change.

    Source: ToolMaze, ReliabilityBench, AgentDisruptBench. An agent should read the state again after a write that
    matters, and repeat what is missing. Reads and refused calls pass.
    """

    traits: ClassVar[Traits] = Traits(
        side="state",
        layer="D",
        visible=False,
        recoverable_by=("verify", "retry"),
        needs_world=True,
        shell=True,
        page=True,
    )

    async def apply(self, call: Call, proceed: Answer) -> Observation:
        """Carry the write out, keep its reply and undo the rest."""
        world = call.world
        if world is None or not call.request.tool.writes:
            return await proceed(call.request)
        # What was undone of a page would not be known for a firing, so that an action that writes no row passes.
        if app_of(call) is not None and not world.statements(call.request):
            return await proceed(call.request)
        # The tool itself words the reply, with ids and times that a real write would have given; then its rows are undone.
        with world.savepoint():
            observation = await proceed(call.request)
        return observation if observation.is_error else self.signed(observation)
