"""One HTTP request on its way through the relay, and its reply on the way back."""

from dataclasses import dataclass
from functools import partial
from itertools import count

from aiohttp import ClientResponse, web
from multidict import CIMultiDict

from simtrain.mcp.relay.call import RelayOutcome
from simtrain.mcp.relay.journal import RelayJournal, Wrapping, era_of
from simtrain.mcp.relay.perturb import Perturber
from simtrain.mcp.relay.reverse_proxy import given, made
from simtrain.mcp.relay.upstream import LENGTH, Change, Gone, RelayLimits, Upstream, end_to_end
from simtrain.mcp_wire.frames import decode_frames, encode_frame
from simtrain.mcp_wire.stream_parts import Events, event_data
from simtrain.values.types import JsonObject

SESSION = "Mcp-Session-Id"

_IDS = count(1)


@dataclass(eq=False)
class HttpExchange:
    """One request of a client."""

    request: web.Request
    upstream: Upstream
    perturber: Perturber
    journal: RelayJournal
    limits: RelayLimits

    def __post_init__(self) -> None:
        self._number = self.journal.next_http()
        self._session = self.journal.session(self.request.headers.get(SESSION))
        self._era: str | None = None
        self._answered = False

    @property
    def _wrapping(self) -> Wrapping:
        return Wrapping(session=self._session, http=self._number, era=self._era)

    @property
    def _scope(self) -> str:
        return self._session or f"http {self._number}"

    async def run(self, body: bytes) -> web.StreamResponse:
        """Pass the request on; return the reply, which has been sent if it is a stream. Raises Gone where either side breaks off."""
        try:
            sent = await self._departed(body)
            if isinstance(sent, web.Response):
                return sent
            try:
                async with self.upstream.asked(self.request, sent) as response:
                    return await self._reply(response)
            except Gone as error:
                # The head of the reply is on its way already, so no error can be sent in its place.
                if self._answered:
                    raise
                return self.refuse(502, f"the server cannot be reached: {error}")
        finally:
            if self._session is None:
                self.perturber.ended(self._scope)

    def refuse(self, status: int, message: str) -> web.Response:
        """Return a JSON-RPC error of the relay itself, in place of the server's reply."""
        error: JsonObject = {"code": -32000, "message": f"simtrain relay: {message}"}
        self.journal.frame(
            "server",
            None,
            Wrapping(self._session, self._number, status),
            perturbed={"by": [], "frame": {"error": error}},
        )
        return made(status, encode_frame({"jsonrpc": "2.0", "id": None, "error": error}))

    async def _departed(self, body: bytes) -> bytes | web.Response:
        """Return the body for the server, or the reply to a call that does not reach it."""
        seconds = self.journal.now()
        frames = decode_frames(body) if body else None
        if frames is None:
            self.journal.stray("client", body, self._wrapping)
            return body
        self._era = era_of(frames[0])
        relayed = None
        # Batches (up to revision 2025-03-26) pass as they are: a reply to one of them could not be matched with its part.
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
            return made(200, encode_frame(outcome.frame or {}))
        return body if frame is relayed.request else encode_frame(frame)

    async def _reply(self, response: ClientResponse) -> web.StreamResponse:
        self._session = self._session or self.journal.session(response.headers.get(SESSION))
        change = partial(self._passed, status=response.status)
        if response.content_type == "text/event-stream":
            return await self._stream(response, change)
        # Anything of unknown length is passed on as it comes, since it may never end.
        if response.content_type == "application/json" or response.headers.get("Content-Length", "").isdecimal():
            return await self._document(response, change)
        return await self._stream(response, None)

    async def _document(self, response: ClientResponse, change: Change) -> web.Response:
        body = await self.upstream.whole(response)
        changed = await change(body)
        headers = self._headers(response, changed=changed is not body)
        shown = web.Response(body=changed, status=response.status, reason=response.reason, headers=headers)
        return given(shown)

    async def _stream(self, response: ClientResponse, change: Change | None) -> web.StreamResponse:
        headers = self._headers(response, changed=change is not None)
        shown = given(web.StreamResponse(status=response.status, reason=response.reason, headers=headers))
        self._answered = True
        await shown.prepare(self.request)
        if response.status >= 400:
            wrapping = Wrapping(self._session, self._number, response.status)
            self.journal.stray("server", (response.reason or "error").encode(), wrapping)
        await self.upstream.forward(response, shown, change)
        await shown.write_eof()
        return shown

    async def _passed(self, body: bytes, status: int) -> bytes:
        """Return a body, or an event's data, as the client gets it: the same bytes unless a perturbation changed them."""
        seconds = self.journal.now()
        frames = decode_frames(body)
        wrapping = Wrapping(self._session, self._number, status, self._era)
        if frames is None:
            self.journal.stray("server", body, wrapping)
            return body
        # The session begins with this very reply, so its request was filed under the number of the request.
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
        """Send a call once more, on its own connection and under an id that no client uses."""
        identity = f"simtrain-relay-{next(_IDS)}"
        sent = {**frame, "id": identity}
        wrapping = Wrapping(self._session, self.journal.next_http(), era=self._era)
        self.journal.frame("client", None, wrapping, perturbed={"by": [], "frame": sent})
        async with self.upstream.asked(self.request, encode_frame(sent)) as response:
            reply = await self._answer_to(identity, response)
        self.journal.frame("server", reply, wrapping, perturbed={"by": [], "frame": None})
        return reply

    async def _answer_to(self, identity: str, response: ClientResponse) -> JsonObject:
        """Return the response frame with this id, from a document or from events."""
        streams = response.content_type == "text/event-stream"
        events, parts = Events(limit=self.limits.body), list[bytes]()
        async for chunk in self.upstream.pieces(response):
            pieces = [event_data(piece.data) for piece in events.feed(chunk)] if streams else []
            parts += [] if streams else [chunk]
            for frame in (frame for data in pieces for frame in decode_frames(data) or ()):
                if frame.get("id") == identity:
                    return frame
        for frame in decode_frames(b"".join(parts)) or ():
            if frame.get("id") == identity:
                return frame
        raise Gone("the server did not answer the second call")

    def _headers(self, response: ClientResponse, *, changed: bool) -> CIMultiDict[str]:
        """Return the headers of a reply; a redirection within the server becomes one within the relay."""
        headers = end_to_end(response, without=LENGTH if changed else frozenset())
        location, origin = headers.get("Location", ""), self.upstream.origin
        if location.startswith(f"{origin}/"):
            headers["Location"] = location.removeprefix(origin)
        return headers
