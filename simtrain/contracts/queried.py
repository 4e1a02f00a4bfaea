"""Anything that answers a SELECT: a world or its state."""

from collections.abc import Mapping
from typing import Protocol

from simtrain.values.types import JsonObject, JsonValue


class Queried(Protocol):
    """A world, or a state of it."""

    def query(self, sql: str, parameters: Mapping[str, JsonValue] | None = None) -> list[JsonObject]:
        """Return the rows of one SELECT."""
        ...
