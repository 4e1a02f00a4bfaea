"""Grading a finished episode: every grader asked, their answers made into one reward."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Literal, TypeAlias

from simtrain.errors import SimtrainError
from simtrain.scenario import Grading
from simtrain.trajectory import Reward, Trajectory
from simtrain.world import FinishedWorld

Combine: TypeAlias = Literal["mean", "minimum"]

LONGEST_ERROR = 300


async def grade(
    trajectory: Trajectory, grading: Sequence[Grading], combine: Combine, world: FinishedWorld
) -> Trajectory:
    """The trajectory with its rewards and their total.

    A grader that raises is recorded as failed, and the episode then has no reward. An episode that failed through no fault
    of the agent is not graded at all.
    """
    if trajectory.stop.reason == "failed" and trajectory.stop.blame != "agent":
        return replace(trajectory, reward=None, rewards=())
    rewards = tuple([await _ask(item, trajectory, world) for item in grading])
    return replace(trajectory, reward=total(rewards, combine), rewards=rewards)


def total(rewards: Sequence[Reward], combine: Combine) -> float | None:
    """The weighted mean (or the minimum) of all that are no gates, times every gate; None when one of them failed or there is none.

    With gates alone it is their product. What weighs nothing is no part of it.
    """
    weighty = [reward for reward in rewards if reward.gate or reward.weight > 0]
    if not weighty or any(reward.value is None for reward in weighty):
        return None
    gates = prod((reward.value or 0.0 for reward in weighty if reward.gate), start=1.0)
    others = [(reward.value or 0.0, reward.weight) for reward in weighty if not reward.gate]
    if not others:
        return gates
    if combine == "minimum":
        return gates * min(value for value, _ in others)
    return gates * min(1.0, sum(value * weight for value, weight in others) / sum(weight for _, weight in others))


async def _ask(item: Grading, trajectory: Trajectory, world: FinishedWorld) -> Reward:
    try:
        reward = await item.grader.grade(trajectory, world)
    except Exception as error:
        return Reward(item.label, None, item.weight, item.gate, error=_explain(error))
    found = replace(reward, grader=item.label, weight=item.weight, gate=item.gate)
    if found.value is None:
        return found if found.error else replace(found, error="the grader gave no value")
    if not 0.0 <= found.value <= 1.0:
        return replace(found, value=None, error=f"the grader gave {found.value}, which is not between 0 and 1")
    return found


def _explain(error: Exception) -> str:
    """An exception in one line."""
    text = str(error) if isinstance(error, SimtrainError) else f"{type(error).__name__}: {error}"
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_ERROR else line[: LONGEST_ERROR - 3] + "..."
