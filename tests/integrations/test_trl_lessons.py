"""A curriculum as a trainer's dataset: rewards go back, levels follow them, and a killed trainer goes on where it was."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import tiny_model
from training import QUIET, need_trainers

from simtrain import Sessions, climb, rollout
from simtrain.contracts.trajectory import Trajectory
from simtrain.integrations.trl import Lessons, Rollouts
from simtrain.values.errors import InputError

pytestmark = [pytest.mark.full, pytest.mark.filterwarnings("ignore")]

LADDER = """\
name: short
worlds: {train: [kestrel_reach]}
rows: {pages: 200}
levels:
  - {name: lookups, questions: {count: 15, hops: [0, 0], rows: [1, 3], compose: [looked_up]}, web: {snippets: full}}
  - {name: lists, questions: {count: 15, hops: [0, 1], rows: [3, 8]}, web: {snippets: normal}}
mix: {easier: 0, harder: 0}
adaptive: {low: 0.4, high: 0.7, window: 4}
"""


@pytest.fixture(autouse=True)
def _trainers() -> None:
    need_trainers()


@pytest.fixture
def ladder(tmp_path: Path) -> Path:
    file = tmp_path / "ladder.yaml"
    file.write_text(LADDER)
    return file


async def step(
    lessons: Lessons, rows: Sequence[dict[str, Any]], environments: Sequence[Any], *, right: bool
) -> list[float | None]:
    """What a trainer does in a step: reset, one search, an answer, the reward function; all rows twice."""
    group = [row for row in rows for _ in range(2)]
    completions = []
    for row, environment in zip(group, environments, strict=True):
        environment.reset(**row)
        search = next(name for name in type(environment).__dict__ if "search" in name)
        getattr(environment, search)(query="a")
        completions.append([{"role": "assistant", "content": await answer(lessons, row) if right else "ANSWER: none"}])
    columns = {name: [row[name] for row in group] for name in ("place", "level", "scenario", "attempt")}
    return lessons.reward(completions, environments=environments, **columns)


async def answer(lessons: Lessons, row: dict[str, Any]) -> str:
    told: Trajectory = await rollout(lessons.episode(row), "oracle")
    return f"ANSWER: {told.answer}"


async def test_rewards_decide_the_level_of_the_tasks_that_follow(ladder: Path) -> None:
    lessons = Lessons(climb(ladder, ledger=ladder.with_name("ledger.jsonl")))
    stream = iter(lessons.dataset())
    environments = [lessons.environment_factory()() for _ in range(4)]
    levels: list[int] = []
    for number in range(6):
        rows = list(islice(stream, 2))
        levels += [row["level"] for row in rows]
        rewards = await step(lessons, rows, environments, right=number < 2)
        assert rewards == [1.0 if number < 2 else 0.0] * 4
    assert levels == [0] * 4 + [1] * 4 + [0] * 4, "up after four successes, down after four failures"
    lessons.climb.close()
    again = Lessons(climb(ladder, ledger=ladder.with_name("ledger.jsonl")))
    row = next(iter(again.dataset()))
    assert (row["place"], row["level"]) == (12, again.climb.level)
    again.climb.close()


async def test_a_task_without_a_reward_is_dealt_again_and_one_that_was_rewarded_is_over(
    ladder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lessons = Lessons(climb(ladder))
    first, second = islice(lessons.dataset(), 2)
    monkeypatch.setattr("simtrain.integrations.trl.lessons.episode_reward", lambda *_, **__: [None, 1.0])
    assert lessons.reward([[], []], place=[first["place"], second["place"]]) == [None, 1.0]
    assert next(iter(lessons.dataset()))["place"] == first["place"]
    with pytest.raises(
        InputError, match=r"^there is no open task 1 in the curriculum; use the rows of its dataset once$"
    ):
        lessons.episode(second)


def words_of(lessons: Lessons) -> Any:
    with Sessions() as sessions:
        session = sessions.open(lessons.climb.example)
        return tiny_model.tokenizer([session.system, session.prompt, *(tool.description for tool in session.tools)])


def asked(lessons: Lessons, folder: Path, *, shuffle: bool = False) -> list[int]:
    """How many tasks were dealt each time a trainer asked for the rewards of two: of a random model, so all of them are 0."""
    import trl

    dealt: list[int] = []

    def reward(completions: Any, **columns: Any) -> list[float | None]:
        dealt.append(max(lessons._dealt) + 1)
        return lessons.reward(completions, **columns)

    words = words_of(lessons)
    args = trl.GRPOConfig(
        str(folder), max_steps=2, per_device_train_batch_size=4, num_generations=2, max_completion_length=8, shuffle_dataset=shuffle,
        **QUIET,
    )  # fmt: skip
    trainer = trl.GRPOTrainer(
        tiny_model.model(words, width=32, layers=1),
        reward_funcs=reward,
        args=args,
        train_dataset=lessons.dataset(),
        processing_class=words,
        rollout_func=Rollouts(find=lessons.episode, listing="compact"),
    )
    trainer.train()
    return dealt


def test_a_trainer_asks_for_one_batch_more_than_it_has_rewards_for(ladder: Path) -> None:
    lessons = Lessons(climb(ladder))
    assert asked(lessons, ladder.parent) == [4, 6]
    assert lessons.climb.success == 0.0


def test_a_trainer_that_shuffles_is_told_not_to(ladder: Path) -> None:
    with pytest.raises(
        InputError,
        match=r"^512 tasks of the curriculum were dealt and none of them rewarded; set shuffle_dataset=False",
    ):
        asked(Lessons(climb(ladder)), ladder.parent, shuffle=True)
