"""The public face of simtrain, reached through the package: `from simtrain import load_scenario, rollout, run`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from simtrain.agents.import_agent import as_agent as as_agent
from simtrain.agents.select import build_agent
from simtrain.contracts.agent import Agent
from simtrain.contracts.environment import Environment
from simtrain.contracts.scenario import Episode, Scenario
from simtrain.contracts.trajectory import Trajectory
from simtrain.curricula.curriculum_file import Split
from simtrain.curricula.hash_splits import SplitBy, chosen
from simtrain.curricula.levels import load_ladder
from simtrain.curricula.sampler import Climb
from simtrain.curricula.stages import load_curriculum
from simtrain.runs.export import Columns, ExportTally, Selection
from simtrain.runs.export import export as export_trajectories
from simtrain.runs.forks import ForkOptions
from simtrain.runs.regrade import regrade
from simtrain.runs.replay import played
from simtrain.runs.run import RunResult
from simtrain.runs.run import run as run_batch
from simtrain.runs.run_folder import read_run
from simtrain.runs.runner import FinishedRollout, RunOptions
from simtrain.runs.sessions import Session as Session
from simtrain.runs.sessions import Sessions as Sessions
from simtrain.runs.trees import TreePlace
from simtrain.scenarios.by_name import episode as episode
from simtrain.scenarios.by_name import load_scenario as load_scenario
from simtrain.scenarios.by_name import load_scenarios as load_scenarios
from simtrain.scenarios.load import paradigm_of
from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject, JsonValue

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from simtrain.drills.drill import DrillResult
    from simtrain.drills.plan import Kind
    from simtrain.mcp.serve.listening import Door


def open_episode(scenario: Scenario | Episode, *, case: int = 0, seed: int = 0) -> Environment:
    """Return the environment of one episode: of a case of a scenario, or of an episode that a curriculum dealt. Raises InputError.

    `async with open_episode(scenario) as environment: observation = await environment.step(action)`
    """
    opened = scenario if isinstance(scenario, Episode) else episode(scenario, case=case, seed=seed)
    return paradigm_of(opened.scenario).open(opened)


async def rollout(
    scenario: Scenario | Episode, agent: Agent | str = "resilient", *, case: int = 0, seed: int = 0, attempt: int = 0
) -> Trajectory:
    """Play one episode and grade it: a case of a scenario, or an episode that a curriculum dealt.

    What goes wrong inside the episode is in the trajectory's `stop`. Raises InputError.
    """
    opened = scenario if isinstance(scenario, Episode) else episode(scenario, case=case, seed=seed, attempt=attempt)
    return await played(opened, agent)


async def rollout_tree(
    source: Scenario | Episode | Trajectory,
    agent: Agent | str = "resilient",
    *,
    branches: int = 4,
    at: int | Sequence[int] | None = None,
    case: int = 0,
    seed: int = 0,
    same_faults: bool = False,
    packs: Sequence[str | Path] = (),
    severity: float | None = None,
    concurrency: int = 32,
    run: str | Path | None = None,
    out: str | Path | None = None,
) -> TreePlace:
    """Play an episode, or take a recorded one, and go on from some of its steps; return the tree, whose leaves are whole trajectories.

    `at` names the steps, each the first that is played anew; without it branches begin at every turn. Each step has `branches` of its
    own, drawn by `seed`; with `same_faults` only the agent draws anew. `packs` are armed from there on. A recorded trajectory is looked
    up by the name of its scenario, or in the folder `run` that it is from. With `out` all is recorded in a run folder; see docs/forks.md.
    Raises InputError.
    """
    from simtrain.runs.growing import grow, recorded_trunk, turn_starts

    name = agent if isinstance(agent, str) else type(agent).__name__
    player = build_agent(agent) if isinstance(agent, str) else agent
    folder = None if run is None else Path(run)
    if isinstance(source, Trajectory):
        opened, trunk = recorded_trunk(source, folder), source
    else:
        opened = source if isinstance(source, Episode) else episode(source, case=case, seed=seed)
        trunk = await played(opened, player, name=name)
    steps = turn_starts(trunk) if at is None else (at,) if isinstance(at, int) else tuple(at)
    forking = ForkOptions(steps, branches, seed, same_faults, tuple(str(pack) for pack in packs), severity)
    return await grow(
        opened,
        trunk,
        player,
        forking,
        RunOptions(name, seed=trunk.seed, concurrency=concurrency),
        out=None if out is None else Path(out),
        source=folder,
        own=not isinstance(source, Trajectory),
    )


def climb(curriculum: str | Path, *, split: Split = "train", seed: int = 0, ledger: str | Path | None = None) -> Climb:
    """Return a curriculum of levels, by name or from a file, as a stream of tasks that get harder.

    `tasks = climb("ladder")`, then `for task in tasks: ...; tasks.reward(task, value)`; `rollout` and `open_episode` take
    `task.episode`. With a `ledger` the stream continues where it was left. Raises InputError.
    """
    ladder = load_ladder(curriculum)
    return Climb(
        ladder.spec,
        ladder.families(split, seed=seed),
        split=split,
        seed=seed,
        ledger=None if ledger is None else Path(ledger),
    )


def run(
    scenarios: Sequence[Scenario],
    agent: Agent | str = "resilient",
    *,
    out: str | Path,
    knobs: Mapping[str, JsonValue] | None = None,
    seed: int = 0,
    episodes: int | None = None,
    attempts: int = 1,
    concurrency: int = 32,
    workers: int = 1,
    sync_every: int = 0,
    via: str | None = None,
    real_time: bool = False,
    seeds: Iterable[int] = (),
    split: Split | None = None,
    split_by: SplitBy = "seed",
    curriculum: str | Path | None = None,
    resume: bool = False,
    on_planned: Callable[[int], None] = lambda _: None,
    on_played: Callable[[FinishedRollout], None] = lambda _: None,
) -> RunResult:
    """Play scenarios into the run folder `out`; see docs/runs.md for the options. Raises InputError for bad input.

    `seeds` are those of the worlds, in place of the scenarios' own; of these, or of the scenarios, only those of a `split` are
    played where one is named. `curriculum` is a curriculum file, or a ledger to be replayed.
    """
    worlds = list(dict.fromkeys(seeds))
    if split is not None:
        scenarios, worlds = chosen(scenarios, worlds, split_by, split)
    name = agent if isinstance(agent, str) else type(agent).__name__
    options = RunOptions(
        name,
        dict(knobs or {}),
        seed,
        episodes,
        attempts,
        concurrency,
        workers,
        sync_every,
        via,
        real_time=real_time,
        seeds=tuple(worlds),
    )
    made = None if isinstance(agent, str) else agent
    return run_batch(
        scenarios,
        options,
        Path(out),
        agent=made,
        curriculum=None if curriculum is None else load_curriculum(Path(curriculum)),
        resume=resume,
        on_planned=on_planned,
        on_played=on_played,
    )


def drill(
    scenarios: Sequence[Scenario],
    *agents: Agent | str,
    out: str | Path,
    packs: Sequence[str | Path] = (),
    severities: Sequence[float] = (),
    arms: Sequence[Kind] = ("alone", "pack", "together"),
    cases: int | None = None,
    knobs: Mapping[str, JsonValue] | None = None,
    seed: int = 0,
    attempts: int = 1,
    concurrency: int = 32,
    workers: int = 1,
    via: str | None = None,
    max_cost: float | None = None,
    prove: bool = False,
    resume: bool = False,
    on_planned: Callable[[int], None] = lambda _: None,
    on_played: Callable[[FinishedRollout], None] = lambda _: None,
) -> DrillResult:
    """Play the same cases with and without what goes wrong, and report into the folder `out`; see docs/drills.md.

    One agent (`resilient` unless named), or two by name that are compared. `cases` is how many of each family are drawn; without
    `packs` the scenarios' own perturbations are drilled. The result's `report` holds the measures of every arm. Raises InputError.
    """
    from simtrain.drills.drill import Watch
    from simtrain.drills.drill import drill as play_drill
    from simtrain.drills.plan import plan_drill

    players = agents or ("resilient",)
    made = next((agent for agent in players if isinstance(agent, Agent)), None)
    if made is not None and len(players) > 1:
        raise InputError(
            "agents made in Python are drilled one by one", remedy="give their names, or compare run folders"
        )
    plan = plan_drill(
        scenarios, packs=[str(pack) for pack in packs], severities=sorted(severities), kinds=arms, cases=cases
    )
    options = [
        RunOptions(
            agent if isinstance(agent, str) else type(agent).__name__,
            dict(knobs or {}),
            seed,
            None,
            attempts,
            concurrency,
            workers,
            via=via,
            max_cost=max_cost,
        )
        for agent in players
    ]
    watch = Watch(on_planned, on_played)
    return play_drill(plan, options, Path(out), agent=made, proving=prove, resume=resume, watch=watch)


def serve_sessions(
    sessions: Sessions, *, socket: str | Path | None = None, port: int = 0, token: str | None = None
) -> AbstractContextManager[Door]:
    """Serve open sessions to other processes while the block runs; see docs/sessions.md. Raises InputError.

    At a Unix socket, or at a port of this machine with a token; 0 takes a free one. The block receives where.
    """
    from simtrain.mcp.serve.serving_sessions import serve_sessions as serve

    return serve(sessions, socket=socket, port=port, token=token)


def grade(run_folder: str | Path, *, on_graded: Callable[[], None] = lambda: None) -> JsonObject:
    """Grade a run folder again by its scenarios' present rubrics, without playing again; returns its summary. Raises InputError.

    `on_graded` is called after each trajectory.
    """
    return regrade(Path(run_folder), on_graded=on_graded)


def export(
    trajectories: str | Path | Iterable[Trajectory],
    exporter: str,
    *,
    out: str | Path,
    selection: Selection | None = None,
    knobs: JsonObject | None = None,
    columns: Columns | None = None,
) -> ExportTally:
    """Write a run folder (or trajectories) in a trainer's format to the file `out`; `columns` adds some of your own. Raises InputError."""
    rows = read_run(Path(trajectories)) if isinstance(trajectories, str | Path) else trajectories
    return export_trajectories(rows, exporter=exporter, out=out, selection=selection, knobs=knobs, columns=columns)
