"""An exporter: prompts and rewards alone."""

from __future__ import annotations

from collections.abc import Iterator

from simtrain.contracts.exporter import Exporter
from simtrain.contracts.trajectory import Trajectory
from simtrain.values.types import JsonObject


class Prompts(Exporter):
    """One row a trajectory."""

    def rows(self, trajectory: Trajectory) -> Iterator[JsonObject]:
        """Prompt and reward."""
        yield {"prompt": trajectory.prompt, "reward": trajectory.reward}
