"""The contract of world models: whoever predicts the observation that the real tool would have returned."""

from __future__ import annotations

from abc import abstractmethod
from contextlib import AbstractAsyncContextManager
from typing import ClassVar

from simtrain.contracts.domain import Domain
from simtrain.contracts.plugin import Plugin
from simtrain.contracts.request import Answer
from simtrain.contracts.world import WorldState
from simtrain.values.types import JsonValue, ToolSpec


class WorldModel(Plugin):
    """Answers tool calls for one episode at a time."""

    stateless: ClassVar[bool] = False
    """Whether a session knows nothing beyond the world's state, so that an episode can be forked."""

    repeatable: ClassVar[bool] = False
    """Whether the same calls in the same order get the same replies in every session, without any effect outside it."""

    @abstractmethod
    def session(
        self, *, domain: Domain, world: WorldState, tools: tuple[ToolSpec, ...]
    ) -> AbstractAsyncContextManager[Answer]:
        """Open one episode; the answers come from the callable that the block receives."""

    async def ready(self) -> None:
        """Check once, before any episode, that what answers can be reached. Raises InputError when it cannot."""
        return

    def sources(self) -> JsonValue:
        """Return what the files behind the knobs say, for the scenario's digest; None if there are none."""
        return None
