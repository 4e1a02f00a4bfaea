"""Perturbation: every case is played clean, with each of the scenario's perturbations alone, and with all of them."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from simtrain.contracts.perturbation import Armed
from simtrain.contracts.scenario import Episode, Scenario
from simtrain.perturbations.attacks.grading import with_attacks
from simtrain.scenarios.paradigms.impersonation import Impersonation
from simtrain.values.arm import CLEAN, Arm


class PairedPerturbation(Impersonation):
    """Each case is dealt in every arm, one after the other, so the cost of a perturbation is read from pairs.

    Schedules are drawn from seed, scenario, episode and label, which the arms share: a fault that fires alone fires at
    the same place among others.
    """

    def episodes(self, scenario: Scenario, *, seed: int, attempts: int) -> Iterable[Episode]:
        """Return cases, variants and attempts as in impersonation; the arms of each follow one another. Raises InputError."""
        arms = list(arms_of(scenario))
        for episode in super().episodes(scenario, seed=seed, attempts=attempts):
            for armed in arms:
                yield Episode(armed, episode.id, episode.case, episode.variant, seed, episode.attempt)


def arms_of(scenario: Scenario) -> Iterator[Scenario]:
    """Yield a scenario with its own perturbations: none of them, each alone, and (where there are several) all together."""
    yield scenario.under(Arm(CLEAN), perturbations=())
    for item in scenario.perturbations:
        yield _arm(scenario, f"own/{item.label}", (item,))
    # With a single one this would be the arm before it.
    if len(scenario.perturbations) > 1:
        yield _arm(scenario, "own", scenario.perturbations)


def _arm(scenario: Scenario, name: str, items: tuple[Armed, ...]) -> Scenario:
    inside = scenario.under(Arm(name, labels=tuple(item.label for item in items)), perturbations=items)
    return replace(inside, grading=with_attacks(scenario.grading, items))
