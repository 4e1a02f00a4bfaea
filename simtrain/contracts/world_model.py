"""The contract of world models, which predict the observation that the real tool would have returned."""

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
    """Whether a session keeps nothing besides the world's state, so that an episode can be forked."""

    repeatable: ClassVar[bool] = False
    """Whether the same calls in the same order get the same replies in every session, without any effect outside it."""

    @abstractmethod
    def session(
        self, *, domain: Domain, world: WorldState, tools: tuple[ToolSpec, ...]
    ) -> AbstractAsyncContextManager[Answer]:
        """Open one episode; the block receives a callable that answers requests."""

    async def ready(self) -> None:
        """Check once, before any episode, that the model behind it can be reached. Raises InputError if it cannot."""
        return

    def speaks_for(self) -> frozenset[str]:
        """Return the programs whose output it writes while the engine answers all else."""
        return frozenset()

    def sources(self) -> JsonValue:
        """Return the contents of the files behind the knobs, for the scenario's digest; None if there are none."""
        return None
