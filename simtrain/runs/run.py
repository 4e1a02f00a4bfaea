"""A run: episodes of some scenarios, played in one process or several, recorded in a run folder that can be resumed."""

from __future__ import annotations

import asyncio
import os
from array import array
from collections.abc import Callable, Container, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from simtrain.agents.select import build_agent
from simtrain.contracts.agent import Agent, Outsider
from simtrain.contracts.registry import resolve
from simtrain.contracts.scenario import Episode, Scenario
from simtrain.contracts.trajectory import SUCCESS, Trajectory
from simtrain.curricula.stages import Curriculum, StagedRun
from simtrain.files.jsonl import write_whole
from simtrain.runs.forks import ForkOptions, check_continuing, forked
from simtrain.runs.restoring import rehearse
from simtrain.runs.resume import Key, check_folder, finished_keys, open_run
from simtrain.runs.run_file import run_facts
from simtrain.runs.run_folder import SUMMARY_FILE, RunFolder, spent
from simtrain.runs.run_index import IndexKeeper
from simtrain.runs.runner import FinishedRollout, RunOptions, Stopper, play, stop_on_signals
from simtrain.runs.schedule import Deal, grown
from simtrain.runs.summary import summarise
from simtrain.runs.trajectory_files import read_rows
from simtrain.runs.workers import Crew
from simtrain.scenarios.briefing import outlook
from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject


@dataclass(frozen=True)
class RunResult:
    """A finished or interrupted run: its folder, the summary of the whole folder, and the counts of this session.

    `interrupted` says that episodes are missing; `asked` that a stop was asked for, if only while the last ones ended.
    """

    path: Path
    summary: JsonObject
    played: int
    skipped: int
    failed: int
    interrupted: bool
    asked: bool = False


@dataclass(frozen=True)
class _Prepared:
    """A run that has passed its checks, before its folder is opened."""

    player: Agent
    scenarios: Sequence[Scenario]
    episodes: Deal
    staged: StagedRun | None
    facts: JsonObject


async def make_ready(scenarios: Sequence[Scenario], agent: Agent, *, firsts: Iterable[Episode]) -> None:
    """Check that the agent can play every scenario, and that every model and server needed can be reached, before anything is played.

    `firsts` are the episodes whose prompts and tools the agent may look at for that. Raises InputError.
    """
    for scenario in scenarios:
        agent.check(scenario)
    await agent.ready()
    # Each outlook opens an environment, which most agents do not need.
    if type(agent).ready_for is not Agent.ready_for:
        await agent.ready_for([await outlook(episode) for episode in firsts])
    await make_scenarios_ready(scenarios)


async def make_scenarios_ready(scenarios: Iterable[Scenario]) -> None:
    """Check that all world models, perturbations and graders are ready, each once. Raises InputError."""
    plugins = (
        plugin
        for scenario in scenarios
        for plugin in (
            *(item.world_model for item in scenario.answering),
            *(item.perturbation for item in scenario.perturbations),
            *(item.grader for item in scenario.grading),
        )
    )
    # By identity, since the arms of a drill share most of their plug-ins.
    for plugin in {id(plugin): plugin for plugin in plugins}.values():
        await plugin.ready()


def run(
    scenarios: Sequence[Scenario],
    options: RunOptions,
    out: Path,
    *,
    agent: Agent | None = None,
    curriculum: Curriculum | None = None,
    resume: bool = False,
    on_played: Callable[[FinishedRollout], None] = lambda _: None,
    on_planned: Callable[[int], None] = lambda _: None,
) -> RunResult:
    """Play scenarios into a run folder, stage by stage under a curriculum.

    `agent` is an agent made in Python, recorded as `options.agent`. Without it the agent is built by that name, which several workers
    need. `on_planned` gets the number of rollouts, `on_played` each finished rollout.
    Raises InputError for bad input, and then leaves no new folder behind.
    """
    prepared = _prepared(scenarios, options, agent, curriculum)
    scenarios, episodes, staged = prepared.scenarios, prepared.episodes, prepared.staged
    with _seated(prepared.player, options, out, prepared.facts, resume, on_played) as session:
        finished = finished_keys(out)
        if staged is None:
            missing = _missing(episodes, range(len(episodes)), finished)
            planned = len(missing)
            on_planned(planned)
            session.play(scenarios, episodes, missing)
        else:
            planned = len(episodes) - len(finished)
            on_planned(planned)
            session.follow(staged, finished)
    return session.result(planned, of=len(episodes))


