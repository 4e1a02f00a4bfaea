"""A perturbation: the reply is burnt at the edges."""

from __future__ import annotations

from typing import ClassVar

from simtrain.contracts.perturbation import Call, Perturbation, Traits
from simtrain.contracts.request import Answer
from simtrain.values.types import Observation


class Burnt(Perturbation):
    """Cuts the reply short. An agent should read it again."""

    traits: ClassVar[Traits] = Traits(side="reply", layer="P", recoverable_by=("retry",))

    async def apply(self, call: Call, proceed: Answer) -> Observation:
        """The first half of the true reply."""
        reply = await proceed(call.request)
        return Observation(reply.text[: len(reply.text) // 2], is_error=reply.is_error)
