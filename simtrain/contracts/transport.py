"""The contract of transports: how an agent's calls reach its environment, where they do not go straight."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import TypeAlias

from simtrain.contracts.environment import Environment
from simtrain.contracts.plugin import Plugin

Connect: TypeAlias = Callable[[Environment], AbstractAsyncContextManager[Environment]]
"""Puts itself between an agent and an entered environment: what the block receives is the environment as seen through it."""


class Transport(Plugin):
    """Carries the calls of many episodes at once."""

    @abstractmethod
    def running(self) -> AbstractAsyncContextManager[Connect]:
        """Return a block in which what all episodes of a process share (a server, say) is up."""
