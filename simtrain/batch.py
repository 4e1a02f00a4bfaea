"""A run: scenarios dealt into episodes, played in one process or several, into a run folder that can be resumed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from simtrain.agent.choosing import build_agent
from simtrain.dealing import deal
from simtrain.errors import InputError
from simtrain.playing import Played, RunOptions, Stopper, play, stop_on_signals
from simtrain.policy import Agent
from simtrain.scenario import Episode, Scenario
from simtrain.store import (
    RUN_FILE,
    SUMMARY_FILE,
    Key,
    RunFolder,
    failures_writer,
    finished_keys,
    read_rows,
    write_whole,
)
from simtrain.summary import summarise
from simtrain.types import JsonObject
from simtrain.version import VERSION
from simtrain.workers import play_in_workers


@dataclass(frozen=True)
class RunResult:
    """A finished or interrupted run: its folder, the figures of all that is in it, and what this session did."""

    path: Path
    summary: JsonObject
    played: int
    skipped: int
    failed: int
    interrupted: bool


async def make_ready(scenarios: Sequence[Scenario], agent: Agent) -> None:
    """Check, before anything is played, that the agent can play every scenario and that all who answer, play and grade can be reached.

    Raises InputError.
    """
    for scenario in scenarios:
        agent.check(scenario)
    await agent.ready()
    for scenario in scenarios:
        for answering in scenario.answering:
            await answering.world_model.ready()
        for grading in scenario.grading:
            await grading.grader.ready()


def run(
    scenarios: Sequence[Scenario],
    options: RunOptions,
    out: Path,
    *,
    agent: Agent | None = None,
    resume: bool = False,
    on_played: Callable[[Played], None] = lambda _: None,
    on_planned: Callable[[int], None] = lambda _: None,
) -> RunResult:
    """Play scenarios into a run folder.

    `agent` is an agent made in Python, known in the trajectories as `options.agent`; without it the name is looked up, which is needed
    for several workers. `on_planned` is told how many rollouts there will be, `on_played` of each as it finishes.
    Raises InputError for bad input, and then leaves no new folder behind.
    """
    if agent is not None and options.workers > 1:
        raise InputError(
            "an agent made in Python plays in one process", remedy="register it as a plug-in, or leave --workers at 1"
        )
    player = agent or build_agent(options.agent, options.knobs)
    episodes = deal(scenarios, seed=options.seed, total=options.episodes, attempts=options.attempts)
    finished = _finished(out) if resume else set[Key]()
    asyncio.run(_check(scenarios, player))
    going_on = resume and (out / RUN_FILE).exists()
    folder = (
        RunFolder.reopen(out) if going_on else RunFolder.create(out, _facts(scenarios, options, player, len(episodes)))
    )
    try:
        missing = [index for index, episode in enumerate(episodes) if episode.key not in finished]
        on_planned(len(missing))
        counter = _Counter(on_played)
        stopper = Stopper()
        if options.workers == 1:
            asyncio.run(_play_here([episodes[index] for index in missing], player, options, folder, counter, stopper))
        else:
            play_in_workers(scenarios, options, out, missing, on_played=counter, stopper=stopper)
        summary = summarise(read_rows(out))
        write_whole(out / SUMMARY_FILE, summary)
    finally:
        folder.close()
    return RunResult(
        out, summary, counter.played, len(episodes) - len(missing), counter.failed, counter.played < len(missing)
    )


def _finished(out: Path) -> set[Key]:
    return finished_keys(out) if (out / RUN_FILE).exists() else set()


async def _check(scenarios: Sequence[Scenario], agent: Agent) -> None:
    try:
        await make_ready(scenarios, agent)
    finally:
        await agent.close()


class _Counter:
    def __init__(self, onward: Callable[[Played], None]) -> None:
        self.played = 0
        self.failed = 0
        self._onward = onward

    def __call__(self, played: Played) -> None:
        self.played += 1
        self.failed += not played.kept
        self._onward(played)


async def _play_here(
    episodes: Sequence[Episode],
    agent: Agent,
    options: RunOptions,
    folder: RunFolder,
    on_played: Callable[[Played], None],
    stopper: Stopper,
) -> None:
    kept, failures = folder.writer(0, sync_every=options.sync_every), failures_writer(folder.path)
    try:
        with stop_on_signals(stopper):
            await play(episodes, agent, options, kept=kept, failures=failures, on_played=on_played, stopper=stopper)
    finally:
        kept.close()
        failures.close()


def _facts(scenarios: Sequence[Scenario], options: RunOptions, agent: Agent, episodes: int) -> JsonObject:
    """What run.json says: enough to run it again."""
    return {
        "format": "simtrain-run/1",
        "version": VERSION,
        "agent": {"name": options.agent, "knobs": options.knobs, **agent.facts()},
        "seed": options.seed,
        "episodes": episodes,
        "total": options.episodes,
        "attempts": options.attempts,
        "scenarios": [
            {"name": scenario.name, "digest": scenario.digest, "file": str(scenario.document.path)}
            for scenario in scenarios
        ],
    }
