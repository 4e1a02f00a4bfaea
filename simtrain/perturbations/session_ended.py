"""A visitor is signed out in the middle of a form."""

from typing import ClassVar

from simtrain.contracts.perturbation import Call, Traits
from simtrain.contracts.request import Answer
from simtrain.perturbations.app_pages import OnPages, app_of, submitted
from simtrain.values.types import Observation


class SessionEnded(OnPages):
    """The site has ended the session while a form was filled in: sending it leads to sign in, and what was typed is lost.

    Source: ToolMisuseBench, AgentDisruptBench. An agent should sign in again, fill the form in once more and send it, or say that
    it cannot. It fires on an action that sends a form for which one must be signed in.
    """

    traits: ClassVar[Traits] = Traits(
        side="call", layer="P", recoverable_by=("re-auth", "retry", "abstain"), needs_world=True, page=True
    )

    async def apply(self, call: Call, proceed: Answer) -> Observation:
        """End all sessions before a form arrives."""
        app = app_of(call)
        sent = None if app is None else submitted(app, call.request)
        if app is None or sent is None:
            return await proceed(call.request)
        session, form = app.sessions.find(sent.session), app.world.site.forms.find(sent.address.path)
        if session is None or session.user is None or form is None or form[0].roles is None:
            return await proceed(call.request)
        app.sessions.expire()
        return self.signed(app.answer(call.request))
