"""The tables of an open machine world, as its commands reach them."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Protocol

from simtrain.values.types import JsonObject, JsonValue


class RecordedState(Protocol):
    """A state whose tables commands read and write within a call."""

    def record(self, sql: str, parameters: Mapping[str, JsonValue] | None) -> int:
        """Carry out one writing statement and return the number of rows."""
        ...

    def recorded(self, sql: str, parameters: Mapping[str, JsonValue] | None) -> list[JsonObject]:
        """Return the rows of a SELECT."""
        ...

    def recording(self) -> AbstractContextManager[None]:
        """Return a block whose statements are undone if it ends by an exception."""
        ...


class StateRecords:
    """The tables of a state for its commands. They run while the state's lock is held, some of them in threads of their own."""

    __slots__ = ("_state",)

    def __init__(self, state: RecordedState) -> None:
        self._state = state

    def read(self, sql: str, parameters: Mapping[str, JsonValue] | None = None) -> list[JsonObject]:
        return self._state.recorded(sql, parameters)

    def write(self, sql: str, parameters: Mapping[str, JsonValue] | None = None) -> int:
        return self._state.record(sql, parameters)

    def together(self) -> AbstractContextManager[None]:
        return self._state.recording()
