"""What trained models can do in held-out worlds, and by how much one does better than another at the same cases."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from simtrain.contracts.trajectory import SUCCESS, Trajectory
from simtrain.drills.statistics import Estimate, difference
from simtrain.integrations.train.playing import condition
from simtrain.runs.intervals import share_interval


@dataclass(frozen=True, slots=True)
class CaseOutcome:
    """One graded episode: the family, the case in it, the condition, the seed of the training, and whether it was solved."""

    family: str
    case: str
    condition: str
    seed: int
    solved: bool

    @property
    def pair(self) -> tuple[str, str, str, int]:
        """Return what two models have in common where they played the same."""
        return self.family, self.case, self.condition, self.seed


@dataclass(frozen=True, slots=True)
class Success:
    """The share of episodes that were solved, with its 95 % interval over cases."""

    solved: int
    episodes: int
    low: float | None
    high: float | None

    @property
    def share(self) -> float:
        """Return the share, 0 to 1."""
        return self.solved / self.episodes


def outcomes(trajectories: Iterable[Trajectory], *, seed: int) -> list[CaseOutcome]:
    """Return the outcomes of a model's episodes; those without a reward are left out, as nobody's success or failure."""
    return [
        CaseOutcome(
            trajectory.scenario,
            f"{trajectory.episode}.{trajectory.attempt}",
            condition(trajectory.arm),
            seed,
            trajectory.reward >= SUCCESS,
        )
        for trajectory in trajectories
        if trajectory.reward is not None
    ]


def success(found: Sequence[CaseOutcome]) -> Success | None:
    """Return the share of successes; None without an episode. Episodes of one case, also by models of other seeds, are a cluster."""
    if not found:
        return None
    clusters: dict[tuple[str, str], list[bool]] = defaultdict(list)
    for one in found:
        clusters[one.family, one.case].append(one.solved)
    low, high = share_interval([(sum(values), len(values)) for values in clusters.values()])
    return Success(sum(one.solved for one in found), len(found), low, high)


def gain(before: Sequence[CaseOutcome], after: Sequence[CaseOutcome]) -> Estimate | None:
    """Return by how much the second does better, over the cases that both played with the same seed; clusters are cases."""
    first: Mapping[tuple[str, str, str, int], bool] = {one.pair: one.solved for one in before}
    clusters: dict[tuple[str, str], list[float]] = defaultdict(list)
    for one in after:
        if one.pair in first:
            clusters[one.family, one.case].append(float(one.solved) - float(first[one.pair]))
    return difference(list(clusters.values()))
