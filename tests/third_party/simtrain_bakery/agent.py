"""An agent: lists the cakes and gives up."""

from __future__ import annotations

from simtrain.policy import Briefing, Loop, StepFunction
from simtrain.types import Message


class Baker(Loop):
    """Looks once, then declines."""

    async def run(self, briefing: Briefing, step: StepFunction) -> Message:
        """One call of the first tool."""
        seen = await step(briefing.tools[0].name, {})
        return Message(f"CANNOT: {seen.text[:20]}", abstain=True)
