"""Retries of a model call: after a 429, a 5xx, a timeout or a broken connection, with waits that grow."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

from simtrain.values.errors import ModelFault
from simtrain.values.seeding import Stream

LONGEST_BACKOFF = 60.0
LONGEST_RETRY_AFTER = 600.0

Result = TypeVar("Result")

_log = logging.getLogger(__name__)


class ModelError(ModelFault):
    """A model call failed for good: `str` is one line without keys; `status` is the HTTP status where there was one."""

    def __init__(self, problem: str, *, status: int | None = None) -> None:
        super().__init__(" ".join(problem.split())[:400])
        self.status = status


class Retryable(ModelError):
    """A failure that another attempt may mend; `after` is the wait in seconds that the server asks for."""

    def __init__(self, problem: str, *, status: int | None = None, after: float | None = None) -> None:
        super().__init__(problem, status=status)
        self.after = after


async def with_retries(
    call: Callable[[int], Awaitable[Result]],
    *,
    attempts: int,
    backoff: float,
    jitter: Stream,
    sleep: Callable[[float], Awaitable[None]],
) -> Result:
    """Return the result of a call (which gets the number of the attempt).

    `backoff` is the wait in seconds before the second attempt, doubled each time. Raises its
    ModelError when no attempt is left, or none can help.
    """
    for number in range(1, attempts):
        try:
            return await call(number)
        except Retryable as error:
            wait = error.after
            if wait is None:
                wait = min(LONGEST_BACKOFF, backoff * 2.0 ** (number - 1)) * jitter.number(0.5, 1.0)
            _log.info("attempt %d of %d failed, the next in %.1f s: %s", number, attempts, wait, error)
            await sleep(wait)
    return await call(attempts)
