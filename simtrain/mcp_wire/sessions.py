"""Sessions of the handshake era: they end with their handler, and the least recently used one makes room for a new one."""

from collections import Counter, OrderedDict
from collections.abc import Container

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from simtrain.mcp_wire.handler import RequestHandler
from simtrain.mcp_wire.sdk_server import SCOPE_KEY
from simtrain.mcp_wire.validation import INVALID_REQUEST, error_frame

SESSION = "mcp-session-id"
LAST_EVENT = "last-event-id"


class ProtocolSessions:
    """An endpoint that knows its sessions. When `most` are open, the least recently used one ends before another begins.

    The SDK keeps a session, with everything its task can reach, until it is deleted or idle for half an hour, and refuses new ones
    beyond its limit. Clients that never delete their session would keep the worlds of closed episodes in memory, and lock others out.
    """

    def __init__(self, app: ASGIApp, *, most: int, kept: Container[str] = ()) -> None:
        """`kept` holds the ids of events after which a stream can be resumed."""
        self._app = app
        self._kept = kept
        self._most = most
        self._opened: OrderedDict[str, RequestHandler] = OrderedDict()
        self._busy: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._opened)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        session = Headers(scope=scope).get(SESSION)
        if session is None:
            await self._make_room()
            await self._app(scope, receive, self._noting(scope[SCOPE_KEY], send))
            return
        if session in self._opened:
            self._opened.move_to_end(session)
            if scope["method"] == "GET" and not self._can_resume(Headers(scope=scope).get(LAST_EVENT)):
                # The SDK would fail silently. On this error a client gives up the request that it waits for.
                await JSONResponse(error_frame(INVALID_REQUEST, "Unknown event ID"), 400)(scope, receive, send)
                return
        self._busy[session] += 1
        try:
            await self._app(scope, receive, send)
        finally:
            # This also removes counts of zero, so that `in` tells which sessions are busy.
            self._busy -= Counter([session])
            if scope["method"] == "DELETE":
                self._opened.pop(session, None)

    def _can_resume(self, event: str | None) -> bool:
        return not event or event in self._kept

    async def end(self, handler: RequestHandler) -> None:
        """End all sessions of a handler."""
        for session in [known for known, opener in self._opened.items() if opener is handler]:
            await self._end(session)

    def forget(self) -> None:
        """Forget all sessions, since the server below has ended them."""
        self._opened.clear()

    async def _make_room(self) -> None:
        if len(self._opened) >= self._most:
            # A busy session is never ended: its client waits for a reply.
            idle = next((session for session in self._opened if session not in self._busy), None)
            if idle is not None:
                await self._end(idle)

    async def _end(self, session: str) -> None:
        """Delete a session by the request that its client would send."""
        self._opened.pop(session, None)
        scope: Scope = {
            "type": "http",
            "method": "DELETE",
            "path": "/",
            "query_string": b"",
            "headers": [(SESSION.encode(), session.encode())],
        }
        await self._app(scope, _gone, _unheard)

    def _noting(self, handler: RequestHandler, send: Send) -> Send:
        """Return a `send` that notes the session that a reply opens."""

        async def noted(message: Message) -> None:
            if message["type"] == "http.response.start":
                session = Headers(raw=message["headers"]).get(SESSION)
                if session is not None:
                    self._opened[session] = handler
            await send(message)

        return noted


async def _gone() -> Message:
    return {"type": "http.disconnect"}


async def _unheard(message: Message) -> None:
    """Discard a reply."""
