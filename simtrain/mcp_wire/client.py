"""A client of raw frames: it greets a server in either era, asks, and keeps all that comes of it, verbatim."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from time import perf_counter
from typing import cast

from simtrain.errors import InputError, SimulatorFault
from simtrain.manifest import LISTED, Exchange
from simtrain.mcp_wire.answers import ASKED, Answers, Canned, method_not_found
from simtrain.mcp_wire.connection import Broken, Connection, Limits, Received, RequestId, open_connection
from simtrain.mcp_wire.eras import (
    CAPABILITIES_KEY,
    CLIENT_INFO,
    HANDSHAKE_VERSIONS,
    INFO_KEY,
    MODERN,
    VERSION_KEY,
)
from simtrain.mcp_wire.faults import ConnectionLost, ErrorReply, HttpRefused, NotSpoken, TimedOut
from simtrain.mcp_wire.frames import reply_body
from simtrain.mcp_wire.headers import ParameterHeaders, mirrored, parameter_headers
from simtrain.mcp_wire.targets import Target
from simtrain.types import JsonObject, JsonValue, encode

TIMEOUT = 20.0
MAX_PAGES = 1000
MAX_ROUNDS = 16
KEPT_NOTIFICATIONS = 10_000


@dataclass
class _Waiting:
    """A request under way."""

    reply: asyncio.Future[JsonObject]
    token: JsonValue = None
    notifications: list[JsonObject] = field(default_factory=list[JsonObject])
    asks: list[JsonObject] = field(default_factory=list[JsonObject])


class Client:
    """One client of one server; made by `connect`. Any number of requests may be under way at once.

    `greeting` is the raw result of `initialize` or `server/discover`, `version` the revision both sides speak. `notifications` holds
    what the server said unasked, oldest first, and forgets beyond KEPT_NOTIFICATIONS.
    """

    def __init__(
        self,
        target: Target,
        connection: Connection,
        *,
        era: str,
        capabilities: JsonObject,
        timeout: float,
        answers: Answers,
        info: JsonObject,
    ) -> None:
        self.target = target
        self.connection = connection
        self.era = era
        self.capabilities = capabilities
        self.greeting: JsonObject = {}
        self.version = era
        self.notifications: deque[JsonObject] = deque(maxlen=KEPT_NOTIFICATIONS)
        self.unmatched = 0
        self._timeout = timeout
        self._answers = answers
        self._info = info
        self._ids = count(1)
        self._waiting: dict[RequestId, _Waiting] = {}
        self._parameter_headers: dict[str, ParameterHeaders] = {}
        self._answering: set[asyncio.Task[None]] = set()
        self._news = asyncio.Event()
        self._lost: SimulatorFault | None = None

    async def request(
        self, method: str, params: JsonObject | None = None, *, timeout: float | None = None, progress: bool = False
    ) -> Exchange:
        """Ask and wait, up to `timeout` seconds; an error reply is an answer too. `progress` asks for progress notifications.

        What the server asks on the way is answered. Raises ConnectionLost, HttpRefused and TimedOut.
        """
        asked = params or {}
        waiting = _Waiting(asyncio.get_running_loop().create_future())
        rounds: list[JsonObject] = []
        begun = perf_counter()
        limit = self._timeout if timeout is None else timeout
        try:
            async with asyncio.timeout(limit):
                response = await self._ask(method, asked, waiting, progress)
                while (answers := await self._input(response)) is not None and len(rounds) < MAX_ROUNDS:
                    result: JsonObject = response["result"]
                    rounds.append({"result": result, "answers": answers})
                    retry = asked | {"inputResponses": answers}
                    if "requestState" in result:
                        retry["requestState"] = result["requestState"]
                    waiting.reply = asyncio.get_running_loop().create_future()
                    response = await self._ask(method, retry, waiting, progress)
        except TimeoutError:
            raise TimedOut(self._silence(method, limit)) from None
        seconds = perf_counter() - begun
        self._learn_headers(method, response)
        return Exchange(
            method=method,
            params=asked,
            response=response,
            era=self.era,
            capabilities=self.capabilities,
            notifications=tuple(waiting.notifications),
            asks=tuple(waiting.asks),
            rounds=tuple(rounds),
            seconds=seconds,
        )

    async def list(self, method: str, *, timeout: float | None = None) -> list[JsonObject]:
        """All pages of a list, raw results. Raises ErrorReply besides what `request` raises."""
        pages: list[JsonObject] = []
        seen: set[str] = set()
        cursor: JsonValue = None
        while len(pages) < MAX_PAGES:
            exchange = await self.request(method, {} if cursor is None else {"cursor": cursor}, timeout=timeout)
            if exchange.result is None:
                raise ErrorReply(method, exchange.response.get("error") or exchange.response)
            pages.append(exchange.result)
            cursor = exchange.result.get("nextCursor")
            if cursor is None:
                return pages
            if encode(cursor) in seen:
                raise ConnectionLost(f"{self.target} gives the cursor {encode(cursor)[:80]} of {method} twice")
            seen.add(encode(cursor))
        raise ConnectionLost(f"{self.target} has more than {MAX_PAGES} pages of {method}")

    async def notify(self, method: str, params: JsonObject | None = None) -> None:
        """Send a notification."""
        frame: JsonObject = {"jsonrpc": "2.0", "method": method}
        await self.connection.send(frame if params is None else frame | {"params": params})

    async def heard(self, method: str, *, timeout: float | None = None) -> JsonObject:
        """The oldest notification of this method, taken out of `notifications`; waits for it. Raises TimedOut, ConnectionLost."""
        limit = self._timeout if timeout is None else timeout
        try:
            async with asyncio.timeout(limit):
                while True:
                    for notification in self.notifications:
                        if notification["method"] == method:
                            self.notifications.remove(notification)
                            return notification
                    if self._lost is not None:
                        raise self._lost
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            raise TimedOut(f"{self.target} did not send {method} within {limit:g} s") from None

    async def quiet(self, seconds: float) -> None:
        """Wait until the server has said nothing for so long: some work on after an answer. At most ten times as long."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds * 10):
                while self._lost is None:
                    self._news.clear()
                    try:
                        async with asyncio.timeout(seconds):
                            await self._news.wait()
                    except TimeoutError:
                        return

    async def greet(self) -> None:
        """The handshake, or the discovery that stands in its place. Raises InputError where the target is no such server."""
        method = "server/discover" if self.era == MODERN else "initialize"
        try:
            exchange = await self.request(method, {} if self.era == MODERN else self._introduction())
        except HttpRefused as fault:
            raise self._not_greeted(str(fault), fault.status) from None
        except SimulatorFault as fault:
            raise InputError(str(fault), remedy="try the command by hand, or raise the time limit") from None
        error: JsonValue = exchange.response.get("error")
        if exchange.result is None:
            raise NotSpoken(f"{self.target} does not speak {self.era}: {encode(error)[:300]}")
        self.greeting = exchange.result
        if self.era == MODERN:
            self._check_versions(exchange.result.get("supportedVersions"))
            return
        version: JsonValue = exchange.result.get("protocolVersion")
        if version not in HANDSHAKE_VERSIONS:
            raise NotSpoken(f"{self.target} speaks {encode(version)[:80]}, not {self.era}")
        self.version = version
        await self.notify("notifications/initialized")

    async def read(self) -> None:
        """Take in what the server sends until the connection ends; run by `connect`."""
        try:
            while True:
                received = await self.connection.receive()
                if isinstance(received, Broken):
                    self._fail(received.request, received.fault)
                else:
                    self._take(received)
                self._news.set()
        except SimulatorFault as fault:
            self._lost = fault
            for request in list(self._waiting):
                self._fail(request, fault)
            self._news.set()
        finally:
            for task in self._answering:
                task.cancel()

    async def _ask(self, method: str, params: JsonObject, waiting: _Waiting, progress: bool) -> JsonObject:
        if self._lost is not None:
            raise self._lost
        request = next(self._ids)
        wire = self._enveloped(params, request if progress else None)
        frame: JsonObject = {"jsonrpc": "2.0", "id": request, "method": method}
        if wire:
            frame["params"] = wire
        waiting.token = wire.get("_meta", {}).get("progressToken") if isinstance(wire.get("_meta"), dict) else None
        self._waiting[request] = waiting
        try:
            await self.connection.send(frame, headers=self._mirror(method, params))
            return await waiting.reply
        except asyncio.CancelledError:
            self._waiting.pop(request, None)
            with contextlib.suppress(SimulatorFault):
                await self.connection.cancel(request)
            raise
        finally:
            self._waiting.pop(request, None)

    def _enveloped(self, params: JsonObject, token: int | None) -> JsonObject:
        meta: JsonObject = {} if token is None else {"progressToken": token}
        if self.era == MODERN:
            meta |= {VERSION_KEY: MODERN, INFO_KEY: self._info, CAPABILITIES_KEY: self.capabilities}
        given: JsonValue = params.get("_meta", {})
        return params | {"_meta": meta | given} if meta and isinstance(given, dict) else params

    def _mirror(self, method: str, params: JsonObject) -> dict[str, str]:
        if self.era != MODERN or method != "tools/call":
            return {}
        return mirrored(self._parameter_headers.get(str(params.get("name")), {}), params.get("arguments"))

    def _learn_headers(self, method: str, response: JsonObject) -> None:
        result: JsonValue = response.get("result")
        if self.era != MODERN or method != "tools/list" or not isinstance(result, dict):
            return
        for tool in cast("list[JsonValue]", cast(JsonObject, result).get(LISTED[method]) or []):
            if isinstance(tool, dict):
                descriptor = cast(JsonObject, tool)
                self._parameter_headers[str(descriptor.get("name"))] = parameter_headers(descriptor.get("inputSchema"))

    async def _input(self, response: JsonObject) -> JsonObject | None:
        """The answers to a result that asks for input; None where it does not, or where one of them is refused."""
        result: JsonValue = response.get("result")
        if self.era != MODERN or not isinstance(result, dict):
            return None
        fields = cast(JsonObject, result)
        if fields.get("resultType") != "input_required":
            return None
        answers: JsonObject = {}
        asked: JsonValue = fields.get("inputRequests") or {}
        for key, ask in cast(JsonObject, asked).items():
            answer = await self._answer(str(ask.get("method")), ask.get("params") or {})
            if "result" not in answer:
                return None
            answers[key] = answer["result"]
        if not answers:
            # Nothing is asked, only time: the state goes back after a breath.
            await asyncio.sleep(0.1)
        return answers

    async def _answer(self, method: str, params: JsonObject) -> JsonObject:
        if method == "ping":
            return {"result": {}}
        if method in ASKED and ASKED[method] not in self.capabilities:
            return method_not_found(method)
        return await self._answers(method, params)

    def _take(self, received: Received) -> None:
        frame = received.frame
        if "method" not in frame:
            self._reply(received)
            return
        waiting = self._concerned(received)
        if "id" in frame:
            task = asyncio.create_task(self._answer_ask(frame, waiting))
            self._answering.add(task)
            task.add_done_callback(self._answering.discard)
            return
        notification = {key: value for key, value in frame.items() if key != "jsonrpc"}
        self.notifications.append(notification)
        if waiting is not None:
            waiting.notifications.append(notification)

    def _reply(self, received: Received) -> None:
        frame = received.frame
        identity: JsonValue = frame.get("id")
        if identity is None and received.request is not None:
            # A server that could not read a request answers with a null id; over HTTP it is known whom it means.
            identity = received.request
        waiting = self._waiting.get(identity) if isinstance(identity, int | str) else None
        if waiting is None or waiting.reply.done():
            self.unmatched += 1
        elif "result" in frame or "error" in frame:
            waiting.reply.set_result(reply_body(frame))
        else:
            waiting.reply.set_exception(ConnectionLost(f"{self.target} answered with neither a result nor an error"))

    def _concerned(self, received: Received) -> _Waiting | None:
        """The request that a notification or a question belongs to: by its stream, its progress token, or being the only one."""
        if received.request is not None:
            return self._waiting.get(received.request)
        params: JsonValue = received.frame.get("params")
        token = cast(JsonObject, params).get("progressToken") if isinstance(params, dict) else None
        if token is not None:
            return next((waiting for waiting in self._waiting.values() if waiting.token == token), None)
        return next(iter(self._waiting.values())) if len(self._waiting) == 1 else None

    async def _answer_ask(self, frame: JsonObject, waiting: _Waiting | None) -> None:
        params: JsonObject = frame.get("params") or {}
        answer = await self._answer(str(frame["method"]), params)
        if waiting is not None:
            waiting.asks.append({"method": frame["method"], "params": params, "answer": answer})
        with contextlib.suppress(SimulatorFault):
            await self.connection.send({"jsonrpc": "2.0", "id": frame["id"], **answer})

    def _fail(self, request: RequestId, fault: SimulatorFault) -> None:
        waiting = self._waiting.get(request)
        if waiting is not None and not waiting.reply.done():
            waiting.reply.set_exception(fault)

    def _introduction(self) -> JsonObject:
        return {"protocolVersion": self.era, "capabilities": self.capabilities, "clientInfo": self._info}

    def _check_versions(self, supported: JsonValue) -> None:
        versions = cast("list[JsonValue]", supported) if isinstance(supported, list) else []
        if MODERN not in versions:
            raise NotSpoken(f"{self.target} supports {encode(versions)[:80]}, not {MODERN}")

    def _not_greeted(self, problem: str, status: int) -> InputError:
        if status in (401, 403):
            return InputError(
                problem, remedy="name the variable that holds the key: --header-env Authorization=VARIABLE"
            )
        if self.era == MODERN and 400 <= status < 500:
            return NotSpoken(problem)
        return InputError(problem, remedy="check the URL: streamable HTTP endpoints often end in /mcp")

    def _silence(self, method: str, limit: float) -> str:
        parts = [f"{self.target} did not answer {method} within {limit:g} s"]
        if self.unmatched:
            parts.append(f"{self.unmatched} of its answers had an id that nobody waits for")
        if words := self.connection.last_words():
            parts.append(words)
        return "; ".join(parts)


@asynccontextmanager
async def connect(
    target: Target,
    *,
    era: str,
    capabilities: JsonObject | None = None,
    timeout: float = TIMEOUT,
    answers: Answers | None = None,
    limits: Limits | None = None,
    info: JsonObject | None = None,
) -> AsyncGenerator[Client]:
    """A client that has greeted the server, in the era `era` (or an older handshake revision, for `initialize` to offer).

    `capabilities` are what it declares; `answers` says what it answers to the server's questions, `timeout` how many seconds each
    request may take unless it says otherwise. Raises InputError for a server that does not start or is none, and NotSpoken, which is one,
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
        reading = asyncio.create_task(client.read())
        try:
            await client.greet()
            yield client
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
