"""Grading a run again without playing it again: final worlds are restored from the changes that trajectories record."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from simtrain.assembly import load_scenario_file
from simtrain.catalog import find_scenarios
from simtrain.clock import instant
from simtrain.errors import InputError
from simtrain.grading import grade
from simtrain.scenario import Scenario
from simtrain.store import (
    SUMMARY_FILE,
    RunFolder,
    part_files,
    read_facts,
    read_part,
    read_rows,
    replace_part,
    write_whole,
)
from simtrain.summary import summarise
from simtrain.trajectory import Trajectory
from simtrain.types import JsonObject
from simtrain.world import FinishedWorld, Variant


def regrade(path: Path, *, on_graded: Callable[[], None] = lambda: None) -> JsonObject:
    """Grade every trajectory of a run folder by the rubrics as the scenario files have them now; returns the new summary.

    Raises InputError when a scenario is gone, or its world is no longer the one that was played.
    """
    scenarios = _scenarios(path)
    folder = RunFolder.reopen(path)
    try:
        for part in part_files(path):
            graded: list[Trajectory] = []
            for trajectory in read_part(part):
                graded.append(asyncio.run(_grade(trajectory, scenarios)))
                on_graded()
            replace_part(part, graded)
        summary = summarise(read_rows(path))
        write_whole(path / SUMMARY_FILE, summary)
    finally:
        folder.close()
    return summary


def _scenarios(path: Path) -> dict[str, Scenario]:
    found: dict[str, Scenario] = {}
    for entry in read_facts(path).get("scenarios", []):
        name, file = str(entry["name"]), Path(str(entry["file"]))
        source = file if file.is_file() else find_scenarios(name).get(name)
        if source is None:
            raise InputError(f"the scenario {name!r} of this run is gone", remedy="put its file back", file=path)
        found[name] = load_scenario_file(source, name)
    return found


async def _grade(trajectory: Trajectory, scenarios: dict[str, Scenario]) -> Trajectory:
    scenario = scenarios.get(trajectory.scenario)
    if scenario is None:
        raise InputError(f"run.json does not name the scenario {trajectory.scenario!r}")
    if scenario.source.digest != trajectory.world.digest:
        raise InputError(
            f"the world {trajectory.world.name!r} has changed since this run was played", remedy="play it again"
        )
    world = finished_world(trajectory, scenario)
    try:
        return await grade(trajectory, scenario.grading, scenario.spec.rubric.combine, world)
    finally:
        world.final.close()


def finished_world(trajectory: Trajectory, scenario: Scenario) -> FinishedWorld:
    """The world that a trajectory left behind, restored from its recorded changes."""
    facts = trajectory.world
    world = scenario.source.build(Variant(facts.seed, tuple(sorted(facts.rows.items()))))
    final = world.open(trajectory.changes)
    if trajectory.steps:
        final.clock.moment = instant(trajectory.steps[-1].clock)
    return FinishedWorld(world, final, trajectory.changes)
