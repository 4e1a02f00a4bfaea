"""The traffic of one connection: pending requests, and the notifications and requests that the server sends meanwhile."""

import asyncio
import contextlib
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count

from simtrain.mcp_wire.answers import CLIENT_METHODS, Answers, method_not_found
from simtrain.mcp_wire.connection import Broken, Connection, ReceivedFrame, RequestId
from simtrain.mcp_wire.faults import ConnectionLost, TimedOut
from simtrain.mcp_wire.frames import reply_body
from simtrain.mcp_wire.targets import Target
from simtrain.values.errors import SimulatorFault
from simtrain.values.types import JsonObject, JsonValue, as_object

KEPT_NOTIFICATIONS = 10_000
CANCEL_LIMIT = 1.0
"""Seconds to send a cancellation; the server may no longer read."""


@dataclass
class Waiting:
    """A pending request with what arrived for it: notifications, and the server's questions with the answers."""

    reply: asyncio.Future[JsonObject] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    token: JsonValue = None
    notifications: list[JsonObject] = field(default_factory=list[JsonObject])
    asks: list[JsonObject] = field(default_factory=list[JsonObject])
    resumed: bool = False


class Traffic:
    """The traffic of one connection. `run` must be running for anything to arrive.

    `notifications` holds those that were not taken yet, at most KEPT_NOTIFICATIONS, oldest first. `unmatched` counts replies to no
    pending request.
    """

    def __init__(self, target: Target, connection: Connection, *, capabilities: JsonObject, answers: Answers) -> None:
        self.notifications: deque[JsonObject] = deque(maxlen=KEPT_NOTIFICATIONS)
        self.unmatched = 0
        self._target = target
        self._connection = connection
        self._capabilities = capabilities
        self._answers = answers
        self._ids = count(1)
        self._waiting: dict[RequestId, Waiting] = {}
        self._answering: set[asyncio.Task[None]] = set()
        self._news = asyncio.Event()
        self._lost: SimulatorFault | None = None

    def next_id(self) -> int:
        """Return an unused request id."""
        return next(self._ids)

    async def ask(self, frame: JsonObject, waiting: Waiting, headers: Mapping[str, str]) -> JsonObject:
        """Send a request and wait for `{"result": ...}` or `{"error": ...}`. Raises ConnectionLost, HttpRefused, TimedOut."""
        if self._lost is not None:
            raise self._lost
        request = frame["id"]
        self._waiting[request] = waiting
        try:
            await self._connection.send(frame, headers=headers)
            return await waiting.reply
        except asyncio.CancelledError:
            # By the specification `initialize` must not be cancelled.
            if frame["method"] != "initialize":
                await self._give_up(request)
            raise
        finally:
            self._waiting.pop(request, None)
            if waiting.reply.done() and not waiting.reply.cancelled():
                # If sending failed as well, asyncio would log an exception that was never retrieved.
                waiting.reply.exception()

    async def answer(self, method: str, params: JsonObject) -> JsonObject:
        """Return this client's answer to a request of the server; undeclared capabilities are refused."""
        if method == "ping":
            return {"result": {}}
        # A client must refuse what it did not declare; servers depend on that to detect capabilities.
        if method in CLIENT_METHODS and CLIENT_METHODS[method] not in self._capabilities:
            return method_not_found(method)
        return await self._answers(method, params)

    async def next_notification(self, method: str) -> JsonObject:
        """Remove and return the oldest notification of this method, waiting for one. Raises ConnectionLost."""
        while True:
            for notification in self.notifications:
                if notification["method"] == method:
                    self.notifications.remove(notification)
                    return notification
            if self._lost is not None:
                raise self._lost
            self._news.clear()
            await self._news.wait()

    async def quiet(self, seconds: float) -> None:
        """Wait until nothing has arrived for some seconds; at most ten times as long."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds * 10):
                while self._lost is None:
                    self._news.clear()
                    try:
                        async with asyncio.timeout(seconds):
                            await self._news.wait()
                    except TimeoutError:
                        return

    async def run(self) -> None:
        """Receive until the connection ends."""
        try:
            while True:
                received = await self._connection.receive()
                if isinstance(received, Broken):
                    self._fail(received.request, received.fault)
                else:
                    self._take(received)
                self._news.set()
        except SimulatorFault as fault:
            self._lost = fault
            # Everybody who waits must be told, or they would wait until their own timeouts.
            for request in list(self._waiting):
                self._fail(request, fault)
            self._news.set()
        finally:
            for task in self._answering:
                task.cancel()

    async def _give_up(self, request: RequestId) -> None:
        # Removed first: a reply that crosses with the cancellation counts as unmatched.
        self._waiting.pop(request, None)
        with contextlib.suppress(SimulatorFault, TimeoutError):
            async with asyncio.timeout(CANCEL_LIMIT):
                await self._connection.cancel(request)

    def _take(self, received: ReceivedFrame) -> None:
        frame = received.frame
        if not isinstance(frame.get("method"), str):
            self._reply(received)
            return
        waiting = self._concerned(received)
        if "id" in frame:
            # In a task of its own: an answer may take long, and other frames must be received meanwhile.
            task = asyncio.create_task(self._answer_back(frame, waiting))
            self._answering.add(task)
            task.add_done_callback(self._answering.discard)
            return
        # Without the envelope: recordings of both eras and transports are then alike.
        notification = {key: value for key, value in frame.items() if key != "jsonrpc"}
        self.notifications.append(notification)
        if waiting is not None:
            waiting.notifications.append(notification)

    def _reply(self, received: ReceivedFrame) -> None:
        frame = received.frame
        identity: JsonValue = frame.get("id")
        if identity is None and received.request is not None:
            # A server that could not parse a request answers with a null id; over HTTP its stream tells which one.
            identity = received.request
        waiting = self._waiting.get(identity) if isinstance(identity, int | str) else None
        # Late, duplicate or foreign ids: counted, since they often explain a timeout.
        if waiting is None or waiting.reply.done():
            self.unmatched += 1
        elif "result" in frame or "error" in frame:
            waiting.resumed = waiting.resumed or received.resumed
            waiting.reply.set_result(reply_body(frame))
        else:
            waiting.reply.set_exception(ConnectionLost(f"{self._target} answered with neither a result nor an error"))

    def _concerned(self, received: ReceivedFrame) -> Waiting | None:
        """Return the request that a message belongs to: by its stream, by its progress token, or as the only pending one."""
        if received.request is not None:
            return self._waiting.get(received.request)
        token = as_object(received.frame.get("params")).get("progressToken")
        if token is not None:
            return next((waiting for waiting in self._waiting.values() if waiting.token == token), None)
        # On stdio messages have no stream: with several pending requests the owner would be a guess.
        return next(iter(self._waiting.values())) if len(self._waiting) == 1 else None

    async def _answer_back(self, frame: JsonObject, waiting: Waiting | None) -> None:
        method, params = str(frame["method"]), as_object(frame.get("params"))
        answer = await self.answer(method, params)
        # Recorded with the request that caused it, so that a stand-in asks the same question at the same point.
        if waiting is not None:
            waiting.asks.append({"method": method, "params": params, "answer": answer})
        with contextlib.suppress(SimulatorFault):
            await self._connection.send({"jsonrpc": "2.0", "id": frame["id"], **answer})

    def _fail(self, request: RequestId, fault: SimulatorFault) -> None:
        waiting = self._waiting.get(request)
        if waiting is not None and not waiting.reply.done():
            waiting.reply.set_exception(fault)

    def silence(self, method: str, limit: float) -> TimedOut:
        """Return the fault for a request that was not answered in time, with possible reasons."""
        parts = [f"{self._target} did not answer {method} within {limit:g} s"]
        if self.unmatched:
            parts.append(f"{self.unmatched} of its answers had an id that no request waits for")
        if words := self._connection.last_words():
            parts.append(words)
        return TimedOut("; ".join(parts))
