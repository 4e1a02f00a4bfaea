"""The arm of a paired comparison: the same episodes of a scenario, with these perturbations and no others."""

from __future__ import annotations

from dataclasses import dataclass

CLEAN = "clean"
PRIMED = "primed"


@dataclass(frozen=True)
class Arm:
    """One side of a paired comparison.

    `packs` are the perturbation packs of the whole comparison, which settle under which labels its perturbations are known;
    none means the scenario's own perturbations. `labels` are those that are armed here. `severity` holds where knobs leave
    it open; None leaves it to the pack. `cases` is how many cases of each scenario are drawn; None for as many as it has.
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
        """True if nothing goes wrong in the arm."""
        return not self.labels
