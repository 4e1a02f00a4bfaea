"""A page of an app that renders itself anew while an agent makes up its mind."""

from typing import ClassVar

from simtrain.contracts.perturbation import Call, Traits
from simtrain.contracts.request import Answer, Request
from simtrain.perturbations.app_pages import OnPages, app_of
from simtrain.values.types import JsonObject, JsonValue, Observation
from simtrain.worlds.app.actions.browsergym import BID
from simtrain.worlds.app.actions.locators import REF as WRITTEN_REF
from simtrain.worlds.app.actions.seen import REF
from simtrain.worlds.app.browser.nodes import put
from simtrain.worlds.app.browser.page import OpenPage

_BIDS = ("bid", "from_bid", "to_bid")


class StaleRefs(OnPages):
    """The page renders itself anew just before an agent acts on it: each ref or bid that it was shown is stale.

    Source: what sites do that render in the browser, and the errors of @playwright/mcp and BrowserGym. An agent should look
    at the page again, and act by the refs that it has now. It fires on an action that names an element by a ref or a bid.
    """

    traits: ClassVar[Traits] = Traits(side="call", layer="P", recoverable_by=("retry",), needs_world=True, page=True)
    example: ClassVar[JsonObject] = {}

    async def apply(self, call: Call, proceed: Answer) -> Observation:
        """Take away the marks of all elements, and carry out the call then."""
        app = app_of(call)
        if app is None or not _names_mark(call.request) or not _render_anew(app.browser.page):
            return await proceed(call.request)
        return self.signed(app.answer(call.request))


def _names_mark(request: Request) -> bool:
    """True for a call that names an element by a ref or a bid."""
    arguments = request.arguments
    if any(name in arguments for name in _BIDS):
        return True
    fields: list[JsonObject] = arguments.get("fields") or []
    targets: list[JsonValue] = [arguments.get("target"), *(field.get("target") for field in fields)]
    return any(isinstance(target, str) and WRITTEN_REF.fullmatch(target) for target in targets)


def _render_anew(page: OpenPage) -> bool:
    """Put equal elements in place of those of the page, without the marks that they had; False for a page without marks."""
    marked = [(node, name) for name in (REF, BID) for node in page.document.css(f"[{name}]")]
    for node, name in marked:
        put(node, name, None)
    if marked:
        page.touch()
    return bool(marked)
