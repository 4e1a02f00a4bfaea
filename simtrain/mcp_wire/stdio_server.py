"""An MCP server on standard input and output."""

import asyncio
from asyncio import StreamReader, StreamWriter
from contextlib import suppress

import anyio
from anyio.abc import ObjectReceiveStream, ObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse, jsonrpc_message_adapter
from pydantic import ValidationError

from simtrain.mcp_wire.frames import encode_frame
from simtrain.mcp_wire.handler import RequestHandler
from simtrain.mcp_wire.sdk_server import build_server
from simtrain.mcp_wire.standard_streams import lines, read_end, standard_streams, write_end
from simtrain.mcp_wire.validation import INVALID_REQUEST, error_frame, flaw
from simtrain.values.types import JsonObject

GRACE = 1.0
"""Seconds to answer open requests after standard input has ended; clients kill a server after two."""


async def serve_stdio(handler: RequestHandler) -> None:
    """Answer on standard output until standard input ends or nobody reads any more.

    A line that is not a message is answered with an error. While this runs, anything printed goes to standard error.
    """
    server = build_server(handler)
    to_server, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, from_server = anyio.create_memory_object_stream[SessionMessage](0)
    with standard_streams() as (stdin, stdout):
        try:
            async with write_end(stdout) as output, asyncio.TaskGroup() as group:
                wire = _Wire(await read_end(stdin), output)
                group.create_task(wire.tell(from_server))
                group.create_task(wire.listen(to_server))
                await server.run(incoming, outgoing, server.create_initialization_options())
        except* (ConnectionError, anyio.BrokenResourceError):
            # Either nobody reads any more, so nobody could be told, or the SDK's streams broke at the regular end.
            pass


class _Wire:
    """Both directions of a connection, with the requests that wait for replies."""

    def __init__(self, input: StreamReader, output: StreamWriter) -> None:
        self._input = input
        self._output = output
        self._waiting: set[str | int] = set()
        self._answered = asyncio.Event()

    async def listen(self, to_server: ObjectSendStream[SessionMessage | Exception]) -> None:
        """Pass on every message until the input ends and all requests are answered."""
        async with to_server:
            cut_off = False
            async for piece in lines(self._input):
                if not piece.whole:
                    # One error for the message, and not for each of its parts.
                    if not cut_off:
                        await self._write(error_frame(INVALID_REQUEST, "Invalid request: the message is too large"))
                    cut_off = not piece.data.endswith(b"\n")
                    continue
                if not piece.data.strip():
                    continue
                message = _message(piece.data)
                if isinstance(message, SessionMessage):
                    self._note(message)
                    await to_server.send(message)
                else:
                    await self._write(message)
            with suppress(TimeoutError):
                async with asyncio.timeout(GRACE):
                    while self._waiting:
                        self._answered.clear()
                        await self._answered.wait()

    async def tell(self, from_server: ObjectReceiveStream[SessionMessage]) -> None:
        """Write the server's messages."""
        async with from_server:
            async for sent in from_server:
                await self._write(sent.message.model_dump(by_alias=True, exclude_unset=True))
                if isinstance(sent.message, JSONRPCResponse | JSONRPCError) and sent.message.id is not None:
                    self._waiting.discard(sent.message.id)
                    self._answered.set()

    async def _write(self, frame: JsonObject) -> None:
        self._output.write(encode_frame(frame) + b"\n")
        await self._output.drain()

    def _note(self, message: SessionMessage) -> None:
        frame = message.message
        # A subscription is answered only when it ends, so nobody waits for that answer.
        if isinstance(frame, JSONRPCRequest) and frame.method != "subscriptions/listen":
            self._waiting.add(frame.id)
        elif isinstance(frame, JSONRPCNotification) and frame.method == "notifications/cancelled":
            identity = (frame.params or {}).get("requestId")
            if isinstance(identity, str | int):
                self._waiting.discard(identity)


def _message(line: bytes) -> SessionMessage | JsonObject:
    """Return the message in a line, or the error that answers it."""
    wrong = flaw(line)
    if wrong is not None:
        return wrong
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValidationError:
        # Unpaired surrogates, and nesting deeper than pydantic reads.
        return error_frame(INVALID_REQUEST, "Invalid request: the message cannot be read")
