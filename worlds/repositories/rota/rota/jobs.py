"""A job, and how it is tried again."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from rota.durations import parse_duration
from rota.errors import JobError
from rota.triggers import Trigger

_NAME = re.compile(r"[a-z][a-z0-9_-]*")


@dataclass(frozen=True)
class Retry:
    """How often a failed run is tried again, and after what delay."""

    attempts: int = 1
    delay: str = "30s"
    factor: float = 2.0
    longest: str = "1h"

    def __post_init__(self) -> None:
        if self.attempts < 1:
            raise JobError(f"{self.attempts} attempts are too few")
        if self.factor < 1:
            raise JobError(f"a factor of {self.factor:g} makes delays shorter")

    def wait(self, attempt: int) -> float | None:
        """Return the seconds to wait after this attempt failed; None if it was the last."""
        if attempt >= self.attempts:
            return None
        seconds = parse_duration(self.delay) * self.factor ** (attempt - 1)
        return min(seconds, parse_duration(self.longest))

    def total(self) -> float:
        """Return all waiting together, if every attempt fails."""
        waits = (self.wait(attempt) for attempt in range(1, self.attempts + 1))
        return sum(wait for wait in waits if wait is not None)


@dataclass(frozen=True)
class Job:
    """What is to be run: when, after which others, with which resources. Higher priority first."""

    name: str
    trigger: Trigger
    after: tuple[str, ...] = ()
    needs: Mapping[str, int] = field(default_factory=dict)
    priority: int = 0
    retry: Retry = Retry()
    timeout: str | None = None

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise JobError(f"{self.name!r} is no name of a job")
        if self.name in self.after:
            raise JobError(f"{self.name} waits for itself")

    @property
    def seconds_allowed(self) -> float | None:
        """The most seconds that a run may take."""
        return None if self.timeout is None else parse_duration(self.timeout)