def check_run(scenarios: Sequence[Scenario], options: RunOptions, out: Path, *, resume: bool = False) -> None:
    """Check what `run` checks before it plays, and write nothing. Raises InputError.

    Whoever plays several runs one after the other can so refuse the last before the first has played for hours.
    """
    check_folder(out, _prepared(scenarios, options, None, None).facts, resume=resume)


def _prepared(
    scenarios: Sequence[Scenario], options: RunOptions, agent: Agent | None, curriculum: Curriculum | None
) -> _Prepared:
    if agent is not None and options.workers > 1:
        raise InputError(
            "an agent made in Python plays in one process", remedy="register it as a plug-in, or leave --workers at 1"
        )
    player = agent or build_agent(options.agent, options.knobs)
    scenarios = grown(scenarios, options.seeds)
    episodes = Deal(scenarios, seed=options.seed, total=options.episodes, attempts=options.attempts)
    _check_prompts(episodes.cases)
    if options.via is not None:
        resolve("transports", options.via)
        if isinstance(player, Outsider):
            raise InputError(f"{options.agent} plays over MCP anyway", remedy="leave --via out")
    # All checks come before the folder is opened, so that bad input leaves nothing behind.
    asyncio.run(_check(scenarios, player, episodes.firsts))
    staged = curriculum and StagedRun(curriculum, scenarios, episodes=len(episodes), attempts=options.attempts)
    facts = run_facts(scenarios, options, player.facts(), episodes=len(episodes), curriculum=curriculum)
    return _Prepared(player, scenarios, episodes, staged, facts)


def run_forks(
    episode: Episode,
    trajectory: Trajectory,
    forking: ForkOptions,
    options: RunOptions,
    out: Path,
    *,
    source: str,
    agent: Agent | None = None,
    resume: bool = False,
    on_played: Callable[[FinishedRollout], None] = lambda _: None,
    on_planned: Callable[[int], None] = lambda _: None,
) -> RunResult:
    """Play continuations from steps of an episode's trajectory into a run folder, in this process.

    `source` is the run folder that the trajectory is from. Raises InputError for bad input, and then leaves no new folder behind.
    """
    player = agent or build_agent(options.agent, options.knobs)
    episodes = forked(episode, trajectory, forking)
    asyncio.run(check_forks(episodes, player, options.agent))
    facts = run_facts([episode.scenario], options, player.facts(), episodes=len(episodes))
    facts["forks"] = fork_facts(trajectory, forking, source=source)
    with _seated(player, options, out, facts, resume, on_played) as session:
        missing = _missing(episodes, range(len(episodes)), finished_keys(out))
        on_planned(len(missing))
        session.play((), episodes, missing)
    return session.result(len(missing), of=len(episodes))


def fork_facts(trajectory: Trajectory, forking: ForkOptions, *, source: str | None) -> JsonObject:
    """Return the facts of forks for run.json; `source` is the run folder of the trajectory, if it has one."""
    return {"run": source, "episode": trajectory.episode, "attempt": trajectory.attempt} | forking.facts()


async def check_forks(episodes: Sequence[Episode], agent: Agent, name: str) -> None:
    """Check, before anything is played, that an agent can continue from forks, and that each can be restored. Raises InputError."""
    check_continuing(agent, name)
    await _check([episodes[0].scenario], agent, episodes[:1])
    # Branches of one step share the restored part, so one of them is enough.
    for episode in {episode.forks[-1].step: episode for episode in episodes}.values():
        await rehearse(episode)


@contextmanager
def _seated(
    agent: Agent,
    options: RunOptions,
    out: Path,
    facts: JsonObject,
    resume: bool,
    on_played: Callable[[FinishedRollout], None],
) -> Generator[_Session]:
    """Hold a run folder open for the block, and write its summary at the end. Raises InputError."""
    folder = open_run(out, facts, resume=resume)
    try:
        session = _Session(agent, options, folder, on_played)
        yield session
        write_whole(out / SUMMARY_FILE, session.summarised())
        session.index.keep()
    finally:
        folder.close()


def _missing(episodes: Sequence[Episode], places: range, finished: Container[Key]) -> array[int]:
    # An array of integers: a run may have millions of episodes.
    return array("L", (place for place in places if episodes[place].key not in finished))


