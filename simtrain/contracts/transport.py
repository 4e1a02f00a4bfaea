"""The contract of transports: how an agent's calls reach its environment indirectly, such as over MCP."""

from abc import abstractmethod
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import TypeAlias

from simtrain.contracts.environment import Environment
from simtrain.contracts.plugin import Plugin

Connect: TypeAlias = Callable[[Environment], AbstractAsyncContextManager[Environment]]
"""Wrap an entered environment: the block receives the environment as seen through the transport."""


class Transport(Plugin):
    """Carries the calls of many episodes at once."""

    @abstractmethod
    def running(self) -> AbstractAsyncContextManager[Connect]:
        """Return a context manager for the resources shared by all episodes of a process (such as a server)."""
