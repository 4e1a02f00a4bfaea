"""A policy that carries out the plan carelessly."""

from simtrain.agents.plan import PlanPolicy, Walk
from simtrain.agents.planned import Walking
from simtrain.contracts.agent import Briefing
from simtrain.contracts.plan import Plan


class Naive(PlanPolicy):
    """The reference plan, carelessly: reads first pages only, ignores errors, claims success at the end."""

    def walk(self, plan: Plan, briefing: Briefing) -> Walking:
        """Take every step, but read only first pages; skip steps that cannot be done and claim success."""
        return Walk(plan, briefing.stated, careless=True).run()
