"""Streamable HTTP over the seam: the SDK's sessions and streams behind an ASGI callable."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import RequestBodyLimitMiddleware
from starlette.types import ASGIApp

from simtrain.mcp_wire.seam import build_server

MAX_BODY = 4 * 1024 * 1024
"""Largest request body in bytes, unless said otherwise."""


@asynccontextmanager
async def http_endpoint(
    *, json_replies: bool, max_body: int = MAX_BODY, max_sessions: int = 10_000
) -> AsyncGenerator[ASGIApp]:
    """An ASGI endpoint for requests whose scope holds a front under `SCOPE_KEY`.

    `json_replies` answers clients of the handshake era with plain JSON, at half the cost of an event stream; what a front says
    before its result (progress, log messages, questions) is then lost. Host and Origin are the caller's to check.
    """
    manager = StreamableHTTPSessionManager(
        build_server(), json_response=json_replies, max_request_body_size=max_body, max_sessions=max_sessions
    )
    try:
        async with manager.run():
            yield manager.handle_request
    except BaseExceptionGroup as group:
        # The SDK's task group wraps whatever the block raises; callers know their own exceptions.
        raise group.exceptions[0] if len(group.exceptions) == 1 else group from None


def limit_body(app: ASGIApp, *, max_body: int = MAX_BODY) -> ASGIApp:
    """The application with a limit on request bodies: 413 beyond it."""
    return RequestBodyLimitMiddleware(app, max_body)
