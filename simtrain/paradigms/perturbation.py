"""Perturbation: every case is played clean, with each of the scenario's perturbations alone, and with all of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from simtrain.arm import CLEAN, Arm
from simtrain.paradigms.impersonation import Impersonation
from simtrain.scenario import Episode, Scenario


class PairedPerturbation(Impersonation):
    """Each case is dealt in every arm, one after the other, so that what a perturbation costs is read from pairs.

    Schedules are drawn from seed, scenario, episode and label, which the arms share: a fault that fires alone fires at the same
    place among the others.
    """

    def episodes(self, scenario: Scenario, *, seed: int, attempts: int) -> Iterable[Episode]:
        """Cases, variants and attempts as in impersonation; the arms of each follow one another. Raises InputError."""
        arms = list(arms_of(scenario))
        for episode in super().episodes(scenario, seed=seed, attempts=attempts):
            for armed in arms:
                yield Episode(armed, episode.id, episode.case, episode.variant, seed, episode.attempt)


def arms_of(scenario: Scenario) -> Iterator[Scenario]:
    """A scenario with its own perturbations: none of them, each alone, and (where there are several) all together."""
    yield scenario.under(Arm(CLEAN), perturbations=())
    for item in scenario.perturbations:
        yield scenario.under(Arm(f"own/{item.label}", labels=(item.label,)), perturbations=(item,))
    if len(scenario.perturbations) > 1:
        labels = tuple(item.label for item in scenario.perturbations)
        yield scenario.under(Arm("own", labels=labels), perturbations=scenario.perturbations)
