"""The input of a world model: one checked tool call."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TypeAlias

from simtrain.values.errors import SimulatorFault
from simtrain.values.types import JsonObject, Observation, ToolSpec


@dataclass(frozen=True, slots=True)
class Request:
    """A tool call whose tool exists and whose arguments fit its input schema.

    `index` counts the steps of the episode from 0; `turn` the assistant messages from 0.
    """

    tool: ToolSpec
    arguments: JsonObject
    index: int
    turn: int


READ, FILL = "resources/read", "prompts/get"
"""Tool names of steps that are not tool calls but reads over MCP (of a resource, of a prompt); prefixed with the server's name if it
has one."""


def no_tool(name: str) -> ToolSpec:
    """Return the name used in place of a tool in a request that calls none."""
    return ToolSpec(name, "", {"type": "object", "properties": {}})


class NotAnswered(SimulatorFault):
    """Raised by a world model without an answer; the next one in the scenario whose globs match the tool is asked."""


@dataclass(frozen=True, slots=True)
class Caller:
    """A client of MCP: the protocol era that it speaks, and the capabilities that it declares."""

    era: str = ""
    capabilities: frozenset[str] = frozenset()

    def misfit(self, other: Caller) -> tuple[bool, int, int]:
        """Return a sort key: how badly a reply recorded for `other` fits this client. A capability that this client
        lacks weighs more than an unused one.
        """
        return (
            other.era != self.era,
            len(other.capabilities - self.capabilities),
            len(self.capabilities - other.capabilities),
        )


caller: ContextVar[Caller] = ContextVar("caller", default=Caller())  # noqa: B039
"""The MCP client that makes the current call: recordings of several clients are replayed to the most similar one."""

Answer: TypeAlias = Callable[[Request], Awaitable[Observation]]
"""Answer a request with the tool's observation. Raises SimulatorFault if it cannot, NotAnswered to pass it on."""
