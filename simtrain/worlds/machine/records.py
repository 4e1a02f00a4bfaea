"""The tables of a world as its machines use them."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Protocol

from simtrain.values.types import JsonObject, JsonValue


class Records(Protocol):
    """The tables of a world, beside its files: the same for all machines of the world."""

    def read(self, sql: str, parameters: Mapping[str, JsonValue] | None = None) -> list[JsonObject]:
        """Return the rows of a SELECT."""
        ...

    def write(self, sql: str, parameters: Mapping[str, JsonValue] | None = None) -> int:
        """Carry out one writing statement and return the number of rows."""
        ...

    def together(self) -> AbstractContextManager[None]:
        """Return a block whose statements are undone if it ends by an exception."""
        ...
