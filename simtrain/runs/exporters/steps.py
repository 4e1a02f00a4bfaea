"""Plain JSON lines, one per step, for data frames and for training on single steps."""

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from simtrain.contracts.exporter import Exporter
from simtrain.contracts.trajectory import Step, Trajectory
from simtrain.values.types import JsonObject, encode


class Steps(Exporter):
    """One row per step: the key of the episode, the turn, the call, the reply and the reward of the whole episode.

    Turns and steps are counted from 0, tool names are the world's own, and `clock` is virtual time when the call began.
    """

    arguments: Literal["object", "text"] = Field(
        "object", description="Arguments as an object, or as JSON text for tables with fixed columns."
    )
    labels: bool = Field(
        False,
        description="Name the perturbations that fired on each step, under `events`. Never show them to an agent.",
    )

    def lacking(self, trajectory: Trajectory) -> str | None:
        return None if trajectory.steps else "without a call"

    def rows(self, trajectory: Trajectory) -> Iterator[JsonObject]:
        """Yield a row for every step, in order."""
        key: JsonObject = {
            "scenario": trajectory.scenario,
            "scenario_digest": trajectory.scenario_digest,
            "episode": trajectory.episode,
            "seed": trajectory.seed,
            "attempt": trajectory.attempt,
        }
        for turn_index, turn in enumerate(trajectory.turns):
            for step in turn.steps:
                yield (
                    key
                    | {"turn": turn_index}
                    | self._step(step)
                    | {
                        "reward": trajectory.reward,
                        "solvability": trajectory.solvability,
                    }
                )

    def _step(self, step: Step) -> JsonObject:
        action, observation = step.action, step.observation
        row: JsonObject = {
            "index": step.index,
            "clock": step.clock,
            "tool": action.tool,
            "arguments": encode(action.arguments) if self.arguments == "text" else action.arguments,
            "malformed": action.malformed,
            "observation": observation.text,
            "is_error": observation.is_error,
            "source": observation.provenance.source if observation.provenance else None,
        }
        if self.labels:
            row["events"] = [{"label": event.label, "use": event.use, "layer": event.layer} for event in step.events]
        return row
