"""The plan as a careless agent carries it out."""

from __future__ import annotations

from simtrain.agents.plan import PlanPolicy, Walk, Walking
from simtrain.contracts.agent import Briefing
from simtrain.contracts.plan import Plan


class Naive(PlanPolicy):
    """The reference plan, carelessly: reads first pages only, ignores errors, claims success at the end."""

    def walk(self, plan: Plan, briefing: Briefing) -> Walking:
        """First pages only; what cannot be done is passed over and claimed done."""
        return Walk(plan, briefing.stated, careless=True).run()
