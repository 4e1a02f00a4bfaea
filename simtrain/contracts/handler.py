"""The contract of handlers: a tool of a service world as a Python function, where SQL is not enough."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, TypeVar

from simtrain.values.errors import SimtrainError
from simtrain.values.types import JsonObject, JsonValue

HandlerT = TypeVar("HandlerT", bound=Callable[..., Any])


class ToolError(SimtrainError):
    """Raised when the tool refuses the call: its text is the error reply, and all changes by the call are undone."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply whose text is not simply its structured content written as JSON.

    `blocks` are MCP content blocks (images, audio, resources) that replace the text block. `is_error` marks an error
    reply that keeps the call's changes; raise ToolError to undo them. `updated` are the URIs of resources that the call
    changed.
    """

    text: str
    structured: JsonObject | None = None
    is_error: bool = False
    blocks: tuple[JsonObject, ...] = ()
    updated: tuple[str, ...] = ()


class HandlerContext(Protocol):
    """A handler's view of the call: arguments (with defaults filled in), virtual time, and the world's database."""

    @property
    def arguments(self) -> JsonObject:
        """Return the call's arguments; absent optional ones are None."""
        ...

    @property
    def now(self) -> str:
        """Return virtual time, such as `2031-03-03T09:00:20Z`."""
        ...

    def read(self, sql: str, parameters: Mapping[str, JsonValue] | None = None) -> list[JsonObject]:
        """Return the rows of a SELECT."""
        ...

    def write(self, sql: str, parameters: Mapping[str, JsonValue] | None = None) -> int:
        """Run a writing statement in the call's transaction and return its row count. Refused in a tool without `writes: true`."""
        ...

    def new_id(self, pattern: str) -> str:
        """Return a new id such as `RF{seq:05}`; the counter is part of the world's state."""
        ...


def takes_time(handler: HandlerT) -> HandlerT:
    """Mark a handler whose running time depends on the agent, such as one that runs its SQL. Servers then answer other calls meanwhile."""
    handler.takes_time = True  # pyright: ignore[reportFunctionMemberAccess]
    return handler


Handler: TypeAlias = Callable[[HandlerContext], JsonObject | Reply]
"""A registered function that takes the call and returns its structured reply, or a Reply. It raises ToolError to refuse."""
