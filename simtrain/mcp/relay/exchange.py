"""One HTTP request on its way through the relay, and its reply on the way back."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from itertools import count

import h11

from simtrain.mcp.relay.call import RelayOutcome
from simtrain.mcp.relay.connections import Gone, Headers, RelayConnection, RelayLimits, TooLarge, end_to_end
from simtrain.mcp.relay.journal import RelayJournal, Wrapping, era_of
from simtrain.mcp.relay.perturb import Perturber
from simtrain.mcp.relay.stream_parts import Events, Piece, event_data, with_data
from simtrain.mcp.relay.upstream import Upstream
from simtrain.mcp_wire.frames import decode_frames, encode_frame
from simtrain.values.types import JsonObject

_LENGTH = frozenset({b"content-length"})
# We read the replies, so that they must not be compressed; the rest is set anew.
_OURS = frozenset({b"host", b"origin", b"accept-encoding", b"content-length", b"expect"})

_IDS = count(1)


@dataclass(eq=False)
class HttpExchange:
    """One request of a client."""

    client: RelayConnection
    request: h11.Request
    upstream: Upstream
    perturber: Perturber
    journal: RelayJournal
    limits: RelayLimits

    def __post_init__(self) -> None:
        self._number = self.journal.next_http()
        self._session = self.journal.session(_header(self.request, b"mcp-session-id"))
        self._era: str | None = None
        self._answered = False

    @property
    def _wrapping(self) -> Wrapping:
        return Wrapping(session=self._session, http=self._number, era=self._era)

    @property
    def _scope(self) -> str:
        return self._session or f"http {self._number}"

    async def run(self, body: bytes) -> None:
        """Pass the request on, and the reply back. Raises Gone where either side breaks off in the middle."""
        try:
            sent = await self._departed(body)
            if sent is None:
                return
            try:
                async with self.upstream.connection() as server:
                    response = await self._ask(server, sent)
                    await self._reply(server, response)
            except Gone as error:
                if self._answered:
                    raise
                await self.refuse(502, f"the server cannot be reached: {error}")
        finally:
            if self._session is None:
                self.perturber.ended(self._scope)

    async def refuse(self, status: int, message: str) -> None:
        """Answer in the server's stead, with a JSON-RPC error that says so."""
        error: JsonObject = {"code": -32000, "message": f"simtrain relay: {message}"}
        self.journal.frame(
            "server",
            None,
            Wrapping(self._session, self._number, status),
            perturbed={"by": [], "frame": {"error": error}},
        )
        await self._send(status, encode_frame({"jsonrpc": "2.0", "id": None, "error": error}))

    async def _departed(self, body: bytes) -> bytes | None:
        """Return the body for the server, None for a call that was answered without it."""
        seconds = self.journal.now()
        frames = decode_frames(body) if body else None
        if frames is None:
            self.journal.stray("client", body, self._wrapping)
            return body
        self._era = era_of(frames[0])
        relayed = None
        if len(frames) == 1:
            relayed = self.perturber.client_sends(frames[0], self._scope, self._repeat, session=self._session)
        if relayed is None:
            for frame in frames:
                self.journal.frame("client", frame, self._wrapping, seconds=seconds)
            return body
        frame = await relayed.departure()
        perturbed: JsonObject | None = None if frame is relayed.request else {"by": relayed.by, "frame": frame}
        self.journal.frame("client", relayed.request, self._wrapping, seconds=seconds, perturbed=perturbed)
        if frame is None:
            outcome = await relayed.outcome
            self.journal.frame("server", None, self._wrapping, perturbed={**outcome.notes, "frame": outcome.frame})
            await self._send(200, encode_frame(outcome.frame or {}))
            return None
        return body if frame is relayed.request else encode_frame(frame)

    async def _ask(self, server: RelayConnection, body: bytes) -> h11.Response:
        """Send the request and wait for the head of the reply."""
        headers = end_to_end(self.request, without=_OURS)
        headers += [(b"Host", self.upstream.authority.encode()), (b"Accept-Encoding", b"identity")]
        if _header(self.request, b"origin") is not None:
            headers.append((b"Origin", self.upstream.origin.encode()))
        if body or self.request.method in (b"POST", b"PUT", b"PATCH"):
            headers.append((b"Content-Length", str(len(body)).encode()))
        head = h11.Request(method=self.request.method, target=self.request.target, headers=headers)
        await server.send(head, *((h11.Data(data=body),) if body else ()), h11.EndOfMessage())
        try:
            async with asyncio.timeout(self.limits.reply):
                while not isinstance(event := await server.receive(), h11.Response):
                    pass
        except TimeoutError:
            raise Gone(f"no reply within {self.limits.reply:g} s") from None
        return event

    async def _reply(self, server: RelayConnection, response: h11.Response) -> None:
        given = _header(response, b"mcp-session-id")
        self._session = self._session or self.journal.session(given)
        length = _header(response, b"content-length")
        if _kind(response) == "text/event-stream":
            await self._stream(server, response, Events(limit=self.limits.body))
        elif _kind(response) == "application/json" or (length or "").isdecimal():
            await self._document(server, response)
        else:
            await self._stream(server, response, None)

    async def _document(self, server: RelayConnection, response: h11.Response) -> None:
        try:
            async with asyncio.timeout(self.limits.reply):
                body = await server.body()
        except TimeoutError:
            raise Gone(f"no whole reply within {self.limits.reply:g} s") from None
        except TooLarge:
            raise Gone("the reply is too large") from None
        changed = await self._passed(body, response.status_code)
        dropped = _LENGTH if changed is not body else frozenset[bytes]()
        headers = end_to_end(response, without=dropped)
        if changed is not body:
            headers.append((b"Content-Length", str(len(changed)).encode()))
        await self._head(response, headers, h11.Data(data=changed), h11.EndOfMessage())

    async def _stream(self, server: RelayConnection, response: h11.Response, events: Events | None) -> None:
        """Forward chunks as they arrive; events one by one, since each may have to be changed."""
        rewrites = events is not None
        await self._head(response, end_to_end(response, without=_LENGTH if rewrites else frozenset()))
        if response.status_code >= 400:
            self.journal.stray(
                "server", response.reason or b"error", Wrapping(self._session, self._number, response.status_code)
            )
        while isinstance(event := await server.receive(), h11.Data):
            if events is None:
                await self.client.send(event)
                continue
            for piece in events.feed(bytes(event.data)):
                await self.client.send(h11.Data(data=await self._event(piece, response.status_code)))
        if events is not None:
            for piece in events.rest():
                await self.client.send(h11.Data(data=piece.data))
        await self.client.send(h11.EndOfMessage())

    async def _event(self, piece: Piece, status: int) -> bytes:
        data = event_data(piece.data) if piece.whole else b""
        if not data:
            return piece.data
        changed = await self._passed(data, status)
        return piece.data if changed is data else with_data(piece.data, changed)

    async def _passed(self, body: bytes, status: int) -> bytes:
        """Return what the client gets of a body or of an event's data: the same bytes unless a perturbation changed them."""
        seconds = self.journal.now()
        frames = decode_frames(body)
        wrapping = Wrapping(self._session, self._number, status, self._era)
        if frames is None:
            self.journal.stray("server", body, wrapping)
            return body
        scopes = (self._scope, f"http {self._number}")
        matched = self.perturber.server_sends(frames[0], scopes) if len(frames) == 1 else None
        if matched is None:
            for frame in frames:
                self.journal.frame("server", frame, wrapping, seconds=seconds)
            return body
        outcome = matched if isinstance(matched, RelayOutcome) else await matched.outcome
        perturbed = (outcome.notes or None) if outcome.frame is None else {**outcome.notes, "frame": outcome.frame}
        self.journal.frame("server", frames[0], wrapping, seconds=seconds, perturbed=perturbed)
        return body if outcome.frame is None else encode_frame(outcome.frame)

    async def _repeat(self, frame: JsonObject) -> JsonObject:
        """Send a call once more, on a connection of its own and under an id that no client has."""
        identity = f"simtrain-relay-{next(_IDS)}"
        sent = {**frame, "id": identity}
        wrapping = Wrapping(self._session, self.journal.next_http(), era=self._era)
        self.journal.frame("client", None, wrapping, perturbed={"by": [], "frame": sent})
        async with self.upstream.connection() as server:
            response = await self._ask(server, encode_frame(sent))
            reply = await self._answer_to(identity, server, response)
        self.journal.frame("server", reply, wrapping, perturbed={"by": [], "frame": None})
        return reply

    async def _answer_to(self, identity: str, server: RelayConnection, response: h11.Response) -> JsonObject:
        """Return the response frame with this id, out of a document or of events."""
        streams = _kind(response) == "text/event-stream"
        events, parts = Events(limit=self.limits.body), list[bytes]()
        while isinstance(event := await server.receive(), h11.Data):
            pieces = [event_data(piece.data) for piece in events.feed(bytes(event.data))] if streams else []
            parts += [] if streams else [bytes(event.data)]
            for frame in (frame for data in pieces for frame in decode_frames(data) or ()):
                if frame.get("id") == identity:
                    return frame
        for frame in decode_frames(b"".join(parts)) or ():
            if frame.get("id") == identity:
                return frame
        raise Gone("the server did not answer the second call")

    async def _head(self, response: h11.Response, headers: Headers, *rest: h11.Event) -> None:
        headers = [(name, self._home(value) if name.lower() == b"location" else value) for name, value in headers]
        self._answered = True
        head = h11.Response(status_code=response.status_code, reason=response.reason, headers=headers)
        await self.client.send(head, *rest)

    def _home(self, location: bytes) -> bytes:
        """Return a redirection within the server, as one within the relay."""
        origin = self.upstream.origin.encode()
        return location.removeprefix(origin) if location.startswith(origin + b"/") else location

    async def _send(self, status: int, body: bytes) -> None:
        self._answered = True
        headers = [("Content-Type", "application/json"), ("Content-Length", str(len(body)))]
        await self.client.send(
            h11.Response(status_code=status, headers=headers), h11.Data(data=body), h11.EndOfMessage()
        )


def _header(message: h11.Request | h11.Response, name: bytes) -> str | None:
    return next((value.decode("latin-1") for key, value in message.headers if key == name), None)


def _kind(response: h11.Response) -> str:
    return (_header(response, b"content-type") or "").partition(";")[0].strip().lower()
