"""A client of raw frames: it initializes a connection in either era, sends requests, and keeps everything received verbatim."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import InitVar, dataclass
from time import perf_counter

from simtrain.mcp_wire.answers import Answers, Canned
from simtrain.mcp_wire.connection import Connection, ConnectionLimits
from simtrain.mcp_wire.eras import (
    CAPABILITIES_KEY,
    CLIENT_INFO,
    HANDSHAKE_VERSIONS,
    INFO_KEY,
    LOG_LEVEL_KEY,
    MODERN,
    VERSION_KEY,
)
from simtrain.mcp_wire.faults import ConnectionLost, ErrorReply, HttpRefused, NotSpoken, TimedOut
from simtrain.mcp_wire.frames import objects
from simtrain.mcp_wire.headers import ParameterHeaders, mirrored, parameter_headers
from simtrain.mcp_wire.manifest import LISTED, Exchange, Surface
from simtrain.mcp_wire.stdio import open_stdio
from simtrain.mcp_wire.targets import StdioTarget, Target
from simtrain.mcp_wire.traffic import Traffic, Waiting
from simtrain.values.errors import InputError, SimulatorFault
from simtrain.values.types import JsonObject, JsonValue, as_object, encode, is_list, is_object

TIMEOUT = 20.0
MAX_PAGES = 1000
MAX_ROUNDS = 16
UNREAD = (400, 406, 415, 422)
"""HTTP statuses of servers that were reached but did not understand the greeting."""
BREATH = 0.1
"""Seconds before a request is sent again if the server asks for that without a question."""


@dataclass(eq=False)
class Client:
    """One client of one server, made by `connect`. Requests may run concurrently.

    `greeting` is the raw result of `initialize` or `server/discover`, `version` the negotiated revision.
    """

    target: Target
    connection: Connection
    era: str
    capabilities: JsonObject
    timeout: float
    answers: InitVar[Answers]
    info: JsonObject

    def __post_init__(self, answers: Answers) -> None:
        self.greeting: JsonObject = {}
        self.version = self.era
        self.traffic = Traffic(self.target, self.connection, capabilities=self.capabilities, answers=answers)
        self._parameter_headers: dict[str, ParameterHeaders] = {}

    @property
    def notifications(self) -> deque[JsonObject]:
        """Notifications of the server that were not taken yet, oldest first."""
        return self.traffic.notifications

    async def request(
        self, method: str, params: JsonObject | None = None, *, timeout: float | None = None, progress: bool = False
    ) -> Exchange:
        """Send a request and wait for its response, up to `timeout` seconds. An error response is returned like any other.

        `progress` asks for progress and log messages. Without `params` the request has none, except for the envelope of its era.
        Questions of the server meanwhile are answered. Raises ConnectionLost, HttpRefused and TimedOut.
        """
        given = params or {}
        waiting = Waiting()
        rounds: list[JsonObject] = []
        limit = self.timeout if timeout is None else timeout
        begun = perf_counter()
        try:
            async with asyncio.timeout(limit):
                response = await self._ask(method, params, waiting, progress)
                # In the modern era a server asks by a result; the request is then sent again with the answers.
                while len(rounds) < MAX_ROUNDS and (round_ := await self._round(response)) is not None:
                    rounds.append(round_)
                    # A future can be awaited for one reply only.
                    waiting.reply = asyncio.get_running_loop().create_future()
                    response = await self._ask(method, _again(given, round_), waiting, progress)
        except TimeoutError:
            raise self.traffic.silence(method, limit) from None
        seconds = perf_counter() - begun
        self._learn_headers(method, response)
        return Exchange(
            method=method,
            params=given,
            response=response,
            era=self.era,
            capabilities=self.capabilities,
            notifications=tuple(waiting.notifications),
            asks=tuple(waiting.asks),
            rounds=tuple(rounds),
            resumed=waiting.resumed,
            seconds=seconds,
        )

    async def list(self, method: str, *, timeout: float | None = None) -> list[JsonObject]:
        """Return all pages of a list, raw results. Raises ErrorReply besides what `request` raises."""
        pages: list[JsonObject] = []
        seen: set[str] = set()
        cursor: JsonValue = None
        while len(pages) < MAX_PAGES:
            exchange = await self.request(method, None if cursor is None else {"cursor": cursor}, timeout=timeout)
            if exchange.result is None:
                raise ErrorReply(method, as_object(exchange.response.get("error")) or exchange.response)
            pages.append(exchange.result)
            cursor = exchange.result.get("nextCursor")
            if cursor is None:
                return pages
            # A repeated cursor means that the pages go round in a circle.
            if encode(cursor) in seen:
                raise ConnectionLost(f"{self.target} gives the cursor {encode(cursor)[:80]} of {method} twice")
            seen.add(encode(cursor))
        raise ConnectionLost(f"{self.target} has more than {MAX_PAGES} pages of {method}")

    async def notify(self, method: str, params: JsonObject | None = None) -> None:
        """Send a notification."""
        frame: JsonObject = {"jsonrpc": "2.0", "method": method}
        await self.connection.send(frame if params is None else frame | {"params": params})

    async def next_notification(self, method: str, *, timeout: float | None = None) -> JsonObject:
        """Remove and return the oldest notification of this method, waiting for one. Raises TimedOut, ConnectionLost."""
        limit = self.timeout if timeout is None else timeout
        try:
            async with asyncio.timeout(limit):
                return await self.traffic.next_notification(method)
        except TimeoutError:
            raise TimedOut(f"{self.target} did not send {method} within {limit:g} s") from None

    async def quiet(self, seconds: float) -> None:
        """Wait until the server was silent for some seconds, since some still work after a reply; at most ten times as long."""
        await self.traffic.quiet(seconds)

    async def initialize(self) -> None:
        """Send `initialize`, or `server/discover` in the modern era. Raises InputError if the target is not such a server."""
        method = "server/discover" if self.era == MODERN else "initialize"
        introduction = {"protocolVersion": self.era, "capabilities": self.capabilities, "clientInfo": self.info}
        try:
            exchange = await self.request(method, {} if self.era == MODERN else introduction)
        except HttpRefused as fault:
            raise self._not_greeted(str(fault), fault.status) from None
        except SimulatorFault as fault:
            by_hand = "see whether it starts by hand, or allow it more time"
            remedy = by_hand if isinstance(self.target, StdioTarget) else "see whether it runs"
            raise InputError(str(fault), remedy=remedy) from None
        if exchange.result is None:
            raise NotSpoken(f"{self.target} does not speak {self.era}: {encode(exchange.response)[:300]}")
        self.greeting = exchange.result
        if self.era == MODERN:
            self._check_versions(exchange.result.get("supportedVersions"))
            return
        version: JsonValue = exchange.result.get("protocolVersion")
        if version not in HANDSHAKE_VERSIONS:
            raise NotSpoken(f"{self.target} speaks {encode(version)[:80]}, not {self.era}")
        self.version = version
        try:
            await self.notify("notifications/initialized")
        except SimulatorFault as fault:
            raise InputError(str(fault)) from None

    async def _ask(self, method: str, params: JsonObject | None, waiting: Waiting, progress: bool) -> JsonObject:
        request = self.traffic.next_id()
        wire = self._enveloped(params or {}, request if progress else None)
        waiting.token = as_object(wire.get("_meta")).get("progressToken")
        frame: JsonObject = {"jsonrpc": "2.0", "id": request, "method": method}
        if wire or params is not None:
            frame["params"] = wire
        return await self.traffic.ask(frame, waiting, self._mirror(method, params or {}))

    def _enveloped(self, params: JsonObject, token: int | None) -> JsonObject:
        meta: JsonObject = {} if token is None else {"progressToken": token}
        if self.era == MODERN:
            meta |= {VERSION_KEY: MODERN, INFO_KEY: self.info, CAPABILITIES_KEY: self.capabilities}
            if token is not None:
                meta[LOG_LEVEL_KEY] = "debug"
        given: JsonValue = params.get("_meta", {})
        return params | {"_meta": meta | given} if meta and is_object(given) else params

    def _mirror(self, method: str, params: JsonObject) -> dict[str, str]:
        if self.era != MODERN or method != "tools/call":
            return {}
        return mirrored(self._parameter_headers.get(str(params.get("name")), {}), params.get("arguments"))

    def _learn_headers(self, method: str, response: JsonObject) -> None:
        if self.era != MODERN or method != "tools/list":
            return
        # Which arguments go into headers is known only from the tool's schema.
        for descriptor in objects(as_object(response.get("result")).get(LISTED[method])):
            self._parameter_headers[str(descriptor.get("name"))] = parameter_headers(descriptor.get("inputSchema"))

    async def _round(self, response: JsonObject) -> JsonObject | None:
        """Return a result that asks for input, with the answers; None if it asks for nothing or an answer is refused."""
        result = as_object(response.get("result"))
        if self.era != MODERN or result.get("resultType") != "input_required":
            return None
        answers: JsonObject = {}
        for key, question in as_object(result.get("inputRequests")).items():
            ask = as_object(question)
            answer = await self.traffic.answer(str(ask.get("method")), as_object(ask.get("params")))
            if "result" not in answer:
                return None
            answers[key] = answer["result"]
        if not answers:
            await asyncio.sleep(BREATH)
        return {"result": result, "answers": answers}

    def _check_versions(self, supported: JsonValue) -> None:
        # The modern era has no negotiation: the server lists its revisions, and the client has to use one of them.
        versions = supported if is_list(supported) else []
        if MODERN not in versions:
            raise NotSpoken(f"{self.target} supports {encode(versions)[:80]}, not {MODERN}")

    def _not_greeted(self, problem: str, status: int) -> InputError:
        if status in (401, 403):
            remedy = "name the variable that holds the key: --header-env Authorization=VARIABLE"
            return InputError(problem, remedy=remedy)
        if status in UNREAD or (self.era == MODERN and 400 <= status < 500):
            return NotSpoken(problem)
        return InputError(problem, remedy="check the URL: streamable HTTP endpoints often end in /mcp")


@asynccontextmanager
async def connect(
    target: Target,
    *,
    era: str,
    capabilities: JsonObject | None = None,
    timeout: float = TIMEOUT,
    answers: Answers | None = None,
    limits: ConnectionLimits | None = None,
    info: JsonObject | None = None,
) -> AsyncGenerator[Client]:
    """Connect a client and greet the server in the era `era`, which may also be an older revision of the handshake era.

    `capabilities` are declared to the server; `answers` replies to its questions; `timeout` is the default limit in seconds for each
    request, the greeting included. Raises InputError for a target that does not start or is not a server, and its subclass NotSpoken
    for a server that does not speak the era.
    """
    async with open_connection(target, limits=limits) as connection:
        client = Client(
            target,
            connection,
            era=era,
            capabilities=capabilities or {},
            timeout=timeout,
            answers=answers or Canned(),
            info=info or CLIENT_INFO,
        )
        arriving = asyncio.create_task(client.traffic.run())
        try:
            await client.initialize()
            yield client
        finally:
            arriving.cancel()
            await asyncio.gather(arriving, return_exceptions=True)


@asynccontextmanager
async def open_connection(target: Target, *, limits: ConnectionLimits | None = None) -> AsyncGenerator[Connection]:
    """Open a connection to `target`. All its processes and sockets are closed when the block ends.

    Raises InputError if a command cannot be started. An HTTP server is first contacted by `send`.
    """
    connection = await _opened(target, limits or ConnectionLimits())
    try:
        yield connection
    finally:
        # Shielded, so that a cancellation leaves no process behind.
        await asyncio.shield(asyncio.create_task(connection.close()))


async def _opened(target: Target, limits: ConnectionLimits) -> Connection:
    if isinstance(target, StdioTarget):
        return await open_stdio(target, limits)
    # Imported when used: few commands need HTTP, and imports delay every command.
    from simtrain.mcp_wire.http import open_http

    return open_http(target, limits)


async def shown(client: Client, *, timeout: float | None = None) -> tuple[Surface, dict[str, JsonObject]]:
    """Return the surface, and the errors of lists that were declared but refused. Raises SimulatorFault."""
    lists: dict[str, tuple[JsonObject, ...]] = {}
    refused: dict[str, JsonObject] = {}
    for method in listable(client.greeting):
        try:
            lists[method] = tuple(await client.list(method, timeout=timeout))
        except ErrorReply as refusal:
            refused[method] = refusal.error
    return Surface(client.era, client.capabilities, client.greeting, lists), refused


def listable(greeting: JsonObject) -> list[str]:
    """Return the list methods for the capabilities that a server declares."""
    capabilities = as_object(greeting.get("capabilities"))
    return [method for method in LISTED if method.partition("/")[0] in capabilities]


def _again(params: JsonObject, answered: JsonObject) -> JsonObject:
    """Return the params for sending a request again with the requested input."""
    result: JsonObject = answered["result"]
    state = {"requestState": result["requestState"]} if "requestState" in result else {}
    responses = {"inputResponses": answered["answers"]} if answered["answers"] else {}
    return params | responses | state
