"""The way of a call from the perturbations of a relay to its server."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from simtrain.contracts.perturbation import Call
from simtrain.contracts.request import Answer, Request
from simtrain.episodes.active_perturbation import Active
from simtrain.episodes.firing import PerturbationChain, PerturbedCall, is_same
from simtrain.mcp.relay.call import RelayedCall
from simtrain.mcp.relay.perturbable_requests import reply_observed, with_request
from simtrain.values.types import JsonObject, Observation


class Server:
    """The end of the way: the server, reached once, and again only where that is allowed."""

    def __init__(self, crossing: RelayedCall, notes: JsonObject, *, repeats: bool) -> None:
        self._crossing = crossing
        self._notes = notes
        self._repeats = repeats
        self.first: Observation | None = None
        self.reply: JsonObject | None = None
        self.sent = 0

    def bent_by(self, noted: JsonObject) -> None:
        """A perturbation has changed the request on its way to the server."""
        if self.first is None:
            self._crossing.by.append(noted)

    async def proceed(self, request: Request) -> Observation:
        """Return the server's answer. A second call that is not allowed gets the first answer again."""
        asked = self._crossing.request
        frame = with_request(asked, request)
        if self.first is None:
            self.sent += 1
            self.reply = await self._crossing.send(frame)
            self.first = reply_observed(asked, self.reply)
            return self.first
        if not self._repeats:
            self._notes["refused"] = f"a second real call of {request.tool.name}, which may write"
            return self.first
        self.sent += 1
        return reply_observed(asked, await self._crossing.repeat(frame))


class RelayChain(PerturbationChain):
    """The way of a call through the perturbations of a relay, to its server."""

    def __init__(
        self,
        met: Sequence[tuple[Active, int]],
        answer: Answer,
        server: Server,
        call: Callable[[Active, Request, int], Call],
        fired: list[JsonObject],
        counts: dict[str, int],
    ) -> None:
        """What they change is noted in `fired`, the innermost first, and counted by label in `counts`."""
        super().__init__(met, answer, _nobody)
        self.server = server
        self.fired = fired
        self.counts = counts
        self._call = call

    def enter(self, place: int, request: Request) -> PerturbedCall[PerturbationChain]:
        active, matching = self.met[place]
        return _Way(self, place, self._call(active, request, matching))


class _Way(PerturbedCall[RelayChain]):
    """The way on as one perturbation takes it: something is changed as well where anything but the very request, once, went on."""

    def __init__(self, chain: RelayChain, place: int, call: Call) -> None:
        super().__init__(chain, place, call)
        kind = self.active.kind
        self._noted: JsonObject = {"label": kind.label, "use": kind.armed.use, "matching": self.matching}
        self._taken = 0
        self._more = False

    async def proceed(self, onward: Request) -> Observation:
        server = self.chain.server
        before = server.sent
        if not is_same(onward, self.call.request):
            self._more = True
            server.bent_by(self._noted)
        reply = await super().proceed(onward)
        self._taken += 1
        self._more |= self._taken > 1 and server.sent > before
        return reply

    def leave(self, observation: Observation) -> None:
        bent = self._more or not self._taken
        changed = sorted({*self.close(observation), *(("wire",) if bent else ())})
        self.chain.counts[self.active.label] += self.active.settle(self.matching, bool(changed))
        if changed:
            self.chain.fired.append({**self._noted, "changed": changed})


def _nobody(request: Request, moment: float) -> None:
    """No world stands behind a relay that could be asked beforehand."""
