"""A curriculum in a training loop: tasks get harder as a learner masters them, and its success stays within the band.

The learner is simulated, the rewards are not: the better it is, the more often it plays a task with all that the oracle knows, else
with one search and no page opened. Both are played and graded. In your loop stands a model, and a step of your trainer where skill
grows here.
"""

from __future__ import annotations

import asyncio
from itertools import islice
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from simtrain import climb, rollout

CURRICULUM = """\
name: example
worlds: {train: [kestrel_reach]}
rows: {pages: 200}
levels:
  - {name: lookups, questions: {count: 15, hops: [0, 0], rows: [1, 3], compose: [looked_up]}, web: {snippets: full}}
  - {name: next_door, questions: {count: 15, hops: [1, 2], rows: [1, 3], compose: [looked_up]}, web: {snippets: full}}
  - {name: lists, questions: {count: 15, hops: [0, 1], rows: [3, 8]}, web: {snippets: normal}}
  - {name: tables, questions: {count: 15, hops: [1, 2], rows: [4, 12]}, web: {snippets: tease}}
  - {name: far_tables, questions: {count: 15, hops: [2, 4], rows: [4, 12]}, web: {snippets: tease}}
adaptive: {low: 0.4, high: 0.7, window: 20}
"""


async def learn(curriculum: Path, *, tasks: int) -> None:
    """Play so many tasks, and say of each fifty how those of the level reached went: between 0.4 and 0.7, give or take some luck."""
    chance, skill = Random(3), 0.5
    course = climb(curriculum, ledger=curriculum.with_name("ledger.jsonl"))
    met: list[float] = []
    hardest = (0, 0.0)
    for task in islice(course, tasks):
        mastered = chance.random() < skill - 0.15 * task.level
        trajectory = await rollout(task.episode, "oracle" if mastered else "search_naive")
        reward = trajectory.reward or 0.0
        course.reward(task, reward)
        skill += 0.0015  # the step of your trainer
        hardest = max(hardest, (task.level, reward))
        if task.level == course.level:
            met.append(reward)
        if task.place % 50 == 49:
            print(f"{task.place + 1} tasks: skill {skill:.2f}, level {course.level}, success {sum(met) / len(met):.2f}")
            met.clear()
    print(f"the hardest one done: level {hardest[0]}, reward {hardest[1]}")
    course.close()


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        file = Path(folder) / "curriculum.yaml"
        file.write_text(CURRICULUM)
        asyncio.run(learn(file, tasks=300))
