"""Play one episode of a run again: with the same scenario, arm, case, seed, attempt and agent."""

import asyncio
from dataclasses import replace
from pathlib import Path

import orjson
from pydantic import TypeAdapter

from simtrain.agents.select import build_agent
from simtrain.contracts.agent import Agent
from simtrain.contracts.scenario import Episode, Scenario
from simtrain.contracts.trajectory import Trajectory, to_line
from simtrain.runs.forks import gone_on
from simtrain.runs.judge import judge
from simtrain.runs.rollout import hosted
from simtrain.runs.run_folder import read_facts
from simtrain.scenarios.arms import armed
from simtrain.scenarios.load import load_scenario_file, paradigm_of
from simtrain.values.arm import Arm
from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject


def replayed(run: Path, trajectory: Trajectory) -> Trajectory:
    """Return the result of playing a trajectory of a run again.

    Raises InputError if its scenario, its world or one of its packs is missing or has changed since.
    """
    recorded = read_facts(run)["agent"]
    return asyncio.run(played(recorded_episode(run, trajectory), str(recorded["name"]), knobs=recorded["knobs"]))


def recorded_episode(run: Path, trajectory: Trajectory) -> Episode:
    """Return the episode that a trajectory of a run records; a forked one continues from its fork.

    Raises InputError if its scenario, its world or one of its packs is missing or has changed since.
    """
    facts = read_facts(run)
    scenario = _scenario(facts, trajectory, run)
    if facts.get("seeds"):
        # The run was played over worlds of other seeds than the file's; one of them has this episode.
        scenario = replace(scenario, seeds=(trajectory.world.seed,))
    episode = episode_of(scenario, trajectory)
    return gone_on(episode, trajectory.turns, trajectory.forks) if trajectory.forks else episode


def differing(recorded: Trajectory, again: Trajectory) -> list[str]:
    """Return the top-level keys in which two trajectories differ by any byte, except `timing`."""
    was, now = (orjson.loads(to_line(replace(one, timing={}))) for one in (recorded, again))
    return [key for key in now if was[key] != now[key]]


async def played(
    episode: Episode, agent: Agent | str, *, name: str | None = None, knobs: JsonObject | None = None
) -> Trajectory:
    """Return an episode as an agent plays it, graded. An agent given by name is built with `knobs`, and closed afterwards.

    `name` is what the trajectory calls another one, by default its class. Raises InputError.
    """
    if isinstance(agent, str):
        built = build_agent(agent, knobs)
        try:
            return await played(episode, built, name=agent)
        finally:
            await built.close()
    async with hosted(agent, name=name or type(agent).__name__, judge=judge) as play:
        return await play(episode)


def _scenario(facts: JsonObject, trajectory: Trajectory, run: Path) -> Scenario:
    for entry in facts["scenarios"]:
        arm = entry.get("arm")
        if entry["name"] != trajectory.scenario or (arm is not None and arm["name"] != trajectory.arm):
            continue
        file = Path(str(facts.get("folder", "")), str(entry["file"]))
        scenario = load_scenario_file(file, trajectory.scenario)
        found = scenario if arm is None else armed(scenario, TypeAdapter(Arm).validate_python(arm))
        # Checked before playing: with a changed scenario another result would prove nothing.
        if found.digest != entry["digest"]:
            raise InputError(
                f"the scenario {trajectory.scenario} (or its world or a pack) has changed since it was played",
                remedy="play it anew, or put the files back",
                file=run,
            )
        return found
    raise InputError(f"run.json does not name the scenario {trajectory.scenario!r} in this arm", file=run)


def episode_of(scenario: Scenario, trajectory: Trajectory) -> Episode:
    """Return the episode of a scenario that a trajectory records, without its forks. Raises InputError."""
    for episode in paradigm_of(scenario).episodes(scenario, seed=trajectory.seed, attempts=1):
        arm = episode.scenario.arm
        if episode.id == trajectory.episode and (arm.name if arm else "") == trajectory.arm:
            return replace(episode, attempt=trajectory.attempt)
    raise InputError(f"{trajectory.scenario} no longer has the episode {trajectory.episode}", remedy="play it anew")
