"""Policies that carry out a plan exactly as written."""

from typing import ClassVar, Literal

from simtrain.agents.plan import PlanPolicy, Walk
from simtrain.agents.planned import Walking
from simtrain.contracts.agent import Briefing
from simtrain.contracts.plan import Plan


class Oracle(PlanPolicy):
    """Carries out the scenario's reference plan exactly."""

    def walk(self, plan: Plan, briefing: Briefing) -> Walking:
        """Take every step as written."""
        return Walk(plan, briefing.stated).run()


class Wrong(PlanPolicy):
    """Carries out the scenario's `wrong` plan: a plausible mistake that the rubric must catch."""

    key: ClassVar[Literal["reference", "wrong"]] = "wrong"

    def walk(self, plan: Plan, briefing: Briefing) -> Walking:
        """Take every step as written; skip one that cannot be evaluated."""
        return Walk(plan, briefing.stated, tolerant=True).run()
