"""Orderly shutdown of an HTTP server: endless streams are closed at once, and every other request gets a reply."""

import asyncio
from typing import Any

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from simtrain.mcp.serve.guard import refusal


class OrderlyShutdown:
    """An application whose requests end in good order when `end` is called or when they are cancelled after that."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._streams: set[asyncio.Task[Any]] = set()
        self._over = False

    def end(self) -> None:
        """Begin to shut down: close endless streams now. Calls may still be answered."""
        self._over = True
        for task in list(self._streams):
            task.cancel()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        task = asyncio.current_task()
        assert task is not None
        if _is_stream(scope):
            self._streams.add(task)
        reply = _Reply(send)
        try:
            await self._app(scope, receive, reply.send)
        except asyncio.CancelledError:
            if not self._over:
                raise
            # The cancellation ends here: uvicorn drops the connection unless the application returns normally.
            task.uncancel()
            await reply.finish(scope, receive)
        finally:
            self._streams.discard(task)


class _Reply:
    """The part of a reply that was sent so far."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._last: Message | None = None

    async def send(self, message: Message) -> None:
        self._last = message
        await self._send(message)

    async def finish(self, scope: Scope, receive: Receive) -> None:
        """End the reply: with an empty last chunk if it has begun, else with status 503."""
        if self._last is None:
            await refusal(503, "The server is ending")(scope, receive, self._send)
        elif self._last["type"] == "http.response.start" or self._last.get("more_body", False):
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})


def _is_stream(scope: Scope) -> bool:
    """Return True if a request opens an endless stream: by GET in the handshake era, by subscriptions/listen in 2026-07-28."""
    return scope["method"] == "GET" or Headers(scope=scope).get("mcp-method") == "subscriptions/listen"
