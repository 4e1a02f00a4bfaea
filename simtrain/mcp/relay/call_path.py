"""The path of a call through the perturbations of a relay to its server."""

from __future__ import annotations

from simtrain.contracts.perturbation import Call
from simtrain.contracts.request import Request
from simtrain.contracts.trajectory import Changed
from simtrain.episodes.firing import PerturbationChain, PerturbedCall, is_same
from simtrain.mcp.relay.call import RelayedCall
from simtrain.mcp.relay.perturbable_requests import reply_observed, with_request
from simtrain.values.types import JsonObject, Observation


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
        # A real server is not a fork: a duplicate write could not be undone, so it is imitated by the first reply.
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
