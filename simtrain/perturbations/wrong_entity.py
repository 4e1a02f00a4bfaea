"""A plausible wrong record."""

from dataclasses import replace
from typing import ClassVar

from simtrain.contracts.perturbation import Call, Traits
from simtrain.contracts.request import Answer
from simtrain.perturbations.catalogued import Catalogued
from simtrain.perturbations.world_rows import named_row
from simtrain.values.types import Observation

MOST_TRIED = 5


class WrongEntity(Catalogued):
    """A read that names a record is answered as if it had named another of the same kind, the most similar first.

    Source: ToolMaze, COVERT, AgentDisruptBench. An agent should compare the reply with what it asked for, and look once
    more or another way. Writes, and reads that name no record, pass.
    """

    traits: ClassVar[Traits] = Traits(
        side="reply",
        layer="H",
        visible=False,
        recoverable_by=("cross-check", "retry"),
        needs_world=True,
    )

    async def apply(self, call: Call, proceed: Answer) -> Observation:
        """Pass the call on for another record than the caller named."""
        # The true reply first: it is what the wrong one must differ from to count as wrong.
        observation = await proceed(call.request)
        if observation.is_error or call.world is None or call.request.tool.writes:
            return observation
        found = named_row(call.world, call.request.arguments)
        if found is None:
            return observation
        name, home = found
        for other in home.others(call.world, call.rng)[:MOST_TRIED]:
            wrong = await proceed(replace(call.request, arguments={**call.request.arguments, name: other}))
            if not wrong.is_error and wrong.text != observation.text:
                return self.signed(wrong)
        return observation
