"""A run: scenarios dealt into episodes, played in one process or several, into a run folder that can be resumed."""

from __future__ import annotations

import asyncio
import os
from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from simtrain.agent.choosing import build_agent
from simtrain.dealing import deal
from simtrain.errors import InputError
from simtrain.lines import write_whole
from simtrain.playing import Played, RunOptions, Stopper, play, stop_on_signals
from simtrain.policy import Agent
from simtrain.registry import resolve
from simtrain.run_file import refuse_another_run, run_facts
from simtrain.scenario import Episode, Scenario
from simtrain.store import (
    RUN_FILE,
    SUMMARY_FILE,
    RunFolder,
    failures_writer,
    finished_keys,
    part_writer,
    read_facts,
    read_rows,
    spent,
)
from simtrain.summary import summarise
from simtrain.types import JsonObject
from simtrain.workers import Crew


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
    _check_prompts(episodes.cases)
    if options.via is not None:
        resolve("transports", options.via)
    asyncio.run(_check(scenarios, player))
    facts = run_facts(scenarios, options, player.facts(), episodes=len(episodes))
    folder = _open(out, facts, resume=resume)
    try:
        finished = finished_keys(out)
        missing = array("L", (place for place, episode in enumerate(episodes) if episode.key not in finished))
        del finished
        on_planned(len(missing))
        stopper = Stopper()
        counter = _Counter(on_played, stopper, None if options.max_cost is None else options.max_cost - spent(out))
        if options.workers == 1:
            chosen = (episodes[place] for place in missing)
            with stop_on_signals(stopper, at_last=_end_at_once):
                asyncio.run(_play_here(chosen, player, options, out, counter, stopper))
        elif missing:
            crew = Crew(scenarios, options, folder)
            with stop_on_signals(stopper, at_last=crew.kill):
                crew.play(missing, on_played=counter, stopper=stopper)
        summary = summarise(read_rows(out))
        write_whole(out / SUMMARY_FILE, summary)
    finally:
        folder.close()
    return RunResult(
        out, summary, counter.played, len(episodes) - len(missing), counter.failed, counter.played < len(missing)
    )


def _open(out: Path, facts: JsonObject, *, resume: bool) -> RunFolder:
    """The run folder, new or to go on with; a resumed run that was killed before it began is begun."""
    if not resume or not (out / RUN_FILE).exists():
        return RunFolder.create(out, facts)
    folder = RunFolder.reopen(out)
    try:
        recorded = read_facts(out)
        refuse_another_run(out, recorded=recorded, asked=facts)
        if recorded != facts:
            write_whole(out / RUN_FILE, facts)
    except BaseException:
        folder.close()
        raise
    return folder


def _end_at_once() -> None:
    """An agent that does not let go is left behind; what is finished is in the run folder."""
    os._exit(1)


def _check_prompts(cases: Iterable[Episode]) -> None:
    """Refuse, with an InputError, a prompt that cannot be rendered for one of its cases: found now, it spoils no run."""
    for episode in cases:
        try:
            episode.scenario.prompt.render(episode.case)
        except InputError as error:
            raise episode.scenario.document.relocate(error, ("prompt",)) from None


async def _check(scenarios: Sequence[Scenario], agent: Agent) -> None:
    try:
        await make_ready(scenarios, agent)
    finally:
        await agent.close()


class _Counter:
    """Counts what is played, and asks the stopper once what is left of a budget is spent."""

    def __init__(self, onward: Callable[[Played], None], stopper: Stopper, budget: float | None) -> None:
        self.played = 0
        self.failed = 0
        self._onward = onward
        self._stopper = stopper
        self._left = budget
        self._watch()

    def __call__(self, played: Played) -> None:
        self.played += 1
        self.failed += not played.kept
        if self._left is not None:
            self._left -= played.cost
            self._watch()
        self._onward(played)

    def _watch(self) -> None:
        if self._left is not None and self._left <= 0 and not self._stopper.asked:
            self._stopper.ask()


async def _play_here(
    episodes: Iterable[Episode],
    agent: Agent,
    options: RunOptions,
    out: Path,
    on_played: Callable[[Played], None],
    stopper: Stopper,
) -> None:
    kept, failures = part_writer(out, 0, sync_every=options.sync_every), failures_writer(out)
    try:
        await play(episodes, agent, options, kept=kept, failures=failures, on_played=on_played, stopper=stopper)
    finally:
        kept.close()
        failures.close()
