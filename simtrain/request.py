"""What reaches a world model: one checked tool call."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TypeAlias

from simtrain.errors import SimulatorFault
from simtrain.types import JsonObject, Observation, ToolSpec


@dataclass(frozen=True, slots=True)
class Request:
    """A tool call whose tool exists and whose arguments fit its input schema.

    `index` counts the steps of the episode from 0; `turn` the assistant messages from 0.
    """

    tool: ToolSpec
    arguments: JsonObject
    index: int
    turn: int


class NotAnswered(SimulatorFault):
    """This world model has no answer; the next one of the scenario's chain whose globs match the tool is asked."""


client_era: ContextVar[str] = ContextVar("client_era", default="")
"""The protocol era in which a call came over MCP: what was recorded in several eras is replayed in the caller's own."""

Answer: TypeAlias = Callable[[Request], Awaitable[Observation]]
"""Answers a request with the observation that the tool returns. Raises SimulatorFault when it cannot, NotAnswered to pass it on."""
