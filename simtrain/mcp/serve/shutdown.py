"""Orderly shutdown of an HTTP server: endless streams are closed at once, and every other request gets a reply."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from simtrain.mcp.serve.guard import refusal


class OrderlyShutdown:
    """An application whose requests end in good order when `end` is called, or when they are cancelled after that."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._streams: set[asyncio.Task[Any]] = set()
        self._over = False

    def end(self) -> None:
        """Begin to shut down: close endless streams now; calls may still be answered."""
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
            # The cancellation is handled here: uvicorn must see an application that returned, or it drops the connection.
            task.uncancel()
            await reply.finish(scope, receive)
        finally:
            self._streams.discard(task)


class _Reply:
    """What was said of a reply so far."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._last: Message | None = None

    async def send(self, message: Message) -> None:
        self._last = message
        await self._send(message)

    async def finish(self, scope: Scope, receive: Receive) -> None:
        """End the reply: an empty end of what was begun, else 503."""
        if self._last is None:
            await refusal(503, "The server is ending")(scope, receive, self._send)
        elif self._last["type"] == "http.response.start" or self._last.get("more_body", False):
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})


def _is_stream(scope: Scope) -> bool:
    """True if a request asks for a stream without end: those of the handshake era are fetched, that of 2026-07-28 is asked for."""
    return scope["method"] == "GET" or Headers(scope=scope).get("mcp-method") == "subscriptions/listen"
