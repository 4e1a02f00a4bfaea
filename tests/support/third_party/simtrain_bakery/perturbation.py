"""A perturbation: the reply is burnt at the edges."""

from __future__ import annotations

from typing import ClassVar

from simtrain.contracts.perturbation import Call, Layer, Perturbation, Recovery, Side
from simtrain.contracts.request import Answer
from simtrain.values.types import Observation


class Burnt(Perturbation):
    """Cuts the reply short. An agent should read it again."""

    side: ClassVar[Side] = "reply"
    layer: ClassVar[Layer] = "P"
    recoverable_by: ClassVar[tuple[Recovery, ...]] = ("retry",)

    async def apply(self, call: Call, proceed: Answer) -> Observation:
        """The first half of the true reply."""
        reply = await proceed(call.request)
        return Observation(reply.text[: len(reply.text) // 2], is_error=reply.is_error)
