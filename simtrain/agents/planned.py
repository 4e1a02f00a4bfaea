"""Calls that a plan wants made, and the generators that yield them."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from simtrain.values.types import JsonObject, Message, Observation, canonical


class CallReason(StrEnum):
    """The purpose of a call, as far as its agent knows."""

    again = "again"
    """The last call failed with an error that may be transient."""
    fixed = "fixed"
    """The last call was refused for its arguments, which were fixed."""
    remedy = "remedy"
    """The call removes the cause named by the last error."""
    after_remedy = "after_remedy"
    """The cause of the error has been removed."""
    instead = "instead"
    """An equivalent tool is called instead."""
    onward = "onward"
    """The last reply redirected to another address."""
    landed = "landed"
    """The reply of a write was lost: this read shows whether it took effect."""
    doubted = "doubted"
    """The last reply cannot be right as it stands."""
    compared = "compared"
    """Something odd was seen before: the read is repeated for comparison."""
    elsewhere = "elsewhere"
    """Another tool may return what the last reply lacks."""
    shows = "shows"
    """A write was reported as done: this read shows whether it took effect."""
    searched = "searched"
    """A record that was seen before is not found now: the reads that returned it are repeated."""
    requested = "told"
    """A text that was read asks for the call."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A call that a plan wants made.

    `beside` holds calls that go in the same turn; each is made once, and its reply is reused when the walk reaches it. `reason`
    says why a call is made that is not simply the next one of the plan.
    """

    tool: str
    arguments: JsonObject
    beside: tuple[Planned, ...] = field(default=(), compare=False)
    reason: CallReason | None = field(default=None, compare=False)

    @property
    def key(self) -> bytes:
        """Return a key: equal calls have equal keys."""
        return canonical([self.tool, self.arguments])


Walking: TypeAlias = Generator[Planned, Observation, Message]
Calling: TypeAlias = Generator[Planned, Observation, Observation]
Caller: TypeAlias = Callable[[Planned], Calling]
"""How one planned call is made: once, or with recovery. Yields the calls actually made, returns the reply that counts."""
