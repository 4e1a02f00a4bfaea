"""A curriculum in a training loop: tasks get harder as a learner masters them, and its success stays within the band.

The learner is simulated, the rewards are real. The better the learner, the more often it plays a task as the oracle; otherwise it makes
one search and opens no page. Both are played and graded. Your loop has a model instead, and a trainer step where skill grows here.
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
    """Play tasks. After every fifty, print the success at the current level: between 0.4 and 0.7, with some luck either way."""
    chance, skill = Random(3), 0.5
    stream = climb(curriculum, ledger=curriculum.with_name("ledger.jsonl"))
    rewards: list[float] = []
    hardest = (0, 0.0)
    for task in islice(stream, tasks):
        mastered = chance.random() < skill - 0.15 * task.level
        trajectory = await rollout(task.episode, "oracle" if mastered else "search_naive")
        reward = trajectory.reward or 0.0
        stream.reward(task, reward)
        skill += 0.0015  # your trainer step
        hardest = max(hardest, (task.level, reward))
        if task.level == stream.level:
            rewards.append(reward)
        if task.place % 50 == 49:
            success = sum(rewards) / len(rewards)
            print(f"{task.place + 1} tasks: skill {skill:.2f}, level {stream.level}, success {success:.2f}")
            rewards.clear()
    print(f"the hardest one done: level {hardest[0]}, reward {hardest[1]}")
    stream.close()


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        file = Path(folder) / "curriculum.yaml"
        file.write_text(CURRICULUM)
        asyncio.run(learn(file, tasks=300))
