"""A connection over streamable HTTP: a POST for each frame, replies as JSON or as event streams."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Coroutine, Mapping
from contextlib import asynccontextmanager
from urllib.parse import urljoin, urlsplit

from httpx2 import AsyncClient, EventSource, HTTPError, InvalidURL, Limits, Response, ServerSentEvent, SSEError, Timeout

from simtrain.mcp_wire.connection import SHOWN, Broken, ConnectionLimits, ReceivedFrame, RequestId, Strays
from simtrain.mcp_wire.eras import VERSION_KEY
from simtrain.mcp_wire.faults import ConnectionLost, HttpRefused, TimedOut
from simtrain.mcp_wire.frames import cancelled, decode_frames, encode_frame
from simtrain.mcp_wire.headers import request_headers
from simtrain.mcp_wire.targets import HttpTarget
from simtrain.values.errors import SimulatorFault
from simtrain.values.types import JsonObject, as_object

REDIRECTS = 3
RESUMPTIONS = 100
LONGEST_RETRY = 30.0

_UNREACHABLE = (OSError, HTTPError, InvalidURL)
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


class HttpConnection:
    """One client of an endpoint: its session id and version, if the server gives one, and its open streams."""

    def __init__(self, target: HttpTarget, http: AsyncClient, limits: ConnectionLimits) -> None:
        self._target = target
        self._url = target.url
        self._http = http
        self._limits = limits
        self._arrived: asyncio.Queue[ReceivedFrame | Broken] = asyncio.Queue()
        self._streams: dict[RequestId, asyncio.Task[None]] = {}
        self._background: set[asyncio.Task[None]] = set()
        self._resumed: set[RequestId] = set()
        self._session_id: str | None = None
        self._version: str | None = None
        self.strays = Strays()

    async def send(self, frame: JsonObject, *, headers: Mapping[str, str] | None = None) -> None:
        """POST one frame. The reply to a request comes through `receive`; other frames are awaited until they are accepted."""
        fields = self._headers(frame) | dict(headers or {})
        if "id" in frame and "method" in frame:
            request = frame["id"]
            stream = self._start(self._request(request, frame, fields))
            self._streams[request] = stream
            # Requests run in the background: their streams stay open for as long as the answer takes.
            stream.add_done_callback(lambda _: self._streams.pop(request, None))
            return
        try:
            async with asyncio.timeout(self._limits.send), self._post(frame, fields) as response:
                if response.status_code >= 400:
                    raise await self._refused(response)
        except TimeoutError:
            raise TimedOut(f"{self._target} did not accept a frame within {self._limits.send:g} s") from None
        except _UNREACHABLE as error:
            raise self._lost(error) from None
        # The server's own stream may be opened only after the handshake.
        if frame.get("method") == "notifications/initialized":
            self._start(self._listen())

    async def receive(self) -> ReceivedFrame | Broken:
        """Return the next frame from any of the streams."""
        return await self._arrived.get()

    async def cancel(self, request: RequestId) -> None:
        """Close the request's stream, which cancels it in the modern era; in the handshake era also send a notification."""
        stream = self._streams.get(request)
        if stream is not None:
            # In the modern era there is no cancel notification: closing the stream is the cancellation.
            stream.cancel()
        if self._version is not None:
            await self.send(cancelled(request))

    def last_words(self) -> str:
        """Return the first thing that was not JSON-RPC."""
        return f"it sent {self.strays.first[0]!r}" if self.strays.first else ""

    async def close(self) -> None:
        """Drop all streams and end the session."""
        tasks = list(self._background)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._session_id is not None:
            with contextlib.suppress(TimeoutError, *_UNREACHABLE):
                async with asyncio.timeout(self._limits.close):
                    # The status is ignored: servers may refuse to end a session.
                    await self._http.delete(self._url, headers=self._session_headers())
        await self._http.aclose()

    def _start(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)
        return task

    def _headers(self, frame: JsonObject) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        meta = as_object(as_object(frame.get("params")).get("_meta"))
        if "id" in frame and "method" in frame and isinstance(meta.get(VERSION_KEY), str):
            return headers | request_headers(frame, meta[VERSION_KEY])
        return headers | self._session_headers()

    def _session_headers(self) -> dict[str, str]:
        headers: dict[str, str] = {}
        if self._session_id is not None:
            headers["Mcp-Session-Id"] = self._session_id
        if self._version is not None:
            headers["MCP-Protocol-Version"] = self._version
        return headers

    @asynccontextmanager
    async def _post(self, frame: JsonObject, headers: dict[str, str]) -> AsyncGenerator[Response]:
        """POST, following redirects within the same origin only, since headers may hold keys."""
        body = encode_frame(frame)
        for _ in range(REDIRECTS + 1):
            async with self._http.stream("POST", self._url, content=body, headers=headers) as response:
                # Only these two redirects keep method and body; others would turn the POST into a GET.
                if response.status_code not in (307, 308):
                    yield response
                    return
                goal = urljoin(self._url, response.headers.get("Location", ""))
                if urlsplit(goal)[:2] != urlsplit(self._url)[:2]:
                    raise HttpRefused(
                        response.status_code, f"{self._target} sends us on to {goal[:SHOWN]}; name that URL instead"
                    )
                self._url = goal
        raise HttpRefused(308, f"{self._target} sends us in circles")

    async def _request(self, request: RequestId, frame: JsonObject, headers: dict[str, str]) -> None:
        try:
            async with self._post(frame, headers) as response:
                if frame["method"] == "initialize":
                    self._session_id = response.headers.get("Mcp-Session-Id")
                await self._read_answer(request, response)
        except SimulatorFault as fault:
            self._break(request, fault)
        # Raised for an event above `max_event_size`; the content type was checked before.
        except SSEError:
            self._break(request, self._too_large())
        except _UNREACHABLE as error:
            self._break(request, self._lost(error))
        except ValueError as error:
            self._break(request, ConnectionLost(f"{self._target}: {error}"))

    async def _read_answer(self, request: RequestId, response: Response) -> None:
        if _is_stream(response) and response.status_code < 400:
            await self._read_until_answered(request, response)
            return
        body = await self._body(response)
        frames = decode_frames(body)
        if frames is None:
            raise await self._refused(response, body)
        for frame in frames:
            self._hand_over(frame, request)

    async def _read_until_answered(self, request: RequestId, response: Response) -> None:
        """Read a stream until the answer. If it ends early and the server gave event ids, resume it by GET."""
        last, wait, answered = await self._read_events(response, request)
        for _ in range(RESUMPTIONS):
            if answered or last is None:
                break
            # Recorded: a stand-in must break the stream at the same place to be faithful.
            self._resumed.add(request)
            await asyncio.sleep(wait)
            headers = self._session_headers() | {"Accept": "text/event-stream", "Last-Event-ID": last}
            async with self._http.stream("GET", self._url, headers=headers) as resumed:
                if resumed.status_code != 200 or not _is_stream(resumed):
                    raise await self._refused(resumed)
                latest, wait, answered = await self._read_events(resumed, request)
                last = latest or last
        if not answered:
            raise ConnectionLost(f"{self._target} closed the stream of a request without an answer")

    async def _read_events(self, response: Response, request: RequestId | None) -> tuple[str | None, float, bool]:
        """Deliver a stream's frames until it ends or answers `request`. Return the last event id, seconds to wait, and if it answered."""
        # Event streams are always UTF-8 by the standard, whatever the header says.
        response.encoding = "utf-8"
        last: str | None = None
        wait = 1.0
        async for event in EventSource(response, max_event_size=self._limits.frame):
            last = event.id or last
            if event.retry is not None and event.retry >= 0:
                wait = min(event.retry / 1000, LONGEST_RETRY)
            if self._read_event(event, request):
                return last, wait, True
        return last, wait, False

    def _read_event(self, event: ServerSentEvent, request: RequestId | None) -> bool:
        """Deliver one event's frames. Return True if the answer to `request` is among them."""
        if not event.data.strip():
            return False
        frames = decode_frames(event.data.encode(errors="surrogatepass"))
        if frames is None:
            # Kept for the error message: servers that print logs into the stream are a common mistake.
            self.strays.add(event.data)
            return False
        for frame in frames:
            self._hand_over(frame, request)
        return any("method" not in frame and frame.get("id") == request for frame in frames)

    def _hand_over(self, frame: JsonObject, request: RequestId | None) -> None:
        if self._version is None:
            # Only the result of `initialize` has a version.
            version = as_object(frame.get("result")).get("protocolVersion")
            self._version = version if isinstance(version, str) and version.isprintable() else None
        self._arrived.put_nowait(ReceivedFrame(frame, request, request in self._resumed))

    async def _listen(self) -> None:
        """Read the server's own stream (GET), which servers need not offer."""
        with contextlib.suppress(ValueError, *_UNREACHABLE):
            headers = self._session_headers() | {"Accept": "text/event-stream"}
            wait, last = 1.0, None
            for _ in range(RESUMPTIONS):
                # Continue after the last event seen; without ids there is nothing to continue from.
                resume = {"Last-Event-ID": last} if last is not None else {}
                async with self._http.stream("GET", self._url, headers=headers | resume) as response:
                    # 405 is the usual answer of servers without such a stream, and not an error.
                    if response.status_code != 200 or not _is_stream(response):
                        return
                    latest, wait, _ = await self._read_events(response, None)
                    last = latest or last
                await asyncio.sleep(wait)

    async def _body(self, response: Response) -> bytes:
        body = bytearray()
        async for chunk in response.aiter_bytes():
            body += chunk
            # Checked while reading: Content-Length may be absent or wrong, above all with compression.
            if len(body) > self._limits.frame:
                raise self._too_large()
        return bytes(body)

    async def _refused(self, response: Response, body: bytes | None = None) -> HttpRefused:
        text = " ".join((await self._body(response) if body is None else body).decode(errors="replace").split())
        status = f"{response.status_code} {response.reason_phrase}".strip()
        return HttpRefused(
            response.status_code, f"{self._target} answered {status}" + (f": {text[:SHOWN]}" if text else "")
        )

    def _break(self, request: RequestId, fault: SimulatorFault) -> None:
        self._arrived.put_nowait(Broken(request, fault))

    def _too_large(self) -> ConnectionLost:
        return ConnectionLost(f"{self._target} sent more than {self._limits.frame // (1024 * 1024)} MiB")

    def _lost(self, error: Exception) -> ConnectionLost:
        return ConnectionLost(f"{self._target} cannot be reached: {str(error) or type(error).__name__}")


def open_http(target: HttpTarget, limits: ConnectionLimits) -> HttpConnection:
    """Return a connection to an endpoint. Nothing is sent yet."""
    host = (urlsplit(target.url).hostname or "").lower()
    http = AsyncClient(
        headers=target.headers,
        # No read timeout here: each request has its own deadline, and streams may be silent for long.
        timeout=Timeout(None, connect=limits.connect),
        # httpx would allow 100 connections, and open streams would make further requests wait.
        limits=Limits(max_connections=None, max_keepalive_connections=None),
        # A proxy from the environment must not be asked for a server on this machine.
        trust_env=host not in _LOOPBACK,
    )
    return HttpConnection(target, http, limits)


def _is_stream(response: Response) -> bool:
    return response.headers.get("content-type", "").partition(";")[0].strip().lower() == "text/event-stream"
