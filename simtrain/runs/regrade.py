"""Grade a run again without playing it again: final worlds are restored from the recorded changes."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from pydantic import TypeAdapter

from simtrain.contracts.scenario import Episode, Scenario
from simtrain.contracts.trajectory import Trajectory, to_line
from simtrain.contracts.world import FinishedWorld, Variant
from simtrain.files.jsonl import Replacement, write_whole
from simtrain.perturbations.attacks.grading import with_attacks
from simtrain.runs.forks import armed_later
from simtrain.runs.judge import judge
from simtrain.runs.run_folder import RUN_FILE, SUMMARY_FILE, RunFolder, read_facts
from simtrain.runs.summary import summarise
from simtrain.runs.trajectory_files import part_files, read_part, read_rows
from simtrain.scenarios.arms import armed
from simtrain.scenarios.beginning import begun
from simtrain.scenarios.find import find_scenarios
from simtrain.scenarios.load import load_scenario_file
from simtrain.values.arm import Arm
from simtrain.values.clock import instant
from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject

Place: TypeAlias = tuple[str, str]
"""Scenario and arm; no arm is an empty name."""

AT_ONCE = 32
"""Trajectories that are graded concurrently, and held in memory."""


def regrade(path: Path, *, on_graded: Callable[[], None] = lambda: None) -> JsonObject:
    """Grade every trajectory of a run folder by the current rubrics of the scenario files; return the new summary.

    Each file of trajectories is replaced atomically once all of it is graded, so an interrupted run of it can simply be repeated.
    Raises InputError if a scenario is missing, its world has changed, a grader's model cannot be reached, the folder cannot be
    written, or a run is writing to it.
    """
    folder = RunFolder.reopen(path)
    try:
        try:
            asyncio.run(_regrade(path, _scenarios(path), on_graded))
        except InputError as error:
            raise error.at(file=path) from None
        summary = summarise(read_rows(path))
        write_whole(path / SUMMARY_FILE, summary)
    finally:
        folder.close()
    return summary


def _scenarios(path: Path) -> dict[Place, Scenario]:
    try:
        return _scenarios_of(path, read_facts(path))
    except (LookupError, TypeError, AttributeError, ValueError) as error:
        problem = f"run.json does not name the scenarios to grade by ({type(error).__name__}: {error})"
        raise InputError(problem, remedy="the run folder is damaged", file=path / RUN_FILE) from None


def _scenarios_of(path: Path, facts: JsonObject) -> dict[Place, Scenario]:
    plain: dict[str, Scenario] = {}
    found: dict[Place, Scenario] = {}
    for entry in facts.get("scenarios", []):
        name, file = str(entry["name"]), Path(str(facts.get("folder", "")), str(entry["file"]))
        if name not in plain:
            source = file if file.is_file() else _by_name(name, path)
            plain[name] = load_scenario_file(source, name)
        arm = TypeAdapter(Arm).validate_python(entry["arm"]) if entry.get("arm") else None
        # An arm may plant instructions, whose graders belong to the arm and not to the scenario file.
        found[name, arm.name if arm else ""] = armed(plain[name], arm) if arm else plain[name]
    return found


def _by_name(name: str, path: Path) -> Path:
    """Return the file of a scenario that is not at its recorded path. In a copied run it may be found by name. Raises InputError."""
    try:
        return find_scenarios(name)[name]
    except (InputError, KeyError):
        raise InputError(f"the scenario {name!r} of this run is gone", remedy="put its file back", file=path) from None


def _in_own_arm(scenario: Scenario | None, trajectory: Trajectory) -> Scenario | None:
    """Return the scenario in an arm that its paradigm made from its own perturbations."""
    if scenario is None or not trajectory.arm:
        return scenario
    items = [item for item in scenario.perturbations if item.label in trajectory.perturbations]
    return replace(scenario, perturbations=tuple(items), grading=with_attacks(scenario.grading, items))


async def _regrade(path: Path, scenarios: dict[Place, Scenario], on_graded: Callable[[], None]) -> None:
    for scenario in scenarios.values():
        for grading in scenario.grading:
            # Before the first file is replaced: without its model a grader could only spoil them.
            await grading.grader.ready()
    for part in part_files(path):
        with Replacement(part) as new:
            async for trajectory in _graded(read_part(part), scenarios):
                new.write(to_line(trajectory))
                on_graded()


async def _graded(trajectories: Iterable[Trajectory], scenarios: dict[Place, Scenario]) -> AsyncIterator[Trajectory]:
    """Yield the trajectories with their new rewards, in order. Up to AT_ONCE are graded at the same time."""
    ahead: deque[asyncio.Task[Trajectory]] = deque()
    try:
        for trajectory in trajectories:
            ahead.append(asyncio.create_task(_grade(trajectory, scenarios)))
            if len(ahead) >= AT_ONCE:
                yield await ahead.popleft()
        while ahead:
            yield await ahead.popleft()
    finally:
        for task in ahead:
            task.cancel()
        await asyncio.gather(*ahead, return_exceptions=True)


async def _grade(trajectory: Trajectory, scenarios: dict[Place, Scenario]) -> Trajectory:
    scenario = scenarios.get((trajectory.scenario, trajectory.arm))
    if scenario is None:
        scenario = _in_own_arm(scenarios.get((trajectory.scenario, "")), trajectory)
    if scenario is None:
        raise InputError(f"run.json does not name the scenario {trajectory.scenario!r}")
    # The gold is SQL over the world: with another world the grades would be wrong without any error.
    if scenario.source.digest != trajectory.world.digest:
        raise InputError(
            f"the world {trajectory.world.name!r} has changed since this run was played", remedy="play it again"
        )
    # Packs armed at a fork may bring graders of their own.
    for fork in trajectory.forks:
        scenario, _ = armed_later(scenario, fork)
    world = finished_world(trajectory, scenario)
    try:
        return await judge(_episode(trajectory, scenario), trajectory, world)
    finally:
        world.final.close()


def _episode(trajectory: Trajectory, scenario: Scenario) -> Episode:
    """Return the episode that a trajectory records."""
    return Episode(
        scenario, trajectory.episode, trajectory.case, _variant(trajectory), trajectory.seed, trajectory.attempt
    )


def _variant(trajectory: Trajectory) -> Variant:
    return Variant(trajectory.world.seed, tuple(sorted(trajectory.world.rows.items())))


def finished_world(trajectory: Trajectory, scenario: Scenario) -> FinishedWorld:
    """Return the final world of a trajectory, restored from its recorded changes, with the clock at the end of the episode."""
    world = begun(scenario, _variant(trajectory), trajectory.case)
    final = world.open(trajectory.changes)
    if trajectory.world.ended:
        final.clock.moment = instant(trajectory.world.ended)
    return FinishedWorld(world, final, trajectory.changes)
