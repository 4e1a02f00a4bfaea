"""A grader: short episodes are good episodes."""

from __future__ import annotations

from pydantic import Field

from simtrain.grader import Grader, score
from simtrain.trajectory import Reward, Trajectory
from simtrain.world import FinishedWorld


class Brevity(Grader):
    """1 within `steps`, else 0."""

    steps: int = Field(default=5, description="Steps that are still short.")

    async def grade(self, trajectory: Trajectory, world: FinishedWorld) -> Reward:
        """Count the steps."""
        return score(float(len(trajectory.steps) <= self.steps), steps=len(trajectory.steps))
