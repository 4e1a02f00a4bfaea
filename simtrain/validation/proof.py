"""What was proved of a scenario family, and why something earned less than all."""

from __future__ import annotations

from dataclasses import dataclass, field

from simtrain.contracts.trajectory import SUCCESS, Trajectory
from simtrain.values.types import JsonObject


@dataclass
class Proof:
    """What was proved of a family: `problems` is empty when all held.

    `rules` are the refusals met, `calls` the oracle's fewest and most; `warnings` name what is allowed and hardly meant.
    """

    name: str
    cases: int = 0
    calls: tuple[int, int] = (0, 0)
    rules: set[str] = field(default_factory=set[str])
    problems: list[str] = field(default_factory=list[str])
    warnings: list[str] = field(default_factory=list[str])

    def facts(self) -> JsonObject:
        """As `simtrain validate --json` prints it."""
        return {
            "name": self.name,
            "ok": not self.problems,
            "cases": self.cases,
            "calls": list(self.calls),
            "rules": sorted(self.rules),
            "problems": self.problems,
            "warnings": self.warnings,
        }


def why(trajectory: Trajectory) -> str:
    """Return what a trajectory lost its reward by, in a few words."""
    if trajectory.stop.detail:
        return trajectory.stop.detail
    lost = [reward for reward in trajectory.rewards if reward.value is None or reward.value < SUCCESS]
    return "; ".join(f"{reward.grader}: {reward.error or reward.detail}" for reward in lost)[:400]
