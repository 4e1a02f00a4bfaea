"""Samples of a model at tasks that a curriculum deals: harder ones once the easier ones are solved."""

import asyncio
from collections.abc import Awaitable, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import islice
from pathlib import Path

from simtrain.agents.select import build_agent
from simtrain.contracts.scenario import Episode
from simtrain.contracts.trajectory import SUCCESS, Trajectory, to_line
from simtrain.curricula.sampler import Climb, Task
from simtrain.files.jsonl import LineWriter
from simtrain.integrations.train.models import SavedModel
from simtrain.integrations.train.playing import AGENT, chat_knobs
from simtrain.integrations.train.recipe import ChatSpec, Samples, ServerSpec
from simtrain.integrations.train.servers import serving
from simtrain.integrations.train.watching import TrainingWatch
from simtrain.public import climb
from simtrain.runs.rollout import hosted
from simtrain.runs.trajectory_files import part_files, part_writer, read_part
from simtrain.values.errors import InputError

LEDGER = "ledger.jsonl"
"""The file that records which tasks were dealt, and what they earned."""


def sample_dealt(
    model: SavedModel,
    data: Samples,
    stage: Path,
    out: Path,
    *,
    number: int,
    chat: ChatSpec,
    server: ServerSpec,
    seed: int,
    watch: TrainingWatch,
) -> list[Trajectory]:
    """Return the episodes of a round (`number`, from 0), kept in `out`; goes on with a round that was broken off.

    The ledger in the folder `stage` spans all rounds, so that each goes on at the level that the one before has reached.
    Raises InputError, also where episodes failed through no fault of the model.
    """
    out.mkdir(parents=True, exist_ok=True)
    goal = data.tasks * (number + 1)
    with closing(climb(data.curriculum, seed=seed, ledger=stage / LEDGER)) as tasks:
        if tasks.rewarded < goal:
            watch.begin("samples", data.tasks)
            with serving(model, server) as url, closing(part_writer(out, 0)) as writer:
                knobs = chat_knobs(url, chat, data.temperature)
                asyncio.run(_Sampling(tasks, goal, data, writer, watch).play(knobs, server.slots))
    return [trajectory for part in part_files(out) for trajectory in read_part(part)]


class _Sampling:
    def __init__(self, tasks: Climb, goal: int, data: Samples, writer: LineWriter, watch: TrainingWatch) -> None:
        self.tasks, self.goal, self.data, self.writer, self.watch = tasks, goal, data, writer, watch
        self.solved = self.played = 0

    async def play(self, knobs: dict[str, object], slots: int) -> None:
        free = asyncio.Semaphore(slots)

        async def one(play: Awaitable[Trajectory]) -> Trajectory:
            async with free:
                return await play

        async with hosted(build_agent(AGENT, knobs), name=AGENT) as rollout:
            while self.tasks.rewarded < self.goal:
                # Whole groups, whose rewards are reported in order: which episode ends first does not decide what is dealt.
                group = list(islice(self.tasks, min(slots, self.goal - self.tasks.rewarded)))
                found = await asyncio.gather(
                    *(one(rollout(episode)) for task in group for episode in self._episodes(task))
                )
                self._keep(group, found)

    def _episodes(self, task: Task) -> list[Episode]:
        many, first = self.data.attempts, task.episode.attempt * self.data.attempts
        return [replace(task.episode, attempt=first + number) for number in range(many)]

    def _keep(self, group: Sequence[Task], found: Sequence[Trajectory]) -> None:
        failed = [one for one in found if one.reward is None]
        if failed:
            raise InputError(
                f"{len(failed)} episodes failed through no fault of the agent: {failed[0].stop.detail}",
                remedy="run the same command again: it plays them anew",
                file=self.writer.path,
            )
        many = self.data.attempts
        for place, task in enumerate(group):
            rewards = list[float]()
            for trajectory in found[place * many : (place + 1) * many]:
                self.writer.write(to_line(trajectory))
                rewards.append(trajectory.reward or 0.0)
            self.played += many
            self.solved += sum(reward >= SUCCESS for reward in rewards)
            self.tasks.reward(task, sum(rewards) / many)
            done = self.data.tasks - self.goal + self.tasks.rewarded
            self.watch.step(done, f"level {self.tasks.level}, solved {self.solved} of {self.played}")
