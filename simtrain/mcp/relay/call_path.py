"""The path of a call through the perturbations of a relay to its server."""

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
    """The end of the path: the server, called once, and again only if the rules allow it."""

    def __init__(self, relayed: RelayedCall, notes: JsonObject, *, repeats: bool) -> None:
        self._relayed = relayed
        self._notes = notes
        self._repeats = repeats
        self.first: Observation | None = None
        self.reply: JsonObject | None = None
        self.sent = 0

    def note_perturbed(self, noted: JsonObject) -> None:
        """A perturbation has changed the request on its way to the server."""
        if self.first is None:
            self._relayed.by.append(noted)

    async def proceed(self, request: Request) -> Observation:
        """Return the server's answer. A second call that is not allowed gets the first answer again."""
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


class RelayChain(PerturbationChain):
    """A chain of perturbations whose end is a real server."""

    def __init__(
        self,
        matched: Sequence[tuple[Active, int]],
        answer: Answer,
        server: Server,
        call: Callable[[Active, Request, int], Call],
        fired: list[JsonObject],
        counts: dict[str, int],
    ) -> None:
        """What they change is noted in `fired`, the innermost first, and counted by label in `counts`."""
        super().__init__(matched, answer, _nobody)
        self.server = server
        self.fired = fired
        self.counts = counts
        self._call = call

    def enter(self, place: int, request: Request) -> PerturbedCall[PerturbationChain]:
        active, matching = self.met[place]
        return _RelayStep(self, place, self._call(active, request, matching))


class _RelayStep(PerturbedCall[RelayChain]):
    """The rest of the path as one perturbation sees it; a request that it changed, dropped or repeated counts as a change too."""

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
            server.note_perturbed(self._noted)
        reply = await super().proceed(onward)
        self._taken += 1
        self._more |= self._taken > 1 and server.sent > before
        return reply

    def leave(self, observation: Observation) -> None:
        on_wire = self._more or not self._taken
        changed = sorted({*self.close(observation), *(("wire",) if on_wire else ())})
        self.chain.counts[self.active.label] += self.active.settle(self.matching, bool(changed))
        if changed:
            self.chain.fired.append({**self._noted, "changed": changed})


def _nobody(request: Request, moment: float) -> None:
    """No world stands behind a relay that could be asked beforehand."""
