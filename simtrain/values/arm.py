"""The arm of a paired comparison: the same episodes of a scenario, with these perturbations and no others."""

from dataclasses import dataclass

CLEAN = "clean"
PRIMED = "primed"


@dataclass(frozen=True)
class Arm:
    """One side of a paired comparison.

    `packs` are the perturbation packs of the whole comparison, which determine the labels of its perturbations; none means
    the scenario's own perturbations. `labels` are those armed here. `severity` applies unless knobs set it; None leaves it to
    the pack. `cases` is the number of cases drawn per scenario; None for all.
    `primed` gives a language world model the state of the world beforehand. `chance` multiplies the probability of every trigger,
    `progress` is that of the training (simtrain.curricula.stages).
    """

    name: str
    packs: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    severity: float | None = None
    cases: int | None = None
    primed: bool = False
    chance: float = 1.0
    progress: float = 1.0

    @property
    def control(self) -> bool:
        """True if the arm has no perturbations."""
        return not self.labels
