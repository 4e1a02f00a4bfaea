"""Rewards in TRL's signature. The model's last message, which an environment never sees, ends the episode before it is graded."""

import logging
from collections.abc import Sequence
from math import isfinite

from simtrain.contracts.trajectory import Trajectory
from simtrain.integrations.trl.environments import ScenarioEnvironment, held_by
from simtrain.integrations.trl.episodes import last_words
from simtrain.integrations.trl.playing_again import play_again
from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject, JsonValue

_logger = logging.getLogger(__name__)


def episode_reward(
    completions: Sequence[Sequence[JsonObject] | str],
    *,
    environments: Sequence[ScenarioEnvironment] | None = None,
    rollout_reward: Sequence[float | None] | None = None,
    **columns: Sequence[JsonValue],
) -> list[float | None]:
    """Return the reward of each rollout, from 0 to 1; None if the simulator failed, which leaves the rollout out of the loss.

    A `reward_funcs` for all three setups: after a `rollout_func` the rewards are known; with an `environment_factory` the episode of each
    environment is finished with the last message; in the async trainer, which passes no environments, the calls are replayed in a
    fresh episode of the row. Raises InputError if no rollout has a reward, and for rows of an unknown scenario.
    """
    if rollout_reward is not None:
        return list(rollout_reward)
    if environments is not None:
        pairs = zip(environments, completions, strict=True)
        return rewards_of([held_by(environment).finish(last_words(completion)) for environment, completion in pairs])
    rows = [
        {name: values[number] for name, values in columns.items() if name in ROW} for number in range(len(completions))
    ]
    return rewards_of([play_again(row, completion) for row, completion in zip(rows, completions, strict=True)])


ROW = ("scenario", "world_seed", "case", "seed", "attempt")
"""The columns that identify the episode of a row."""


def rewards_of(trajectories: Sequence[Trajectory]) -> list[float | None]:
    """Return the rewards of trajectories; log a warning about those without one. Raises InputError if none has one."""
    rewards = [_finite(trajectory.reward) for trajectory in trajectories]
    lacking = [trajectory for trajectory, reward in zip(trajectories, rewards, strict=True) if reward is None]
    if not lacking:
        return rewards
    why = f"{len(lacking)} of {len(trajectories)} rollouts have no reward, such as {_why(lacking[0])}"
    if len(lacking) == len(trajectories):
        raise InputError(why, remedy="see that the world models and graders of the scenario answer")
    _logger.warning("%s; they are left out of the loss", why)
    return rewards


def _finite(reward: float | None) -> float | None:
    return reward if reward is not None and isfinite(reward) else None


def _why(trajectory: Trajectory) -> str:
    faults = [f"{found.grader}: {found.error}" for found in trajectory.rewards if found.error is not None]
    reason = trajectory.stop.detail if trajectory.stop.reason == "failed" else "; ".join(faults)
    value = "" if trajectory.reward is None else f"its value is {trajectory.reward}"
    return f"{trajectory.scenario} {trajectory.episode}: {reason or value or 'it was not graded'}"
