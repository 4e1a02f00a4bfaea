"""Grow a tree: one episode and branches from some of its steps, played into a run folder or a temporary one."""

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from simtrain.contracts.agent import Agent
from simtrain.contracts.scenario import Episode
from simtrain.contracts.trajectory import Trajectory, to_line
from simtrain.files.jsonl import write_whole
from simtrain.runs.forks import ForkOptions, forked
from simtrain.runs.replay import episode_of, recorded_episode
from simtrain.runs.resume import open_run
from simtrain.runs.run import check_forks, fork_facts
from simtrain.runs.run_file import run_facts
from simtrain.runs.run_folder import SUMMARY_FILE, read_run
from simtrain.runs.runner import RunOptions, Stopper, play
from simtrain.runs.summary import summarise
from simtrain.runs.trajectory_files import part_writer, read_rows
from simtrain.runs.trees import TreePlace, trees
from simtrain.scenarios.find import find_scenarios
from simtrain.scenarios.load import load_scenario_file
from simtrain.values.errors import InputError


def recorded_trunk(trajectory: Trajectory, run: Path | None) -> Episode:
    """Return the episode of a trajectory, from its run folder or else from the scenario of its name. Raises InputError."""
    if run is not None:
        return recorded_episode(run, trajectory)
    scenario = load_scenario_file(find_scenarios(trajectory.scenario)[trajectory.scenario], trajectory.scenario)
    # A fork with perturbations has a digest of its own; the first fork names the original.
    first = trajectory.forks[0].scenario_digest if trajectory.forks else trajectory.scenario_digest
    if scenario.digest != first:
        raise InputError(
            f"{trajectory.scenario} is not the scenario of this trajectory, or has changed since",
            remedy="name the run folder that it is from with `run`",
        )
    return replace(episode_of(scenario, trajectory), attempt=trajectory.attempt)


def turn_starts(trajectory: Trajectory) -> tuple[int, ...]:
    """Return the first step of each turn."""
    return tuple(turn.steps[0].index for turn in trajectory.turns if turn.steps)


async def grow(
    episode: Episode,
    trunk: Trajectory,
    agent: Agent,
    forking: ForkOptions,
    options: RunOptions,
    *,
    out: Path | None,
    source: Path | None,
    own: bool,
) -> TreePlace:
    """Return the tree of a trunk and its branches, played into the folder `out`; the trunk too, if it is the agent's `own`.

    `source` is the run folder of the trunk. Raises InputError, also if branches failed through no fault of the agent.
    """
    episodes = forked(episode, trunk, forking, attempt=trunk.attempt + 1 if own else 0)
    if not episodes:
        return TreePlace(0, (trunk,))
    await check_forks(episodes, agent, options.agent)
    with TemporaryDirectory() as scratch:
        folder = out or Path(scratch) / "tree"
        facts = run_facts([episode.scenario], options, agent.facts(), episodes=len(episodes) + own)
        facts["forks"] = fork_facts(trunk, forking, source=None if source is None else str(source))
        with closing(open_run(folder, facts, resume=False)), closing(part_writer(folder, 0)) as kept:
            if own:
                kept.write(to_line(trunk))
            await play(episodes, agent, options, folder, on_played=lambda _: None, stopper=Stopper())
            write_whole(folder / SUMMARY_FILE, summarise(read_rows(folder)))
        leaves = list(read_run(folder))
    # A tree with missing branches would give wrong mean returns.
    if len(leaves) < len(episodes) + own:
        missing = len(episodes) + own - len(leaves)
        raise InputError(
            f"{missing} branches failed through no fault of the agent", file=out and out / "failures.jsonl"
        )
    return trees(leaves)[0]
