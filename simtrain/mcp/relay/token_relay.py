"""A relay in front of a chat server that records token ids, so that any agent can be trained without changes."""

from dataclasses import dataclass, field
from functools import partial

import orjson
from aiohttp import ClientResponse, web

from simtrain.files.jsonl import LineWriter
from simtrain.llm.client import ChatClient
from simtrain.llm.retries import ModelError
from simtrain.llm.tokenizing import chat_prompt_ids, tokenized
from simtrain.mcp.relay.reverse_proxy import ReverseProxy, given, made
from simtrain.mcp.relay.token_record import TokenRecord, asks_for
from simtrain.mcp.relay.upstream import LENGTH, Gone, RelayLimits, end_to_end
from simtrain.mcp_wire.targets import HttpTarget
from simtrain.values.types import JsonObject, is_object

EPISODE_HEADER = "X-Simtrain-Episode"
EPISODE_KEY = "episode:"
"""The prefix of an API key that names an episode, for agents that can set nothing else. It is never passed on."""

_REFUSED = (400, 422)
_OWN = frozenset({EPISODE_HEADER.lower().encode()})
_NEVER = frozenset({EPISODE_HEADER.lower().encode(), b"authorization"})


@dataclass
class TokenTally:
    """The number of requests to a model, and of those with recorded token ids."""

    requests: int = 0
    recorded: int = 0


@dataclass
class _Caller:
    """The sender of a request: the episode, and the key for the server."""

    episode: str | None
    key: str | None
    headers: dict[str, str] = field(default_factory=dict[str, str])
    without: frozenset[bytes] = _OWN


class TokenRelay(ReverseProxy):
    """Passes everything on unchanged, but requests ids if the client did not; what that adds to replies is removed again.

    The episode is that of the header `X-Simtrain-Episode`, of an API key `episode:NAME`, or of the field `user`.
    `key` is what the server gets in place of such a key.
    """

    def __init__(
        self,
        target: HttpTarget,
        *,
        writer: LineWriter,
        key: str | None = None,
        port: int = 0,
        limits: RelayLimits | None = None,
    ) -> None:
        super().__init__(target, port=port, limits=limits)
        self.tally = TokenTally()
        self._writer = writer
        self._key = key
        self._unwilling: set[tuple[str, bool]] = set()

    def refuse(self, request: web.Request, status: int, message: str) -> web.Response:
        """Return an error in the form of chat servers."""
        error: JsonObject = {"error": {"message": f"simtrain capture-tokens: {message}", "type": "proxy_error"}}
        return made(status, orjson.dumps(error))

    async def exchange(self, request: web.Request, body: bytes) -> web.StreamResponse:
        """Pass a request on, and record its tokens if it is one to a model."""
        caller, asked = self._caller(request, body), asks_for(request.path)
        data = _object(body) if asked is not None and request.method == "POST" else None
        try:
            if data is None or asked is None:
                return await self._passed(request, body, caller, None)
            self.tally.requests += 1
            # A server may accept the fields for documents and refuse them for streams, so each is remembered apart.
            sort = (request.path, bool(data.get("stream")))
            wanted = {} if sort in self._unwilling else asked
            added = {name: value for name, value in wanted.items() if data.get(name) is None}
            record = TokenRecord(self.tally.requests, caller.episode, request.path, data, added)
            return await self._captured(request, body, caller, record)
        except Gone as error:
            if request.get(_BEGUN):
                raise
            return self.refuse(request, 502, f"the server cannot be reached: {error}")

    async def _captured(
        self, request: web.Request, body: bytes, caller: _Caller, record: TokenRecord
    ) -> web.StreamResponse:
        sent = orjson.dumps({**record.body, **record.added}) if record.added else body
        async with self.upstream.asked(request, sent, without=caller.without, headers=caller.headers) as response:
            if response.status not in _REFUSED or not record.added:
                return await self._replied(request, response, caller, record)
        # A server may refuse fields that it does not know: from now on its requests are passed on unchanged.
        self._unwilling.add((request.path, bool(record.body.get("stream"))))
        record.added = {}
        return await self._passed(request, body, caller, record)

    async def _passed(
        self, request: web.Request, body: bytes, caller: _Caller, record: TokenRecord | None
    ) -> web.StreamResponse:
        async with self.upstream.asked(request, body, without=caller.without, headers=caller.headers) as response:
            return await self._replied(request, response, caller, record)

    async def _replied(
        self, request: web.Request, response: ClientResponse, caller: _Caller, record: TokenRecord | None
    ) -> web.StreamResponse:
        fine = response.status == 200
        if record is None or not fine or response.content_type == "text/event-stream":
            return await self._stream(request, response, caller, record if fine else None)
        body = await _taken(await self.upstream.whole(response), record)
        await self._record(record, caller)
        headers = end_to_end(response, without=LENGTH)
        return given(web.Response(body=body, status=response.status, reason=response.reason, headers=headers))

    async def _stream(
        self, request: web.Request, response: ClientResponse, caller: _Caller, record: TokenRecord | None
    ) -> web.StreamResponse:
        headers = end_to_end(response, without=LENGTH if record else frozenset())
        shown = given(web.StreamResponse(status=response.status, reason=response.reason, headers=headers))
        request[_BEGUN] = True
        await shown.prepare(request)
        await self.upstream.forward(response, shown, None if record is None else partial(_taken, record=record))
        if record is not None:
            await self._record(record, caller)
        await shown.write_eof()
        return shown

    async def _record(self, record: TokenRecord, caller: _Caller) -> None:
        """Write the record. Raises InputError if it cannot be written."""
        if not record.complete:
            return
        if not record.prompt_ids:
            record.prompt_ids = await self._prompt_ids(record, caller)
        for line in record.lines():
            self._writer.write(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))
        self.tally.recorded += 1

    async def _prompt_ids(self, record: TokenRecord, caller: _Caller) -> tuple[int, ...]:
        """Return the ids of a prompt from a server that returns them only on a request of its own (llama.cpp); empty if there are none."""
        base = self.upstream.origin + record.path.partition("/v1/")[0] + "/v1"
        client = ChatClient(
            str(record.body.get("model")), base_url=base, api_key=caller.key or "none", timeout=60, attempts=1
        )
        prompt = record.body.get("prompt")
        try:
            if isinstance(prompt, list):
                return tuple(one for one in record.body["prompt"] if isinstance(one, int))
            if isinstance(prompt, str):
                return await tokenized(client, prompt)
            return await chat_prompt_ids(client, record.body["messages"], record.body.get("tools"))
        except (ModelError, LookupError, TypeError):
            return ()
        finally:
            await client.close()

    def _caller(self, request: web.Request, body: bytes) -> _Caller:
        kind, _, key = request.headers.get("Authorization", "").partition(" ")
        key = key.strip() if kind.lower() == "bearer" else ""
        named = request.headers.get(EPISODE_HEADER)
        if key.startswith(EPISODE_KEY):
            headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
            return _Caller(named or key.removeprefix(EPISODE_KEY), self._key, headers, _NEVER)
        user = (_object(body) or {}).get("user")
        return _Caller(named or (user if isinstance(user, str) else None), key or None)


_BEGUN = web.RequestKey("begun", bool)


async def _taken(body: bytes, record: TokenRecord) -> bytes:
    """Return a reply, or an event's data, for the client, after its tokens were recorded."""
    data = _object(body)
    return orjson.dumps(data) if data is not None and record.take(data) else body


def _object(body: bytes) -> JsonObject | None:
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    return value if is_object(value) else None
