"""The contract of exporters: trajectories in, training rows out."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator

from simtrain.contracts.plugin import Plugin
from simtrain.contracts.trajectory import Trajectory
from simtrain.values.types import JsonObject


class Exporter(Plugin):
    """Writes trajectories in the format of a trainer. Trajectories with a simulator failure never reach it."""

    @abstractmethod
    def rows(self, trajectory: Trajectory) -> Iterator[JsonObject]:
        """Yield the rows of one trajectory: none, one or several."""

    def lacking(self, trajectory: Trajectory) -> str | None:
        """Return why a trajectory yields no row, as a phrase that can follow a number of episodes; None if it
        yields some.
        """
        return None

    def over(self, trajectories: Iterable[Trajectory]) -> Iterator[JsonObject]:
        """Yield the rows of many trajectories, one by one unless a row combines several of them."""
        for trajectory in trajectories:
            yield from self.rows(trajectory)
