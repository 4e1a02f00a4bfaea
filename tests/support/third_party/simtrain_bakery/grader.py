"""A grader: short episodes are good episodes."""

from __future__ import annotations

from pydantic import Field

from simtrain.contracts.grader import Grader, score
from simtrain.contracts.trajectory import Reward, Trajectory
from simtrain.contracts.world import FinishedWorld


class Brevity(Grader):
    """1 within `steps`, else 0."""

    steps: int = Field(default=5, description="Steps that are still short.")

    async def grade(self, trajectory: Trajectory, world: FinishedWorld) -> Reward:
        """Count the steps."""
        return score(float(len(trajectory.steps) <= self.steps), steps=len(trajectory.steps))
