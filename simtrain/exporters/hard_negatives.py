"""Hard negatives: episodes that something on purpose led astray, and that read like successes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypeAlias

from pydantic import Field

from simtrain.exporter import Exporter
from simtrain.exporters.functions import definitions, names_of
from simtrain.exporters.messages import Arguments, conversation, opening, spoken
from simtrain.exporters.phases import earned, faulted
from simtrain.trajectory import Trajectory
from simtrain.types import JsonObject

Reason: TypeAlias = Literal["claimed", "gave_up", "ran_out"]

_REASONS: dict[str, Reason] = {"answered": "claimed", "abstained": "gave_up"}


class HardNegatives(Exporter):
    """Rows of `prompt`, `completion` and `label` false, as TRL's unpaired preference format (KTO) and verifiers take them.

    `why` says what went wrong: `claimed` (an answer as if all were done), `gave_up` (declined although it could be done),
    `ran_out` (a limit ended it). `reward` and `passed` (the share of graders that gave full marks) say how near it came.
    Format: https://huggingface.co/docs/trl/dataset_formats#unpaired-preference.
    """

    why: list[Reason] = Field(
        default_factory=lambda: ["claimed", "gave_up"], min_length=1, description="Which failures are hard ones."
    )
    passed: float = Field(0.0, ge=0, lt=1, description="Least share of graders that gave full marks: how near a miss.")
    positives: bool = Field(False, description="Also rows with `label` true: the recovered ones.")
    reasoning: Literal["drop", "keep"] = Field("drop", description="Keep thinking as `reasoning_content`.")
    arguments: Arguments = Field("text", description="Arguments as JSON text, as OpenAI has them, or as objects.")

    def rows(self, trajectory: Trajectory) -> Iterator[JsonObject]:
        """One row; none where nothing went wrong on purpose, or the episode is no hard one."""
        turns = spoken(trajectory)
        if trajectory.reward is None or not turns or not faulted(trajectory):
            return
        good, passed = earned(trajectory), _passed(trajectory)
        reason = None if good else _REASONS.get(trajectory.stop.reason, "ran_out")
        if (good and not self.positives) or (reason is not None and (reason not in self.why or passed < self.passed)):
            return
        names = names_of(trajectory)
        completion = conversation(turns, names, reasoning=self.reasoning == "keep", arguments=self.arguments)
        row: JsonObject = {"prompt": opening(trajectory), "completion": completion, "label": good}
        if trajectory.tools:
            row["tools"] = definitions(trajectory, names)
        yield row | {"why": reason, "reward": trajectory.reward, "passed": round(passed, 6)}


def _passed(trajectory: Trajectory) -> float:
    values = [reward.value for reward in trajectory.rewards if reward.value is not None]
    return sum(value >= 1 for value in values) / len(values) if values else 0.0
