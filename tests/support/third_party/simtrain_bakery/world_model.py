"""A world model: the world's own answers in capitals."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace

from simtrain.contracts.domain import Domain
from simtrain.contracts.request import Answer, Request
from simtrain.contracts.world import WorldState
from simtrain.contracts.world_model import WorldModel
from simtrain.values.types import Observation, Provenance, ToolSpec


class Shouting(WorldModel):
    """Answers as the world does, loudly."""

    @asynccontextmanager
    async def session(
        self, *, domain: Domain, world: WorldState, tools: tuple[ToolSpec, ...]
    ) -> AsyncGenerator[Answer]:
        """Each answer is the world's, in capitals."""

        async def answer(request: Request) -> Observation:
            told = world.answer(request)
            return replace(
                told, text=told.text.upper(), structured=told.content, json=False, provenance=Provenance("shouting")
            )

        yield answer
