"""The plan as a careless agent carries it out."""

from __future__ import annotations

from simtrain.agent.plan import PlanPolicy, Walk, Walking
from simtrain.policy import Briefing
from simtrain.reference import Plan


class Naive(PlanPolicy):
    """The reference plan, carelessly: first pages only, errors passed over, success claimed at the end."""

    def walk(self, plan: Plan, briefing: Briefing) -> Walking:
        """Cursors are not followed, and what an error makes impossible is passed over."""
        return Walk(plan, briefing.stated, follow_pages=False, tolerant=True).run()
