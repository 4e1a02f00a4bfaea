"""A form is sent, and no page comes back."""

from typing import ClassVar

from pydantic import Field

from simtrain.contracts.perturbation import Call, Traits
from simtrain.contracts.request import Answer
from simtrain.perturbations.app_pages import OnPages, app_of, submitted
from simtrain.values.types import JsonObject, Observation
from simtrain.worlds.app.browser.browser import UNREACHED
from simtrain.worlds.app.web.exchange import SiteRequest, SiteResponse


class LostSubmit(OnPages):
    """A form is sent and the browser shows that the site did not answer; what was sent was carried out, or was not.

    Source: ReliabilityBench, ToolMisuseBench. An agent should look whether the effect is there before it sends the form
    again. It fires on an action that sends a form.
    """

    traits: ClassVar[Traits] = Traits(
        side="call", layer="D", recoverable_by=("verify", "retry"), needs_world=True, page=True
    )
    example: ClassVar[JsonObject] = {"with": {"landed": True}}

    landed: bool | None = Field(default=None, description="Whether it was carried out; unset, drawn.")
    seconds: float = Field(default=30, ge=0, description="Virtual seconds until the browser gives up.")

    async def apply(self, call: Call, proceed: Answer) -> Observation:
        """Lose the form, or the page that answers it."""
        app = app_of(call)
        if app is None or submitted(app, call.request) is None:
            return await proceed(call.request)
        landed = call.rng.once() < 0.5 if self.landed is None else self.landed
        html = UNREACHED.format("ERR_TIMED_OUT")

        def silent(request: SiteRequest) -> SiteResponse:
            if request.method != "POST":
                return app.site_response(request)
            if landed:
                app.site_response(request)
            return app.world.site.other_page(request, app, 0, html)

        with app.answering(silent):
            reply = app.answer(call.request)
        call.clock.advance(self.seconds)
        return self.signed(reply)