class _Session:
    """One session on a run folder: plays what is missing, in this process or in workers, and counts it."""

    def __init__(
        self, agent: Agent, options: RunOptions, folder: RunFolder, on_played: Callable[[FinishedRollout], None]
    ) -> None:
        self.played = 0
        self.failed = 0
        self.asked = False
        self.index = IndexKeeper(folder.path)
        self._summary: JsonObject = {}
        self._agent = agent
        self._options = options
        self._folder = folder
        self._on_played = on_played

    def summarised(self) -> JsonObject:
        """Return the summary of the whole run folder, and keep it for the result."""
        self._summary = summarise(read_rows(self._folder.path))
        return self._summary

    def result(self, planned: int, *, of: int) -> RunResult:
        """Return the result of this session, in which `planned` of all episodes were to be played."""
        out, summary = self._folder.path, self._summary
        return RunResult(out, summary, self.played, of - planned, self.failed, self.played < planned, self.asked)

    def play(self, scenarios: Sequence[Scenario], episodes: Sequence[Episode], missing: array[int]) -> bool:
        """Play the episodes of a deal at the missing positions. Return False if it was stopped before the last."""
        options, out, stopper = self._options, self._folder.path, Stopper()
        # A budget is for the whole folder: what earlier sessions spent is gone.
        budget = None if options.max_cost is None else options.max_cost - spent(out)
        counter = _Counter(self._on_played, self.index, stopper, budget)
        try:
            if options.workers == 1:
                chosen = (episodes[place] for place in missing)
                with stop_on_signals(stopper, at_last=_end_at_once):
                    asyncio.run(play(chosen, self._agent, options, out, on_played=counter, stopper=stopper))
            elif missing:
                # No worker is started if nothing is missing: each would load every scenario.
                crew = Crew(scenarios, options, self._folder)
                with stop_on_signals(stopper, at_last=crew.kill):
                    crew.play(missing, on_played=counter, stopper=stopper)
        finally:
            self.played += counter.played
            self.failed += counter.failed
            self.asked = self.asked or stopper.asked > 0
        return counter.played == len(missing)

    def follow(self, staged: StagedRun, finished: Container[Key]) -> None:
        """Play a curriculum stage by stage. The outcomes of a stage go into the ledger before the next stage is dealt."""
        options, out = self._options, self._folder.path
        with closing(staged.stages(out)) as stages:
            for stage in stages:
                dealt = Deal(stage.scenarios, seed=options.seed, total=options.episodes, attempts=options.attempts)
                if not self.play(stage.scenarios, dealt, _missing(dealt, stage.places, finished)):
                    return
                staged.finish(stage, _outcomes(out, {dealt[place].key for place in stage.places}))


def _outcomes(out: Path, keys: Container[Key]) -> Iterator[tuple[str, bool]]:
    """Yield family and success of the graded trajectories of a run folder whose key is in `keys`."""
    for row in read_rows(out):
        key = (row["scenario_digest"], row["episode"], row["seed"], row["attempt"])
        if key in keys and row["reward"] is not None:
            yield row["scenario"], row["reward"] >= SUCCESS


def _end_at_once() -> None:
    """End the process at once, since an agent may hang. Finished episodes are already in the run folder."""
    os._exit(1)


def _check_prompts(cases: Iterable[Episode]) -> None:
    """Render every prompt once, so that a bad one is found before the run. Raises InputError."""
    for episode in cases:
        try:
            episode.scenario.prompt.render(episode.case)
        except InputError as error:
            raise episode.scenario.document.relocate(error, ("prompt",)) from None


async def _check(scenarios: Sequence[Scenario], agent: Agent, firsts: Iterable[Episode]) -> None:
    try:
        await make_ready(scenarios, agent, firsts=firsts)
    finally:
        await agent.close()


class _Counter:
    """Counts finished rollouts, keeps the index, and asks the stopper to stop when the budget is spent."""

    def __init__(
        self, onward: Callable[[FinishedRollout], None], index: IndexKeeper, stopper: Stopper, budget: float | None
    ) -> None:
        self.played = 0
        self.failed = 0
        self._onward = onward
        self._index = index
        self._stopper = stopper
        self._left = budget
        self._watch()

    def __call__(self, played: FinishedRollout) -> None:
        self.played += 1
        self.failed += not played.kept
        if self._left is not None:
            self._left -= played.cost
            self._watch()
        self._index()
        self._onward(played)

    def _watch(self) -> None:
        if self._left is not None and self._left <= 0 and not self._stopper.asked:
            self._stopper.ask()
