"""One call, two effects."""

from typing import ClassVar

from simtrain.contracts.perturbation import Call, Traits
from simtrain.contracts.request import Answer
from simtrain.perturbations.app_pages import app_of, submitted
from simtrain.perturbations.catalogued import Catalogued
from simtrain.values.types import JsonObject, Observation
from simtrain.worlds.app.web.exchange import SiteRequest
from simtrain.worlds.app.world import AppState


class DuplicateDelivery(Catalogued):
    """A write is delivered twice: its effect lands twice, and the caller sees the first reply.

    Source: ReliabilityBench, ToolMisuseBench, AgentChaos. An agent should check the state before it reports success,
    and undo the surplus. Reads pass, and so do writes whose repetition the service refuses. On the pages of an app it is
    a form that is sent by a double click.
    """

    traits: ClassVar[Traits] = Traits(
        side="call", layer="D", effect="after", visible=False, recoverable_by=("verify",), page=True
    )
    example: ClassVar[JsonObject] = {"when": {"tools": "orders.place"}}

    async def apply(self, call: Call, proceed: Answer) -> Observation:
        """Carry a write out twice; a call that was refused is not repeated."""
        app = app_of(call)
        if app is not None:
            return await self._clicked_twice(call, app, proceed)
        first = await proceed(call.request)
        if first.is_error or not call.request.tool.writes:
            return first
        second = await proceed(call.request)
        return first if second.is_error else self.signed(first)

    async def _clicked_twice(self, call: Call, app: AppState, proceed: Answer) -> Observation:
        sent = submitted(app, call.request)
        first = await proceed(call.request)
        if sent is None or first.is_error or not _lands(app, sent):
            return first
        app.respond(sent)
        return self.signed(first)


def _lands(app: AppState, sent: SiteRequest) -> bool:
    """Return whether the site takes a form and changes rows by it."""
    before = app.changes()
    with app.savepoint():
        return app.respond(sent).rule is None and app.changes() != before
