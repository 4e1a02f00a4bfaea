"""Hard negatives: failed episodes that a perturbation led astray and that read like successes."""

from collections.abc import Iterator
from typing import Literal, TypeAlias

from pydantic import Field

from simtrain.contracts.trajectory import Trajectory
from simtrain.runs.exporters.functions import definitions, names_of
from simtrain.runs.exporters.messages import NO_WORDS, ChatRows, opening, spoken
from simtrain.runs.exporters.phases import deserves, earned, faulted
from simtrain.values.types import JsonObject

Reason: TypeAlias = Literal["claimed", "gave_up", "ran_out"]

_REASONS: dict[str, Reason] = {"answered": "claimed", "abstained": "gave_up"}


class HardNegatives(ChatRows):
    """Rows of `prompt`, `completion` and `label` false, for TRL's unpaired preference format (KTO) and verifiers.

    `why` says what went wrong: `claimed` (an answer as if all were done), `gave_up` (declined although it is known to
    be possible), `ran_out` (a limit ended it). `reward` and `passed` (the share of graders with full marks) say how
    near it came. Format: https://huggingface.co/docs/trl/dataset_formats#unpaired-preference.
    """

    why: list[Reason] = Field(
        default_factory=lambda: ["claimed", "gave_up"], min_length=1, description="Which failures are hard ones."
    )
    passed: float = Field(0.0, ge=0, lt=1, description="Least share of graders that gave full marks: how near a miss.")
    positives: bool = Field(False, description="Also rows with `label` true: the recovered ones.")

    def lacking(self, trajectory: Trajectory) -> str | None:
        if trajectory.reward is None:
            return "without a reward"
        if not spoken(trajectory):
            return NO_WORDS
        # Without a noticeable perturbation it is an ordinary failure.
        if not faulted(trajectory):
            return "in which the agent could notice no perturbation"
        if earned(trajectory):
            return None if self.positives else "with full reward"
        # Declining an impossible task is right, and must not be trained as wrong.
        if not deserves(trajectory):
            return "that declined a task not known to be solvable"
        if _reason(trajectory) not in self.why:
            return "that failed in another way"
        return "that passed too few graders" if _passed(trajectory) < self.passed else None

    def rows(self, trajectory: Trajectory) -> Iterator[JsonObject]:
        """Yield one row; none if the agent could notice nothing, or the episode is not a hard one."""
        if self.lacking(trajectory):
            return
        turns, good, passed = spoken(trajectory), earned(trajectory), _passed(trajectory)
        reason = None if good else _reason(trajectory)
        names = names_of(trajectory)
        completion = self.conversation(turns, names)
        row: JsonObject = {"prompt": opening(trajectory), "completion": completion, "label": good}
        if trajectory.tools:
            row["tools"] = definitions(trajectory, names)
        yield row | {"why": reason, "reward": trajectory.reward, "passed": round(passed, 6)}


def _reason(trajectory: Trajectory) -> Reason:
    return _REASONS.get(trajectory.stop.reason, "ran_out")


def _passed(trajectory: Trajectory) -> float:
    values = [reward.value for reward in trajectory.rewards if reward.value is not None]
    return sum(value >= 1 for value in values) / len(values) if values else 0.0
