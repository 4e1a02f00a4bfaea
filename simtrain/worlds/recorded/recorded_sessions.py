"""Recorded sessions: one server's exchanges in order, paired from the frames of a recording or read from a manifest."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import TypeAlias

from simtrain.contracts.request import Caller
from simtrain.mcp_wire.manifest import Exchange, ServerManifest, read_manifest
from simtrain.values.types import JsonObject, JsonValue, as_object, canonical, is_list, is_object
from simtrain.worlds.recorded.recording import Frame, RecordedRun, Sender, read_runs

HANDSHAKE = "2025-11-25"
MODERN = "2026-07-28"

CHANGES = frozenset(
    {
        "notifications/tools/list_changed",
        "notifications/prompts/list_changed",
        "notifications/resources/list_changed",
        "notifications/resources/updated",
    }
)
"""Notifications about a change, which belong to no request."""

ENVELOPE = "io.modelcontextprotocol/"

_JSONRPC: JsonObject = {"jsonrpc": "2.0"}

Key: TypeAlias = tuple[object, str, object]


@dataclass(frozen=True)
class RecordedSession:
    """The exchanges of one server since its start, with any number of clients, and its raw tool descriptors by name."""

    server: str
    exchanges: tuple[Exchange, ...]
    tools: Mapping[str, JsonObject]


def by_caller(session: RecordedSession) -> dict[Caller, RecordedSession]:
    """Return a session split by the clients that it was recorded with."""
    found: dict[Caller, list[Exchange]] = {}
    for exchange in session.exchanges:
        found.setdefault(Caller(exchange.era, frozenset(exchange.capabilities)), []).append(exchange)
    return {client: replace(session, exchanges=tuple(exchanges)) for client, exchanges in found.items()}


def captured_session(server: ServerManifest) -> RecordedSession:
    """Return the exchanges captured from a server as one session.

    A client of the modern era gets changes on a separate stream, which is not captured: a request that announced one in the other
    era is given the same notifications here.
    """
    announced = {
        _same(exchange): changes
        for exchange in server.exchanges
        if (changes := tuple(body for body in exchange.notifications if body.get("method") in CHANGES))
    }
    exchanges = tuple(
        exchange
        if any(body.get("method") in CHANGES for body in exchange.notifications)
        else replace(exchange, notifications=(*exchange.notifications, *announced.get(_same(exchange), ())))
        for exchange in server.exchanges
    )
    return RecordedSession(server.name, exchanges, _by_name(server.tools))


def _same(exchange: Exchange) -> bytes:
    return canonical([exchange.method, own_params(exchange.params)])


def read_sessions(path: Path) -> tuple[RecordedSession, ...]:
    """Return the sessions in a manifest (.json: one per server and client) or a recording (one per run). Raises InputError."""
    if path.suffix == ".json":
        captured = map(captured_session, read_manifest(path).servers.values())
        # Each client captures a server of its own that has just started, so their exchanges are not one history.
        return tuple(part for session in captured for part in (by_caller(session).values() or (session,)))
    found: list[RecordedSession] = []
    for run in read_runs(path):
        exchanges = tuple(exchanges_of(run))
        found.append(RecordedSession(run.server, exchanges, _listed(exchanges)))
    return tuple(found)


def read_exchanges(path: Path) -> tuple[Exchange, ...]:
    """Return all exchanges in a manifest or a recording, in order. Raises InputError."""
    return tuple(exchange for session in read_sessions(path) for exchange in session.exchanges)


def exchanges_of(run: RecordedRun) -> list[Exchange]:
    """Return the exchanges of a run, in the order of their requests.

    They hold what really reached the server and what it really answered: a request that a perturbation held back is left out, one that
    it changed is taken as changed, and replies are taken as the server sent them. Requests without a reply are left out.
    """
    pairing = _Pairing()
    for frame in run.frames:
        pairing.take(frame)
    return [opened.exchange() for opened in pairing.opened if opened.response is not None]


def frames_of(exchanges: Iterable[Exchange]) -> Iterator[Frame]:
    """Yield exchanges as the frames of a run, one after another. `exchanges_of` is the inverse, except for resumed streams."""
    numbers, moment = count(1), 0.0
    for exchange in exchanges:
        *before, (sender, reply) = _messages(exchange, numbers)
        for other, frame in before:
            yield Frame(0, moment, other, frame, era=exchange.era)
        moment += exchange.seconds or 0.0
        yield Frame(0, moment, sender, reply, era=exchange.era)


def _messages(exchange: Exchange, numbers: Iterator[int]) -> Iterator[tuple[Sender, JsonObject]]:
    meta = dict(as_object(exchange.params.get("_meta")))
    for notification in exchange.notifications:
        if "progressToken" in as_object(notification.get("params")):
            meta["progressToken"] = notification["params"]["progressToken"]
    if exchange.era == MODERN:
        meta |= {f"{ENVELOPE}protocolVersion": MODERN, f"{ENVELOPE}clientCapabilities": exchange.capabilities}
    params = {**exchange.params, "_meta": meta} if meta else exchange.params
    identity = next(numbers)
    yield "client", {**_JSONRPC, "id": identity, "method": exchange.method, "params": params}
    for ask in exchange.asks:
        question = next(numbers)
        yield (
            "server",
            {**_JSONRPC, "id": f"ask-{question}", "method": ask["method"], "params": ask.get("params") or {}},
        )
        yield "client", {**_JSONRPC, "id": f"ask-{question}", **as_object(ask.get("answer"))}
    for round_ in exchange.rounds:
        yield "server", {**_JSONRPC, "id": identity, "result": round_["result"]}
        retry = {**params, "inputResponses": round_["answers"]}
        if "requestState" in as_object(round_["result"]):
            retry["requestState"] = round_["result"]["requestState"]
        identity = next(numbers)
        yield "client", {**_JSONRPC, "id": identity, "method": exchange.method, "params": retry}
    for notification in exchange.notifications:
        yield "server", {**_JSONRPC, **notification}
    yield "server", {**_JSONRPC, "id": identity, **exchange.response}


def _by_name(tools: Iterable[JsonObject]) -> dict[str, JsonObject]:
    return {tool["name"]: tool for tool in tools if isinstance(tool.get("name"), str)}


def _listed(exchanges: Iterable[Exchange]) -> dict[str, JsonObject]:
    found: dict[str, JsonObject] = {}
    for exchange in exchanges:
        tools: JsonValue = (exchange.result or {}).get("tools")
        if exchange.method == "tools/list" and is_list(tools):
            found |= _by_name(tool for tool in tools if is_object(tool))
    return found


@dataclass
class _Opened:
    """A request, and what has come back for it so far."""

    method: str
    params: JsonObject
    era: str
    capabilities: JsonObject
    session: str | None
    http: int | None
    begun: float
    token: JsonValue = None
    response: JsonObject | None = None
    resumed: bool = False
    seconds: float = 0.0
    notifications: list[JsonObject] = field(default_factory=list[JsonObject])
    asks: list[JsonObject] = field(default_factory=list[JsonObject])
    rounds: list[JsonObject] = field(default_factory=list[JsonObject])

    def exchange(self) -> Exchange:
        assert self.response is not None
        return Exchange(
            method=self.method,
            params=self.params,
            response=self.response,
            era=self.era,
            capabilities=self.capabilities,
            notifications=tuple(self.notifications),
            asks=tuple(self.asks),
            rounds=tuple(self.rounds),
            resumed=self.resumed,
            seconds=round(self.seconds, 6),
        )


class _Pairing:
    """Matches replies, notifications and the server's requests to the client's requests."""

    def __init__(self) -> None:
        self.opened: list[_Opened] = []
        self._pending: dict[Key, _Opened] = {}
        self._paused: list[_Opened] = []
        self._server_requests: dict[Key, tuple[_Opened | None, JsonObject]] = {}
        self._capabilities: dict[str | None, JsonObject] = {}

    def take(self, frame: Frame) -> None:
        message = frame.frame
        if frame.sender == "client" and frame.perturbed is not None:
            message = frame.perturbed.get("frame")
        if not is_object(message):
            return
        if not isinstance(message.get("method"), str):
            (self._answer if frame.sender == "client" else self._reply)(frame, message)
        elif frame.sender == "client":
            self._from_client(frame, message)
        else:
            self._from_server(frame, message)

    def _from_client(self, frame: Frame, message: JsonObject) -> None:
        params = as_object(message.get("params"))
        if "id" not in message:
            if message["method"] == "notifications/cancelled":
                # MCP: a cancelled request is not answered, and its client ignores a reply that was under way.
                self._pending.pop(_key(frame.session, params.get("requestId")), None)
            return
        opened = self._answered(message["method"], params) or self._open(frame, message["method"], params)
        opened.http = frame.http
        self._pending[_key(frame.session, message["id"])] = opened
        if frame.http is not None:
            self._pending[_key(frame.http, message["id"])] = opened

    def _open(self, frame: Frame, method: str, params: JsonObject) -> _Opened:
        meta = as_object(params.get("_meta"))
        modern = f"{ENVELOPE}protocolVersion" in meta
        if method == "initialize":
            # The server assigns the session with its reply; until then there is none, and None is the key.
            self._capabilities[frame.session] = as_object(params.get("capabilities"))
        capabilities = (
            as_object(meta.get(f"{ENVELOPE}clientCapabilities"))
            if modern
            else self._capabilities.get(frame.session, self._capabilities.get(None, {}))
        )
        era = MODERN if modern else HANDSHAKE
        opened = _Opened(
            method, own_params(params), era, capabilities, frame.session, frame.http, frame.seconds,
            meta.get("progressToken"),
        )  # fmt: skip
        self.opened.append(opened)
        return opened

    def _answered(self, method: str, params: JsonObject) -> _Opened | None:
        """Return the request that paused for input if this is its retry with the answers, else None."""
        if "inputResponses" not in params and "requestState" not in params:
            return None
        for opened in self._paused:
            wanted = as_object(opened.rounds[-1]["result"])
            same = opened.params.get("name", opened.params.get("uri")) == params.get("name", params.get("uri"))
            if opened.method == method and same and wanted.get("requestState") == params.get("requestState"):
                self._paused.remove(opened)
                opened.rounds[-1]["answers"] = as_object(params.get("inputResponses"))
                return opened
        return None

    def _answer(self, frame: Frame, message: JsonObject) -> None:
        """Record the client's reply to a request of the server."""
        opened, ask = self._server_requests.pop(_key(frame.session, message.get("id")), (None, {}))
        if opened is not None:
            opened.asks.append({**ask, "answer": _body(message)})

    def _from_server(self, frame: Frame, message: JsonObject) -> None:
        body = _body(message)
        owner = self._owner(frame, as_object(message.get("params")))
        if "id" in message:
            ask: JsonObject = {"method": body["method"], "params": body.get("params") or {}}
            self._server_requests[_key(frame.session, message["id"])] = (owner, ask)
        elif owner is not None:
            owner.notifications.append(body)

    def _owner(self, frame: Frame, params: JsonObject) -> _Opened | None:
        """Return the request that a message of the server belongs to; None if that cannot be known."""
        # Once each: over HTTP a request is pending under its session and under its HTTP request.
        open_now = list({id(opened): opened for opened in self._pending.values()}.values())
        if "progressToken" in params:
            tokens = [opened for opened in open_now if opened.token == params["progressToken"]]
            return next((opened for opened in tokens if frame.session in (None, opened.session)), None)
        if frame.http is not None:
            return next((opened for opened in open_now if opened.http == frame.http), None)
        # On stdio nothing ties a message to a request, unless only one is open.
        return open_now[0] if len(open_now) == 1 else None

    def _reply(self, frame: Frame, message: JsonObject) -> None:
        keys = [_key(frame.http, message.get("id"))] if frame.http is not None else []
        keys.append(_key(frame.session, message.get("id")))
        opened = next((self._pending[key] for key in keys if key in self._pending), None)
        if opened is None:
            return
        self._pending = {key: other for key, other in self._pending.items() if other is not opened}
        if opened.method == "initialize" and frame.session is not None:
            self._capabilities[frame.session] = as_object(opened.params.get("capabilities"))
        body = _body(message)
        if as_object(body.get("result")).get("resultType") == "input_required":
            opened.rounds.append({"result": body["result"], "answers": {}})
            self._paused.append(opened)
            return
        opened.response, opened.seconds = body, frame.seconds - opened.begun
        # A reply on another HTTP request: the client had resumed the stream (Last-Event-ID).
        opened.resumed = frame.http != opened.http


def own_params(params: JsonObject) -> JsonObject:
    """Return the params that the caller set: without the modern era's envelope, the progress token, and the fields of
    a retry.
    """
    kept = {key: value for key, value in params.items() if key not in ("inputResponses", "requestState")}
    meta = {
        key: value
        for key, value in as_object(kept.pop("_meta", None)).items()
        if key != "progressToken" and not key.startswith(ENVELOPE)
    }
    return {**kept, "_meta": meta} if meta else kept


def _body(message: JsonObject) -> JsonObject:
    return {key: value for key, value in message.items() if key not in ("jsonrpc", "id")}


def _key(scope: object, identity: JsonValue) -> Key:
    # 1 and "1" are different ids; a list is none, and must not fail.
    return scope, type(identity).__name__, identity if isinstance(identity, str | int | float) else repr(identity)
