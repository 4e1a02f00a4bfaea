"""Sessions of an app's visitors: who is signed in, and what the next page shall say once."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Literal

from simtrain.values.seeding import derive
from simtrain.values.types import JsonValue


@dataclass(frozen=True, slots=True)
class Flash:
    """A message that the next page shows once."""

    kind: Literal["done", "error"]
    text: str


@dataclass(slots=True)
class VisitorSession:
    """One visitor: the id of the user (None: nobody is signed in), and what the next page shows once."""

    user: JsonValue = None
    flashes: list[Flash] = field(default_factory=list[Flash])
    flaws: Mapping[str, str] = field(default_factory=dict[str, str])
    old: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    refused: str = ""
    """The address of the form that was refused last, to which `flaws` and `old` belong."""
    dialog: str = ""

    @property
    def has_messages(self) -> bool:
        """Whether the next page says something that others do not."""
        return bool(self.flashes or self.flaws or self.old or self.refused or self.dialog)

    def shown(self) -> None:
        """Forget what the page that was just made has shown."""
        self.flashes, self.flaws, self.old, self.refused, self.dialog = [], {}, {}, "", ""


class VisitorSessions:
    """The sessions of one episode, by the token in the visitor's cookie."""

    __slots__ = ("_by_token", "_count", "_seed")

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._count = 0
        self._by_token: dict[str, VisitorSession] = {}

    def copy(self) -> VisitorSessions:
        """Return an independent copy."""
        other = VisitorSessions(self._seed)
        other._count, other._by_token = self._count, deepcopy(self._by_token)
        return other

    def find(self, token: str | None) -> VisitorSession | None:
        """Return the session of a token; None for an unknown or missing one."""
        return self._by_token.get(token) if token else None

    def begin(self, user: JsonValue = None) -> tuple[str, VisitorSession]:
        """Return the token of a new session, and the session."""
        self._count += 1
        token = f"{derive(self._seed, 'session', self._count):016x}"
        session = self._by_token[token] = VisitorSession(user)
        return token, session

    def expire(self) -> None:
        """End all sessions: every visitor must sign in again."""
        self._by_token.clear()
