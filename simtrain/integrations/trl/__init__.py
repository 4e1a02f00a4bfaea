"""Scenarios, curricula and run folders for TRL's trainers: the extra `simtrain[train]`. Tested with trl 1.16."""

from simtrain.integrations.trl.environments import EnvironmentFactory, ScenarioEnvironment, environment_factory
from simtrain.integrations.trl.lessons import Lessons
from simtrain.integrations.trl.records import preference_dataset, sft_dataset
from simtrain.integrations.trl.rewards import episode_reward
from simtrain.integrations.trl.rollouts import Rollouts
from simtrain.integrations.trl.sampling import Sampled, Sampling
from simtrain.integrations.trl.tasks import task_dataset

__all__ = [
    "EnvironmentFactory",
    "Lessons",
    "Rollouts",
    "Sampled",
    "Sampling",
    "ScenarioEnvironment",
    "environment_factory",
    "episode_reward",
    "preference_dataset",
    "sft_dataset",
    "task_dataset",
]
