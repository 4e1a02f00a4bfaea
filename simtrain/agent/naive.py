"""The plan as a careless agent carries it out."""

from __future__ import annotations

from simtrain.agent.plan import PlanPlayer, Walk
from simtrain.errors import InputError
from simtrain.policy import Briefing, Player, Policy


class Naive(Policy):
    """The reference plan, carelessly: first pages only, errors passed over, success claimed at the end."""

    def player(self, briefing: Briefing) -> Player:
        """Raises InputError when the scenario has no reference."""
        if briefing.reference is None:
            raise InputError("the scenario has no `reference` plan", remedy="add one, or choose another agent")
        return PlanPlayer(Walk(briefing.reference, briefing.stated, careless=True).run())
