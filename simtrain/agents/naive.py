"""The plan as a careless agent carries it out."""

from simtrain.agents.plan import PlanPolicy, Walk, Walking
from simtrain.contracts.agent import Briefing
from simtrain.contracts.plan import Plan


class Naive(PlanPolicy):
    """The reference plan, carelessly: reads first pages only, ignores errors, claims success at the end."""

    def walk(self, plan: Plan, briefing: Briefing) -> Walking:
        """Take every step, but read only first pages; skip what cannot be done and claim that it is done."""
        return Walk(plan, briefing.stated, careless=True).run()
