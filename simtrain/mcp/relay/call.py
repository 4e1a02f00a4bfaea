"""One tool call on its way through the relay: with perturbations around it, to the server and back."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from simtrain.contracts.perturbation import Call
from simtrain.contracts.request import Request
from simtrain.contracts.trajectory import Changed
from simtrain.episodes.firing import PerturbationChain, PerturbedCall, is_same
from simtrain.mcp.relay.perturbable_requests import reply_observed, with_request
from simtrain.values.types import JsonObject, JsonValue, Observation

Repeat: TypeAlias = Callable[[JsonObject], Awaitable[JsonObject]]
"""Sends a call to the server again, under a new id, and returns the response frame."""


@dataclass(frozen=True)
class RelayOutcome:
    """What the client gets: `frame`, or the server's own reply if it is None. `notes` go into the recording."""

    frame: JsonObject | None
    notes: JsonObject = field(default_factory=dict[str, JsonValue])


class RelayedCall:
    """A call that perturbations may change.

    The transport awaits `departure`, passes the server's response to `arrive`, and forwards the result of `outcome`.
    """

    # Two futures and a task, since the chain of perturbations runs as straight code while frames arrive in the transport's own loop:
    # `_sent` carries the request out of the chain, `_replied` the response into it.

    def __init__(self, request: JsonObject, *, by: list[JsonObject], repeat: Repeat) -> None:
        loop = asyncio.get_running_loop()
        self.request = request
        self.reply_id: JsonValue = request["id"]
        self.by = by
        self.repeat = repeat
        self._sent: asyncio.Future[JsonObject] = loop.create_future()
        self._replied: asyncio.Future[JsonObject] = loop.create_future()
        self.outcome: asyncio.Task[RelayOutcome]

    async def departure(self) -> JsonObject | None:
        """Return the frame for the server, the same object if nothing changed it; None if the call is not to reach the server."""
        await asyncio.wait((self._sent, self.outcome), return_when=asyncio.FIRST_COMPLETED)
        return self._sent.result() if self._sent.done() else None

    @property
    def sent(self) -> bool:
        """True if the call was passed on for the server."""
        return self._sent.done()

    async def send(self, frame: JsonObject) -> JsonObject:
        """Have the call sent, and return the response frame."""
        self._sent.set_result(frame)
        return await self._replied

    def let_go(self) -> None:
        """Have the call sent unchanged, unless it was sent already."""
        if not self._sent.done():
            self._sent.set_result(self.request)

    def arrive(self, frame: JsonObject) -> None:
        """Take the server's response."""
        self.reply_id = frame["id"]
        # A server may answer a call that the client has cancelled meanwhile.
        if not self._replied.done():
            self._replied.set_result(frame)

    def cancel(self) -> None:
        """Stop, since the client no longer waits."""
        self.outcome.cancel()


class Server:
    """The server at the end of the path. It is called once, and again only if the rules allow it."""

    def __init__(self, relayed: RelayedCall, notes: JsonObject, *, repeats: bool) -> None:
        self._relayed = relayed
        self._notes = notes
        self._repeats = repeats
        self.first: Observation | None = None
        self.reply: JsonObject | None = None
        self.sent = 0

    def note_perturbed(self, noted: JsonObject) -> None:
        """Note that a perturbation has changed the request before it reached the server."""
        # Later changes concern a repeated call, which is recorded as a frame of its own.
        if self.first is None:
            self._relayed.by.append(noted)

    async def proceed(self, request: Request) -> Observation:
        """Return the server's reply. A second call that is not allowed gets the first reply again."""
        original = self._relayed.request
        frame = with_request(original, request)
        if self.first is None:
            self.sent += 1
            self.reply = await self._relayed.send(frame)
            self.first = reply_observed(original, self.reply)
            return self.first
        if not self._repeats:
            self._notes["refused"] = f"a second real call of {request.tool.name}, which may write"
            return self.first
        self.sent += 1
        return reply_observed(original, await self._relayed.repeat(frame))


class RelayedPerturbation(PerturbedCall):
    """One perturbation around a relayed call. A request that it changed, dropped or repeated counts as a change too."""

    def __init__(self, server: Server, chain: PerturbationChain, place: int, call: Call) -> None:
        super().__init__(chain, place, call)
        kind = self.active.kind
        self.noted: JsonObject = {"label": kind.label, "use": kind.armed.use, "matching": self.matching}
        self._server = server
        self._taken = 0
        self._more = False

    async def proceed(self, onward: Request) -> Observation:
        server = self._server
        before = server.sent
        if not is_same(onward, self.call.request):
            self._more = True
            server.note_perturbed(self.noted)
        reply = await super().proceed(onward)
        self._taken += 1
        self._more |= self._taken > 1 and server.sent > before
        return reply

    def close(self, observation: Observation) -> tuple[Changed, ...]:
        """Return the changed parts of the outcome; `wire` if anything but the unchanged request went to the server, or nothing did."""
        changed = super().close(observation)
        return tuple(sorted({*changed, "wire"})) if self._more or not self._taken else changed
