"""A question about cookies over every page."""

from typing import ClassVar

from simtrain.contracts.perturbation import Call, Traits
from simtrain.contracts.request import Answer
from simtrain.perturbations.app_pages import OnPages, app_of, can_be_covered, cover, is_covered, look
from simtrain.values.types import Observation
from simtrain.worlds.app.world import AppState

_WALL = """\
aria-label="Your privacy"><h2>Your privacy</h2>
<p>We and our partners store information on your device, to measure and to improve what we offer.</p>
<button type="button" data-dismiss>Accept all</button>
<button type="button" data-dismiss>Reject all</button>
<button type="button" aria-expanded="false" data-opens="simtrain-cookies">Settings</button>
<div id="simtrain-cookies" hidden><label><input type="checkbox" checked disabled> Necessary</label>
<label><input type="checkbox"> Statistics</label>
<button type="button" data-dismiss>Save choice</button></div>"""


class CookieWall(OnPages):
    """From the page on which it fires, a question about cookies lies over every page until it is answered.

    Source: what public sites do. An agent should answer it, with the least that is offered, and go on. It fires where
    an agent looks at a page.
    """

    traits: ClassVar[Traits] = Traits(
        side="reply", layer="P", recoverable_by=("retry",), needs_world=True, follows="fired", page=True
    )

    async def apply(self, call: Call, proceed: Answer) -> Observation:
        """Lay the wall over the page that a call shows."""
        return await self._shown(call, proceed)

    async def follow(self, call: Call, proceed: Answer) -> Observation:
        """Lay the wall over further pages until it was answered."""
        return await self._shown(call, proceed) if call.memory.get("up") else await proceed(call.request)

    async def _shown(self, call: Call, proceed: Answer) -> Observation:
        app = app_of(call)
        before = None if app is None or not is_covered(app) else _page(app)
        reply = await proceed(call.request)
        if app is None or call.memory.get("answered"):
            return reply
        if call.memory.get("up") and before == _page(app) and not is_covered(app):
            call.memory["answered"] = True
            return reply
        if not can_be_covered(app, call.request, reply):
            return reply
        call.memory["up"] = True
        cover(app, _WALL)
        return self.signed(look(app, call.request))


def _page(app: AppState) -> tuple[int, int]:
    """Return what tells the document in front from others."""
    return app.browser.current, app.browser.page.serial
