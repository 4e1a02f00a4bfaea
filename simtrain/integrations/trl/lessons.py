"""A curriculum as a stream of tasks for a trainer. Rewards go back to it and decide how hard the next tasks are."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any
from weakref import WeakValueDictionary

from simtrain.contracts.scenario import Episode
from simtrain.curricula.sampler import Climb, Task
from simtrain.integrations.trl.environments import ScenarioEnvironment, class_over
from simtrain.integrations.trl.rewards import episode_reward
from simtrain.integrations.trl.tasks import Row, task_prompt
from simtrain.values.errors import InputError
from simtrain.values.extras import require
from simtrain.values.types import JsonObject, JsonValue

MOST_OPEN = 512
"""Maximum of tasks without a reward yet. A trainer that shuffles would request a thousand at once, all of one difficulty."""


class Lessons:
    """Tasks of a curriculum (`simtrain.climb`) for one trainer in one process. With a ledger, a killed training run can go on.

    `GRPOTrainer(..., train_dataset=lessons.dataset(), reward_funcs=lessons.reward, environment_factory=lessons.environment_factory())`,
    or `rollout_func=Rollouts(find=lessons.episode)`; with `shuffle_dataset=False` in its config.
    """

    def __init__(self, climb: Climb) -> None:
        self.climb = climb
        self._dealt: dict[int, Task] = {}
        _living[id(self)] = self

    def __reduce__(self) -> tuple[Callable[[int], Lessons], tuple[int]]:
        # It stays in its process. Datasets pickle what generates them all the same, for a digest of it.
        return _same, (id(self),)

    def dataset(self) -> Any:
        """Return an endless `datasets.IterableDataset`. Columns: `prompt`, `place` in the stream, `level`, `scenario`, `attempt`."""
        require("train", "datasets")
        return import_module("datasets").IterableDataset.from_generator(self._rows)

    def _rows(self) -> Iterator[JsonObject]:
        for task in self.climb:
            if len(self._dealt) >= MOST_OPEN:
                raise InputError(
                    f"{MOST_OPEN} tasks of the curriculum were dealt and none of them rewarded",
                    remedy="set shuffle_dataset=False, and use the reward function of the Lessons",
                )
            self._dealt[task.place] = task
            played = task.episode
            place: JsonObject = {"place": task.place, "level": task.level, "scenario": played.scenario.name}
            place |= {"attempt": played.attempt}
            yield {"prompt": task_prompt(played, place), **place}

    def episode(self, row: Row) -> Episode:
        """Return the episode of a row. Raises InputError for a task that is not open."""
        return self._task(row.get("place")).episode

    def _task(self, place: JsonValue) -> Task:
        task = self._dealt.get(place) if isinstance(place, int) else None
        if task is None:
            raise InputError(
                f"there is no open task {place} in the curriculum", remedy="use the rows of its dataset once"
            )
        return task

    def environment_factory(self) -> type[ScenarioEnvironment]:
        """Return the `environment_factory` for the tasks; all levels have the same tools."""
        return class_over(self.climb.example, self.episode)

    def reward(
        self, completions: Sequence[Sequence[JsonObject] | str], *, place: Sequence[int], **columns: Any
    ) -> list[float | None]:
        """Return the reward of each rollout like `episode_reward`, and report the mean reward of every task to the curriculum.

        A task without any rewarded rollout is dealt again.
        """
        rewards = episode_reward(completions, place=place, **columns)
        earned: dict[int, list[float]] = defaultdict(list)
        for number, reward in zip(place, rewards, strict=True):
            earned[number] += [] if reward is None else [reward]
        for number, found in earned.items():
            self.climb.reward(self._task(number), sum(found) / len(found) if found else None)
            if found:
                del self._dealt[number]
        return rewards


# Weak, so that this table does not keep a finished curriculum alive.
_living: WeakValueDictionary[int, Lessons] = WeakValueDictionary()


def _same(number: int) -> Lessons:
    return _living[number]
