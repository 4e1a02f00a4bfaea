"""The contract of paradigms: how a scenario becomes episodes, and an episode an environment."""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import ClassVar

from simtrain.contracts.environment import Environment
from simtrain.contracts.plan import Plan
from simtrain.contracts.plugin import Plugin
from simtrain.contracts.scenario import Episode, Scenario
from simtrain.contracts.world import World
from simtrain.values.types import Action


class Paradigm(Plugin):
    """Turns a scenario into episodes and each episode into an environment. `plans`: it derives a plan for every case itself."""

    plans: ClassVar[bool] = False

    @abstractmethod
    def episodes(self, scenario: Scenario, *, seed: int, attempts: int) -> Iterable[Episode]:
        """Return the episodes in playing order: by case, then world variant, then attempt. Raises InputError."""

    @abstractmethod
    def open(self, episode: Episode, *, world: World | None = None) -> Environment:
        """Return the environment of one episode, for the caller to enter; over `world`, if given, instead of the
        episode's own base.
        """

    def reference(self, episode: Episode) -> Plan | None:
        """Return the plan that solves an episode's task: the scenario's own, unless `plans`. Raises InputError."""
        return episode.scenario.spec.reference

    def wrong(self, episode: Episode) -> Plan | None:
        """Return a plausible mistake: the scenario's own wrong plan. Raises InputError."""
        return episode.scenario.spec.wrong

    def detour(self, episode: Episode, lost: Sequence[Action]) -> Plan | None:
        """Return another plan for the same task that avoids the `lost` calls; None if there is none."""
        return None
