"""The way of a call from the perturbations of a relay to its server."""

from __future__ import annotations

from simtrain.firing import is_same
from simtrain.request import Answer, Request
from simtrain.serving.relay.crossing import Crossing
from simtrain.serving.relay.requests import reply_observed, with_request
from simtrain.types import JsonObject, Observation


class Server:
    """The end of the way: the server, reached once, and again only where that is allowed."""

    def __init__(self, crossing: Crossing, notes: JsonObject, *, repeats: bool) -> None:
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
        """The server's answer. A second call that is not allowed gets the first answer again."""
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


class Way:
    """The way on as one perturbation takes it: `bent` says whether anything else went to the server than the very request, once."""

    def __init__(self, request: Request, inner: Answer, server: Server, noted: JsonObject) -> None:
        self._request = request
        self._inner = inner
        self._server = server
        self._noted = noted
        self._taken = 0
        self._other = False

    @property
    def bent(self) -> bool:
        return self._other or not self._taken

    async def proceed(self, onward: Request) -> Observation:
        before = self._server.sent
        if not is_same(onward, self._request):
            self._other = True
            self._server.bent_by(self._noted)
        reply = await self._inner(onward)
        self._taken += 1
        self._other |= self._taken > 1 and self._server.sent > before
        return reply


def nobody(request: Request, moment: float) -> None:
    """No world stands behind a relay that could be asked beforehand."""
