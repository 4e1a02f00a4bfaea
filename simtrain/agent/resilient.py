"""The plan, carried out with general recovery skills."""

from __future__ import annotations

from collections.abc import Generator, Mapping

from pydantic import Field

from simtrain.agent.plan import Calling, Planned, PlanPolicy, Walk, Walking, declining
from simtrain.agent.recovery import Trouble, diagnose, mend
from simtrain.errors import InputError
from simtrain.policy import Briefing
from simtrain.reference import Plan
from simtrain.types import Observation, ToolSpec


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
        self._reads: list[tuple[Planned, str]] = []
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
        observation = yield planned
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
                landed = yield from self._landed()
                if landed is not None:
                    return landed
            observation = yield planned
        if not observation.is_error and not self._writes(planned):
            self._reads.append((planned, observation.text))
        return observation

    def _mended(self, planned: Planned) -> dict[str, object]:
        tool = self._tools.get(planned.tool)
        return mend(planned.arguments, tool.input_schema) if tool else dict(planned.arguments)

    def _writes(self, planned: Planned) -> bool:
        tool = self._tools.get(planned.tool)
        return tool is not None and tool.writes

    def _landed(self) -> Generator[Planned, Observation, Observation | None]:
        """Read again what was read last; when it reads otherwise now, the lost write has landed and this is what it left."""
        if not self._reads:
            return None
        read, before = self._reads[-1]
        observation = yield read
        if observation.is_error or observation.text == before:
            return None
        self._reads[-1] = (read, observation.text)
        return observation
