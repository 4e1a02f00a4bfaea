"""A paradigm: only the first case of a scenario."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from simtrain.contracts.scenario import Episode, Scenario
from simtrain.scenarios.paradigms.impersonation import Impersonation


class FirstCase(Impersonation):
    """One episode a scenario."""

    def episodes(self, scenario: Scenario, *, seed: int, attempts: int) -> Iterable[Episode]:
        """The first episode that impersonation would deal."""
        return islice(super().episodes(scenario, seed=seed, attempts=attempts), 1)
