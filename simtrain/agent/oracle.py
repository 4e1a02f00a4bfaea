"""The policies that carry out a plan exactly as it stands."""

from __future__ import annotations

from simtrain.agent.plan import PlanPlayer, Walk
from simtrain.errors import InputError
from simtrain.policy import Briefing, Player, Policy


class Oracle(Policy):
    """Carries out the scenario's reference plan, exactly."""

    def player(self, briefing: Briefing) -> Player:
        """Raises InputError when the scenario has no reference."""
        if briefing.reference is None:
            raise InputError("the scenario has no `reference` plan", remedy="add one, or choose another agent")
        return PlanPlayer(Walk(briefing.reference, briefing.stated).run())


class Wrong(Policy):
    """Carries out the scenario's `wrong` plan: a plausible mistake that the rubric must catch."""

    def player(self, briefing: Briefing) -> Player:
        """Raises InputError when the scenario has no wrong plan."""
        if briefing.wrong is None:
            raise InputError("the scenario has no `wrong` plan", remedy="add one, or choose another agent")
        return PlanPlayer(Walk(briefing.wrong, briefing.stated, tolerant=True).run())
