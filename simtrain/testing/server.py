"""The fake OpenAI server: HTTP/1.1 on a loopback socket. It replies from a script and records the requests."""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import KW_ONLY, InitVar, dataclass, field
from http import HTTPStatus
from types import TracebackType
from typing import Self, TypeAlias

import orjson

from simtrain.runs.loop_thread import LoopThread
from simtrain.testing.replies import Disconnect, Garbage, Hang, Refuse, Reply, Say
from simtrain.values.types import JsonObject

Script: TypeAlias = Iterable[Reply] | Callable[[JsonObject], Reply]


@dataclass(frozen=True, slots=True)
class Received:
    """One received request; header names are in lower case, `body` is the JSON body of a POST."""

    method: str
    path: str
    headers: dict[str, str]
    body: JsonObject


@dataclass(eq=False)
class FakeOpenAI:
    """An OpenAI-compatible server. `with` runs it in its own thread, `async with` in the running event loop.

    `script` is a list of replies, used in order of the requests (400 once it is exhausted), or a function
    of the request body. `models` exist and are listed, `unlisted` exist only; any other is
    answered with 404. `lists_models=False` removes GET /models, as some servers do. With `api_key` any other key is
    refused. `latency` is in real seconds. `record=False` keeps no requests. `url` is set once the server runs.

    A request for a single token only counts the prompt, at four characters per token: it does not use the script, as long
    as `counts` is true. `context` is the length of the model's context: it is listed, and longer prompts are refused. With
    `sees_tools=False` tools do not count, as with a chat template that ignores them.
    """

    script: InitVar[Script] = ()
    _: KW_ONLY
    models: Sequence[str] = ("fake",)
    unlisted: Sequence[str] = ()
    lists_models: bool = True
    api_key: str | None = None
    latency: float = 0.0
    record: bool = True
    port: int = 0
    counts: bool = True
    context: int | None = None
    sees_tools: bool = True
    requests: list[Received] = field(init=False, default_factory=list[Received])
    connections: int = field(init=False, default=0)
    answered: int = field(init=False, default=0)
    _open: set[asyncio.Transport] = field(init=False, default_factory=set[asyncio.Transport])
    _server: asyncio.Server | None = field(init=False, default=None)
    _running: ExitStack = field(init=False, default_factory=ExitStack)

    def __post_init__(self, script: Script) -> None:
        self._choose = script if callable(script) else _in_turn(iter(script))

    @property
    def url(self) -> str:
        """The base URL for clients."""
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def chats(self) -> list[JsonObject]:
        """Return the bodies of the chat requests meant for the script, in order of arrival."""
        bodies = (request.body for request in self.requests if request.path.endswith("/chat/completions"))
        return [body for body in bodies if not self._only_counts(body)]

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        # A raw protocol and not a web framework: benchmarks of the client must not measure the server.
        self._server = await loop.create_server(lambda: _Connection(self), "127.0.0.1", self.port, backlog=4096)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        # Aborted, since clients keep idle connections open and wait_closed would wait for them.
        for transport in list(self._open):
            transport.abort()
        await self._server.wait_closed()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            loop = LoopThread("fake servers")
            stack.callback(loop.close)
            stack.enter_context(loop.within(self))
            self._running = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._running.close()

    def opened(self, transport: asyncio.Transport) -> None:
        """Note that a client connected."""
        self.connections += 1
        self._open.add(transport)

    def closed(self, transport: asyncio.Transport) -> None:
        """Note that a client disconnected."""
        self._open.discard(transport)

    def reply(self, method: str, path: str, headers: dict[str, str], content: bytes) -> Reply | JsonObject:
        """Return the reply to one request: one of the script, or a plain JSON body."""
        try:
            body: JsonObject = orjson.loads(content) if content else {}
        except orjson.JSONDecodeError:
            return Refuse(400, "the body is not JSON")
        if self.record:
            self.requests.append(Received(method, path, headers, body))
        if self.api_key is not None and headers.get("authorization") != f"Bearer {self.api_key}":
            return Refuse(401, "Incorrect API key provided", "invalid_api_key")
        if (method, path) == ("GET", "/v1/models") and self.lists_models:
            entry = {"object": "model"} if self.context is None else {"object": "model", "max_model_len": self.context}
            return {"object": "list", "data": [{"id": name, **entry} for name in self.models]}
        if (method, path) != ("POST", "/v1/chat/completions"):
            return Refuse(404, f"no such route: {method} {path}")
        if body.get("model") not in (*self.models, *self.unlisted):
            return Refuse(404, f"The model `{body.get('model')}` does not exist.", "model_not_found")
        if body.get("stream"):
            return Refuse(400, "this server does not stream")
        length = self._length(body)
        # At least one token must be left for the reply, as on real servers.
        if self.context is not None and length >= self.context:
            return Refuse(400, f"the prompt has {length} tokens, the context {self.context}", "context_length_exceeded")
        if self._only_counts(body):
            return Say("ok", finish_reason="length", prompt_tokens=length, completion_tokens=1)
        return self._choose(body)

    def _only_counts(self, body: JsonObject) -> bool:
        return self.counts and body.get("max_tokens") == 1

    def _length(self, body: JsonObject) -> int:
        """Return the approximate number of tokens of a prompt."""
        shown = [body.get("messages"), body.get("tools") if self.sees_tools else None]
        return len(orjson.dumps(shown)) // 4


