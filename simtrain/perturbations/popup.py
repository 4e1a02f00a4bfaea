"""Something that nobody asked for lies over a page."""

from typing import ClassVar

from simtrain.contracts.perturbation import Call, Traits
from simtrain.contracts.request import Answer
from simtrain.perturbations.app_pages import OnPages, app_of, can_be_covered, cover_with_question, look
from simtrain.values.types import Observation

_POPUPS = (
    ("Newsletter", "Be the first to know. Subscribe and get 10 % off.", "Subscribe", "No thanks"),
    ("Tell us what you think", "How likely are you to recommend us? It takes a minute.", "Start", "Not now"),
    ("Get our app", "Everything is faster in the app.", "Install", "Continue in the browser"),
    ("What is new", "We have redesigned the navigation. Take a short tour.", "Show me", "Skip"),
)


class Popup(OnPages):
    """A pop-up lies over the page, and nothing below it can be clicked until it is closed.

    Source: what public sites do. An agent should close it and go on. It fires where an agent looks at a page: on a
    snapshot, or on any action of BrowserGym.
    """

    traits: ClassVar[Traits] = Traits(side="reply", layer="P", recoverable_by=("retry",), needs_world=True, page=True)

    async def apply(self, call: Call, proceed: Answer) -> Observation:
        """Lay the pop-up over the page that a call shows."""
        reply = await proceed(call.request)
        app = app_of(call)
        if not can_be_covered(app, call.request, reply):
            return reply
        title, text, yes, no = call.rng.choose(_POPUPS)
        cover_with_question(
            app, title, text,
            f'<button type="button" data-dismiss>{yes}</button><button type="button" data-dismiss>{no}</button>'
            '<button type="button" aria-label="Close" data-dismiss>×</button>',
        )  # fmt: skip
        return self.signed(look(app, call.request))
