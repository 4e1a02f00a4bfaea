"""Validation of incoming messages, before the SDK sees them, so that malformed ones get a proper error reply."""

import asyncio
from collections.abc import Callable
from typing import TypeAlias

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from simtrain.mcp_wire.frames import strict_json
from simtrain.values.types import JsonObject, JsonValue, is_list, is_object

ARRIVAL = 30.0
"""Seconds for a request to arrive completely."""

MAX_BODY = 4 * 1024 * 1024
"""Largest request body in bytes, by default."""

PARSE_ERROR = -32700
INVALID_REQUEST = -32600

Check: TypeAlias = Callable[[bytes], JsonObject | None]


def flaw(message: bytes | bytearray) -> JsonObject | None:
    """Return the JSON-RPC error reply to an invalid MCP message; None for a valid one.

    Its id is that of the message if valid, else null (JSON-RPC 2.0, section 5).
    """
    try:
        value = strict_json(message)
    except RecursionError:
        return error_frame(PARSE_ERROR, "Parse error: the message is nested too deeply")
    except ValueError as error:
        return error_frame(PARSE_ERROR, f"Parse error: {error}")
    if is_list(value):
        return error_frame(INVALID_REQUEST, "Invalid request: batches are not supported; send one message at a time")
    if not is_object(value):
        return error_frame(INVALID_REQUEST, "Invalid request: a message is a JSON object")
    problem = _problem(value)
    return None if problem is None else error_frame(INVALID_REQUEST, f"Invalid request: {problem}", value.get("id"))


def error_frame(code: int, message: str, identity: JsonValue = None) -> JsonObject:
    """Return a JSON-RPC error reply. An invalid id becomes null."""
    known = identity if _is_id(identity) else None
    return {"jsonrpc": "2.0", "id": known, "error": {"code": code, "message": message}}


def _problem(frame: JsonObject) -> str | None:
    if frame.get("jsonrpc") != "2.0":
        return 'the member "jsonrpc" must be "2.0"'
    if "id" in frame and not _is_id(frame["id"]):
        return "an id is a text or an integer"
    if "method" in frame:
        if not isinstance(frame["method"], str):
            return "a method is a text"
        return None if isinstance(frame.get("params"), dict | None) else "params are an object"
    if "id" not in frame:
        return "neither a method nor an id"
    error: JsonValue = frame.get("error")
    if is_object(frame.get("result")) or (is_object(error) and {"code", "message"} <= set(error)):
        return None
    return "neither a method nor a result nor an error"


def _is_id(value: JsonValue) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)


class WholeBodies:
    """Passes on HTTP requests once their body has arrived. Answers 413 if it is too large and 408 if it takes too long.

    With `check`, an invalid body is answered with 400 and the error that `check` returns.
    """

    def __init__(self, app: ASGIApp, *, max_body: int, check: Check | None = None, arrival: float = ARRIVAL) -> None:
        self._app = app
        self._max_body = max_body
        self._check = check
        self._arrival = arrival

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        try:
            async with asyncio.timeout(self._arrival):
                body = await self._read(Headers(scope=scope).get("content-length", ""), receive)
        except TimeoutError:
            await _refusal(408, f"The request did not arrive within {self._arrival:g} seconds")(scope, receive, send)
            return
        except _TooLarge:
            await _refusal(413, f"The request is larger than {self._max_body} bytes")(scope, receive, send)
            return
        # Nobody is left to answer.
        if body is None:
            return
        wrong = self._check(body) if self._check is not None else None
        if wrong is not None:
            await JSONResponse(wrong, 400)(scope, receive, send)
            return
        await self._app(scope, _replaying(body, receive), send)

    async def _read(self, announced: str, receive: Receive) -> bytes | None:
        """Return the body; None if the client has disconnected."""
        # Refused before it is read; the announced length may also be absent or wrong.
        if announced.isdecimal() and int(announced) > self._max_body:
            raise _TooLarge
        body = bytearray()
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            body += message.get("body", b"")
            if len(body) > self._max_body:
                raise _TooLarge
            if not message.get("more_body", False):
                return bytes(body)


class _TooLarge(Exception):
    """The body is beyond the limit."""


def _replaying(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that first gives the body, then the real messages."""
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


def _refusal(status: int, message: str) -> JSONResponse:
    # The rest of the request is not read, so the connection cannot be reused.
    return JSONResponse(error_frame(INVALID_REQUEST, message), status, {"connection": "close"})
