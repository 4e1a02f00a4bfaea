"""So many requests in so much time."""

from collections.abc import Callable
from math import ceil

from trellis.errors import HttpError
from trellis.messages import Request, Response


class RateLimit:
    """A middleware: a bucket for each client, filled again over time. `of` names the client."""

    def __init__(
        self, count: int, seconds: float, of: Callable[[Request], str] | None = None
    ) -> None:
        self._count = count
        self._rate = count / seconds
        self._of = of or (lambda request: request.headers.get("X-Client", ""))
        self._buckets: dict[str, tuple[float, float]] = {}

    def left(self, client: str, now: float) -> float:
        """Return how many requests a client may send now."""
        level, time = self._buckets.get(client, (float(self._count), now))
        return min(float(self._count), level + (now - time) * self._rate)

    def take(self, client: str, now: float) -> float:
        """Count a request; return the seconds to wait if there are too many, else 0."""
        level = self.left(client, now)
        if level < 1:
            self._buckets[client] = (level, now)
            return (1 - level) / self._rate
        self._buckets[client] = (level - 1, now)
        return 0.0

    def __call__(self, request: Request, following: Callable[[Request], Response]) -> Response:
        client = self._of(request)
        wait = self.take(client, request.now)
        if wait:
            raise HttpError(429, headers={"Retry-After": str(ceil(wait))})
        response = following(request)
        left = int(self.left(client, request.now))
        response.headers.set("X-Requests-Left", str(left))
        return response

    def forget(self, now: float) -> int:
        """Drop the buckets that are full again, and return how many."""
        full = [client for client in self._buckets if self.left(client, now) >= self._count]
        for client in full:
            del self._buckets[client]
        return len(full)
