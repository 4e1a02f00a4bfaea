"""The contract of paradigms: how a scenario becomes episodes, and an episode an environment."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable

from simtrain.environment import Environment
from simtrain.plugin import Plugin
from simtrain.scenario import Episode, Scenario
from simtrain.world import World


class Paradigm(Plugin):
    """Turns a scenario into episodes and each episode into an environment."""

    @abstractmethod
    def episodes(self, scenario: Scenario, *, seed: int, attempts: int) -> Iterable[Episode]:
        """The episodes in the order they are dealt: cases first, then world variants, then attempts. Raises InputError."""

    @abstractmethod
    def open(self, episode: Episode, *, world: World | None = None) -> Environment:
        """The environment of one episode, to be entered by the caller; over another base than the episode's own when `world` is given."""
