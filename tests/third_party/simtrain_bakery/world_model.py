"""A world model: the world's own answers in capitals."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace

from simtrain.domain import Domain
from simtrain.request import Answer, Request
from simtrain.types import Observation, Provenance, ToolSpec
from simtrain.world import WorldState
from simtrain.world_model import WorldModel


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
