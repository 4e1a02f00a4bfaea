"""A transport: the calls of an agent go by courier, who loses none."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from simtrain.contracts.environment import Environment
from simtrain.contracts.transport import Connect, Transport


class Courier(Transport):
    """Carries every call on foot."""

    greeting: str = "ahoy"

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[Connect]:
        """One courier for all episodes, who says when he is off."""

        @asynccontextmanager
        async def connect(environment: Environment) -> AsyncGenerator[Environment]:
            print(f"{self.greeting}: {len(environment.tools)} tools", flush=True)
            yield environment

        yield connect
