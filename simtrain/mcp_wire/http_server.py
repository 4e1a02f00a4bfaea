"""A streamable HTTP server: the SDK's sessions and streams behind an ASGI callable."""

from collections import OrderedDict, deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from secrets import token_hex

from mcp.server.streamable_http import EventCallback, EventMessage, EventStore
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types import JSONRPCMessage

from simtrain.mcp_wire.frames import encode_frame
from simtrain.mcp_wire.sdk_server import build_server
from simtrain.mcp_wire.sessions import ProtocolSessions
from simtrain.mcp_wire.validation import ARRIVAL, MAX_BODY, WholeBodies, flaw

RETRY = 500
"""Milliseconds after which a client should reopen a closed stream."""

KEPT_EVENTS = 4096
KEPT_BYTES = 64 * 1024 * 1024
"""Most events and bytes kept for resuming streams."""


class RecentEvents(EventStore):
    """The last events of all streams, for clients that resume one."""

    def __init__(self) -> None:
        self._events: OrderedDict[str, tuple[str, JSONRPCMessage | None]] = OrderedDict()
        self._sizes: deque[int] = deque()
        self._held = 0
        self._count = 0

    def __contains__(self, event: object) -> bool:
        return event in self._events

    async def store_event(self, stream_id: str, message: JSONRPCMessage | None) -> str:
        """Keep an event and return its id."""
        self._count += 1
        # The random part keeps a client from asking for the events of others.
        event = f"{self._count}-{token_hex(8)}"
        size = 0 if message is None else len(encode_frame(message.model_dump(by_alias=True, exclude_unset=True)))
        self._events[event] = (stream_id, message)
        self._sizes.append(size)
        self._held += size
        # The newest event is kept whatever its size: its client had no chance to receive it.
        while len(self._events) > KEPT_EVENTS or (self._held > KEPT_BYTES and len(self._events) > 1):
            self._events.popitem(last=False)
            self._held -= self._sizes.popleft()
        return event

    async def replay_events_after(self, last_event_id: str, send_callback: EventCallback) -> str | None:
        """Send the later events of the same stream. Return the stream, or None for an unknown event."""
        if last_event_id not in self._events:
            return None
        stream = self._events[last_event_id][0]
        later = list(self._events.items())
        begin = next(place for place, (event, _) in enumerate(later) if event == last_event_id) + 1
        for event, (name, message) in later[begin:]:
            if name == stream and message is not None:
                await send_callback(EventMessage(message, event))
        return stream


@asynccontextmanager
async def http_endpoint(
    *, json_replies: bool, max_body: int = MAX_BODY, max_sessions: int = 10_000, arrival: float = ARRIVAL
) -> AsyncGenerator[ProtocolSessions]:
    """Return an ASGI endpoint for requests whose scope holds a handler under `SCOPE_KEY`.

    With `json_replies` clients of the handshake era get plain JSON, at half the cost of an event stream; messages of a handler before
    its result (progress, log messages, questions) are then lost. The caller must check Host and Origin.
    """
    # There is nothing to resume if replies are plain JSON.
    events = None if json_replies else RecentEvents()
    manager = StreamableHTTPSessionManager(
        build_server(),
        event_store=events,
        retry_interval=None if json_replies else RETRY,
        json_response=json_replies,
        max_request_body_size=max_body,
        # `Sessions` keeps the count below `max_sessions`; the margin is for those being opened.
        max_sessions=2 * max_sessions,
    )
    whole = WholeBodies(manager.handle_request, max_body=max_body, check=flaw, arrival=arrival)
    sessions = ProtocolSessions(whole, most=max_sessions, kept=events or ())
    try:
        async with manager.run():
            try:
                yield sessions
            finally:
                sessions.forget()
    except BaseExceptionGroup as group:
        # The SDK's task group wraps what the block raises, but callers expect their own exceptions.
        raise group.exceptions[0] if len(group.exceptions) == 1 else group from None
