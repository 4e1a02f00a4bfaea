"""An agent: lists the cakes and gives up."""

from __future__ import annotations

from simtrain.contracts.agent import Briefing, Loop, StepFunction
from simtrain.values.types import Message


class Baker(Loop):
    """Looks once, then declines."""

    async def run(self, briefing: Briefing, step: StepFunction) -> Message:
        """One call of the first tool."""
        seen = await step(briefing.tools[0].name, {})
        return Message(f"CANNOT: {seen.text[:20]}", abstain=True)
