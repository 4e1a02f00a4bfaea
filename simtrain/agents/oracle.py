"""The policies that carry out a plan exactly as it is written."""

from __future__ import annotations

from typing import ClassVar, Literal

from simtrain.agents.plan import PlanPolicy, Walk, Walking
from simtrain.contracts.agent import Briefing
from simtrain.contracts.plan import Plan


class Oracle(PlanPolicy):
    """Carries out the scenario's reference plan exactly."""

    def walk(self, plan: Plan, briefing: Briefing) -> Walking:
        """Return every step as it is written."""
        return Walk(plan, briefing.stated).run()


class Wrong(PlanPolicy):
    """Carries out the scenario's `wrong` plan: a plausible mistake that the rubric must catch."""

    key: ClassVar[Literal["reference", "wrong"]] = "wrong"

    def walk(self, plan: Plan, briefing: Briefing) -> Walking:
        """Return every step as it is written; one that cannot be evaluated is passed over."""
        return Walk(plan, briefing.stated, tolerant=True).run()
