"""The plan, carried out with general recovery skills."""

from __future__ import annotations

from pydantic import Field

from simtrain.agent.plan import Calling, Planned, PlanPolicy, Walk, Walking, declining
from simtrain.agent.skills.across import Across, is_barred, is_closed, is_down
from simtrain.agent.skills.believing import Believing
from simtrain.agent.skills.needs import may_fail
from simtrain.agent.skills.remedies import Remedies
from simtrain.agent.skills.renamed import new_names, translated
from simtrain.agent.skills.session import session_of
from simtrain.agent.skills.trusting import Trusting
from simtrain.errors import InputError
from simtrain.policy import Briefing
from simtrain.reference import Plan


class Resilient(PlanPolicy):
    """The reference plan with recovery skills, one a file in `simtrain.agent.skills`.

    Retries what may pass, fixes calls by the error and the schema, uses tools that remove the cause of an error, finds renamed tools,
    reads replies whatever they are written in, asks again where a reply gives cause for doubt, looks elsewhere for what it does not
    say, verifies a write before repeating it, and abstains honestly when every path is closed.
    """

    retries: int = Field(default=4, ge=0, description="How often one call is repeated.")
    checks: int = Field(
        default=4,
        ge=0,
        description="Reads of an episode that are made twice out of caution, and as many looks after writes that were reported done.",
    )

    def walk(self, plan: Plan, briefing: Briefing) -> Walking:
        """Every call with recovery; where the plan cannot go on, the task is declined."""
        caller = _Caller(plan, briefing, self)
        return _honest(Walk(plan, briefing.stated, call=caller.call).run(), caller)


def _honest(walking: Walking, caller: _Caller) -> Walking:
    """The walk; the task is declined where it cannot go on, and where nothing could be written because all of it was barred."""
    try:
        message = yield from walking
    except InputError as error:
        return declining(caller.last_error or str(error))
    return message if caller.barred is None or message.abstain else declining(caller.barred)


class _Caller:
    def __init__(self, plan: Plan, briefing: Briefing, knobs: Resilient) -> None:
        self._session = session_of(plan, briefing, checks=knobs.checks)
        self._names = new_names(plan.calls(), briefing.tools)
        planned = frozenset(self._names.get(step.call, step.call) for step in plan.calls())
        self._across = Across(
            self._session,
            Remedies(briefing.tools, planned),
            retries=knobs.retries,
            equivalents=briefing.equivalents or {},
        )
        self._believing = Believing(self._session, self._across)
        self._trusting = Trusting(self._session, self._across)
        self._may_fail = may_fail(plan)
        self._written = 0
        self._barred: str | None = None
        self.last_error: str | None = None

    @property
    def barred(self) -> str | None:
        """The error by which the latest write was barred, where none has been carried out."""
        return None if self._written else self._barred

    def call(self, planned: Planned) -> Calling:
        """Make a call, and go on trying while there is a sensible way. The reply that counts is returned.

        Raises InputError for a write that the service will not carry out at all, where the plan counts on it.
        """
        known = planned.tool
        planned = translated(planned, self._names, self._session.tools)
        heard = yield from self._across.make(planned)
        if heard.is_error:
            heard = (yield from self._believing.instead(planned)) or heard
        elif self._session.writes(planned):
            heard = yield from self._trusting.judge(heard)
        else:
            heard = yield from self._believing.judge(heard)
        self.last_error = heard.reply.text if heard.is_error else None
        if self._session.writes(planned):
            self._written += not heard.is_error
            if heard.is_error and is_barred(heard.reply.text):
                self._barred = heard.reply.text
                if is_closed(heard.reply.text) or (known not in self._may_fail and is_down(heard.reply.text)):
                    raise InputError(heard.reply.text)
        return heard.observation
