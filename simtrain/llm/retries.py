"""Retries of a model call: after a 429, a 5xx, a timeout or a broken connection, with exponential backoff."""

import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, stop_after_attempt

from simtrain.values.errors import ModelFault
from simtrain.values.seeding import Stream

LONGEST_BACKOFF = 60.0
LONGEST_RETRY_AFTER = 600.0
REFUSED = (400, 413, 422)
"""Statuses with which a server refuses what was asked of it: trying again is useless."""

Result = TypeVar("Result")

_log = logging.getLogger(__name__)


class ModelError(ModelFault):
    """A model call failed permanently: `str` is one line without API keys; `status` is the HTTP status, if any."""

    def __init__(self, problem: str, *, status: int | None = None) -> None:
        super().__init__(" ".join(problem.split())[:400])
        self.status = status


class Retryable(ModelError):
    """A failure that a retry may fix; `after` is the wait in seconds that the server asks for."""

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

    def wait(state: RetryCallState) -> float:
        error = _failure(state)
        if error.after is not None:
            return error.after
        return min(LONGEST_BACKOFF, backoff * 2.0 ** (state.attempt_number - 1)) * jitter.number(0.5, 1.0)

    # Tenacity's bookkeeping costs a fifth of a call, so it starts only after the first attempt failed.
    try:
        return await call(1)
    except Retryable as error:
        first = error

    number = 0

    async def attempt() -> Result:
        nonlocal number
        number += 1
        if number == 1:
            raise first
        return await call(number)

    retrying = AsyncRetrying(
        sleep=sleep,
        stop=stop_after_attempt(attempts),
        wait=wait,
        retry=retry_if_exception_type(Retryable),
        before_sleep=_note,
        reraise=True,
    )
    return await retrying(attempt)


def _failure(state: RetryCallState) -> Retryable:
    error = state.outcome.exception() if state.outcome else None
    if not isinstance(error, Retryable):
        raise TypeError("tenacity waits after a Retryable alone")
    return error


def _note(state: RetryCallState) -> None:
    _log.info("attempt %d failed, the next in %.1f s: %s", state.attempt_number, state.upcoming_sleep, _failure(state))
