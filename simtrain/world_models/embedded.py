"""The default world model: the world's own engine answers, without a model or network."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from simtrain.contracts.domain import Domain
from simtrain.contracts.request import Answer, Request
from simtrain.contracts.world import WorldState
from simtrain.contracts.world_model import WorldModel
from simtrain.values.types import Observation, ToolSpec


class Embedded(WorldModel):
    """The world's own engine: every reply is computed from its state."""

    stateless = True
    repeatable = True

    @asynccontextmanager
    async def session(
        self, *, domain: Domain, world: WorldState, tools: tuple[ToolSpec, ...]
    ) -> AsyncGenerator[Answer]:
        """Answer from the world. A slow answer runs in a thread, so that other episodes go on meanwhile."""

        async def answer(request: Request) -> Observation:
            # Handing over to a thread takes longer than most answers, so only slow ones are.
            if world.takes_time(request):
                return await world.answer_aside(request)
            return world.answer(request)

        yield answer
