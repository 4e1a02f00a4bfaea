"""A perturbation for tests: every call reaches the tool twice, the second time changed, and the second reply counts."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from simtrain.contracts.perturbation import Call, Perturbation, Traits
from simtrain.contracts.request import Answer
from simtrain.values.types import Observation


class Twice(Perturbation):
    """One call, two effects."""

    traits: ClassVar[Traits] = Traits(side="call", layer="D")

    async def apply(self, call: Call, proceed: Answer) -> Observation:
        await proceed(call.request)
        return await proceed(replace(call.request, arguments={**call.request.arguments, "again": True}))


class Breaks(Perturbation):
    """A perturbation with a mistake in it, before the call or after."""

    traits: ClassVar[Traits] = Traits(side="call", layer="P")
    late: bool = False

    async def apply(self, call: Call, proceed: Answer) -> Observation:
        if self.late:
            await proceed(call.request)
        raise ZeroDivisionError("a mistake")
