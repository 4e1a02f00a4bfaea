"""The plan, carried out with general recovery skills."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field

from simtrain.agent.plan import Calling, Planned, PlanPolicy, Walk, Walking, declining
from simtrain.agent.recovery import Trouble, diagnose, mend, says_done
from simtrain.agent.verifying import Verifier
from simtrain.errors import InputError
from simtrain.policy import Briefing
from simtrain.reference import Plan
from simtrain.types import JsonObject, ToolSpec


class Resilient(PlanPolicy):
    """The reference plan with recovery skills.

    Retries what may pass, mends arguments by the error and the schema, follows cursors, verifies a write before repeating it,
    switches to an equivalent tool, and abstains honestly when every path is closed.
    """

    retries: int = Field(default=4, ge=0, description="How often one call is repeated.")

    def walk(self, plan: Plan, briefing: Briefing) -> Walking:
        """Every call with recovery; where the plan cannot go on, the task is declined."""
        caller = _Recovering(briefing, self.retries)
        return _honest(Walk(plan, briefing.stated, call=caller.call).run(), caller)


def _honest(walking: Walking, caller: _Recovering) -> Walking:
    """The walk; where it cannot go on after an error reply, the task is declined for that reason."""
    try:
        return (yield from walking)
    except InputError as error:
        return declining(caller.last_error or str(error))


class _Recovering:
    def __init__(self, briefing: Briefing, retries: int) -> None:
        self._tools: Mapping[str, ToolSpec] = {tool.name: tool for tool in briefing.tools}
        self._equivalents = briefing.equivalents or {}
        self._retries = retries
        self._verifier = Verifier(self._tools)
        self.last_error: str | None = None

    def call(self, planned: Planned) -> Calling:
        """Make a call, and go on trying while there is a sensible way. The reply that counts is returned."""
        observation = yield from self._attempt(planned)
        for other in self._equivalents.get(planned.tool, ()):
            if not observation.is_error or diagnose(observation.text) is Trouble.refused:
                break
            if other in self._tools:
                switched = Planned(other, mend(planned.arguments, self._tools[other].input_schema))
                observation = yield from self._attempt(switched)
        self.last_error = observation.text if observation.is_error else None
        return observation

    def _attempt(self, planned: Planned) -> Calling:
        """One call, with its repetitions. Whether a write has landed is looked up before it is repeated."""
        observation = yield planned
        uncertain = False
        for _ in range(self._retries):
            if not observation.is_error:
                break
            trouble = diagnose(observation.text)
            if trouble is Trouble.refused:
                break
            if trouble is Trouble.arguments:
                mended = Planned(planned.tool, self._mended(planned))
                if mended == planned:
                    break
                planned = mended
            elif trouble is Trouble.ambiguous and self._writes(planned):
                uncertain = True
                landed = yield from self._verifier.look(planned)
                if landed is not None:
                    return landed
            observation = yield planned
        if observation.is_error and uncertain and says_done(observation.text):
            # The repetition is refused because the first attempt had landed.
            return (yield from self._verifier.look(planned, landed=True)) or observation
        if not observation.is_error:
            self._verifier.note(planned, observation)
        return observation

    def _mended(self, planned: Planned) -> JsonObject:
        tool = self._tools.get(planned.tool)
        return mend(planned.arguments, tool.input_schema) if tool else dict(planned.arguments)

    def _writes(self, planned: Planned) -> bool:
        tool = self._tools.get(planned.tool)
        return tool is not None and tool.writes
