"""The contract of exporters: trajectories in, training rows out."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator

from simtrain.plugin import Plugin
from simtrain.trajectory import Trajectory
from simtrain.types import JsonObject


class Exporter(Plugin):
    """Writes trajectories in the format of some trainer. Trajectories that the simulator spoilt never reach it."""

    @abstractmethod
    def rows(self, trajectory: Trajectory) -> Iterator[JsonObject]:
        """The rows of one trajectory: none, one or several."""