def _in_turn(replies: Iterator[Reply]) -> Callable[[JsonObject], Reply]:
    return lambda body: next(replies, Refuse(400, "the script of the fake server has no more replies"))


class _Connection(asyncio.Protocol):
    """One client. Requests are answered in order: the next is read after the last was answered."""

    def __init__(self, server: FakeOpenAI) -> None:
        self.server = server
        self.buffer = bytearray()
        self.waiting = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.server.opened(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self.server.closed(self.transport)

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        self.proceed()

    def proceed(self) -> None:
        while not self.waiting:
            end = self.buffer.find(b"\r\n\r\n")
            if end < 0:
                return
            # HTTP/1.1 allows any byte in a header value (RFC 9110, 5.5); latin-1 never fails.
            start, _, rest = bytes(self.buffer[:end]).decode("latin-1").partition("\r\n")
            lines = (line.partition(":") for line in rest.split("\r\n"))
            headers = {name.lower(): value.strip() for name, _, value in lines}
            stop = end + 4 + int(headers.get("content-length", "0"))
            # The rest of the body is still to come.
            if len(self.buffer) < stop:
                return
            content = bytes(self.buffer[end + 4 : stop])
            del self.buffer[:stop]
            method, path, _ = start.split(" ", 2)
            self.answer(self.server.reply(method, path.partition("?")[0], headers, content))

    def answer(self, reply: Reply | JsonObject) -> None:
        # `waiting` stays set: nothing more is read from this client.
        if isinstance(reply, Hang):
            self.waiting = True
        elif self.server.latency > 0:
            self.waiting = True
            asyncio.get_running_loop().call_later(self.server.latency, self.resume, reply)
        else:
            self.write(reply)

    def resume(self, reply: Reply | JsonObject) -> None:
        self.waiting = False
        self.write(reply)
        self.proceed()

    def write(self, reply: Reply | JsonObject) -> None:
        self.server.answered += 1
        match reply:
            case Say():
                self.send(orjson.dumps(reply.body(model=self.server.models[0], number=self.server.answered)))
            case Refuse():
                self.send(orjson.dumps(reply.body()), status=reply.status, headers=reply.headers())
            case Garbage():
                self.send(reply.body)
            case Disconnect():
                if reply.mid_body:
                    self.send(b'{"choices": [{"message": {"role": "assis', promised=4000)
                self.transport.close()
            case Hang():
                self.waiting = True
            case _:
                self.send(orjson.dumps(reply))

    def send(self, body: bytes, *, status: int = 200, headers: str = "", promised: int | None = None) -> None:
        length = len(body) if promised is None else promised
        head = (
            f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n{headers}"
            f"Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
        )
        self.transport.write(head.encode("latin-1") + body)
