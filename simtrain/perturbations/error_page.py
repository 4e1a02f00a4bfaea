"""A page of the site that says that something went wrong."""

from typing import ClassVar

from pydantic import Field

from simtrain.contracts.perturbation import Call, Traits
from simtrain.contracts.request import Answer
from simtrain.perturbations.app_pages import OnPages, app_of, asked
from simtrain.values.types import JsonObject, Observation
from simtrain.worlds.app.web.exchange import SiteRequest, SiteResponse

_SAID = ("Something went wrong on our side. Please try again.", "Internal server error", "We are having trouble.")


class ErrorPage(OnPages):
    """A page is answered with an error page of status 500, and what was sent is not carried out; the next request works.

    Source: ReliabilityBench, AgentDisruptBench. An agent should go back and do the same again, a bounded number of times.
    It fires on an action that asks something of the site.
    """

    traits: ClassVar[Traits] = Traits(
        side="call", layer="P", recoverable_by=("retry", "verify"), needs_world=True, page=True
    )
    example: ClassVar[JsonObject] = {}

    status: int = Field(default=500, ge=500, le=599, description="The status of the error page.")

    async def apply(self, call: Call, proceed: Answer) -> Observation:
        """Answer what is asked of the site with an error page."""
        app = app_of(call)
        if app is None or not asked(app, call.request):
            return await proceed(call.request)
        text = call.rng.choose(_SAID)

        def failing(request: SiteRequest) -> SiteResponse:
            return app.world.site.error_page(request, app, self.status, text)

        with app.answering(failing):
            return self.signed(app.answer(call.request))
