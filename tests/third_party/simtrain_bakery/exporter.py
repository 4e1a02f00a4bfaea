"""An exporter: prompts and rewards alone."""

from __future__ import annotations

from collections.abc import Iterator

from simtrain.exporter import Exporter
from simtrain.trajectory import Trajectory
from simtrain.types import JsonObject


class Prompts(Exporter):
    """One row a trajectory."""

    def rows(self, trajectory: Trajectory) -> Iterator[JsonObject]:
        """Prompt and reward."""
        yield {"prompt": trajectory.prompt, "reward": trajectory.reward}
