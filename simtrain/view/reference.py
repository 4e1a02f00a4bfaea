"""The reference of an episode: its case, played by the oracle with nothing perturbed."""

import asyncio
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from simtrain.contracts.scenario import Scenario
from simtrain.contracts.trajectory import Trajectory
from simtrain.runs.run_folder import read_facts
from simtrain.values.errors import InputError
from simtrain.values.types import encode


def found_reference(run: Path, trajectory: Trajectory) -> tuple[Trajectory | None, str]:
    """Return the reference of an episode, or why there is none. Episodes of one case share it."""
    return _found(run, _Case(trajectory))


class _Case:
    """A trajectory, equal to others of the same case: they share a reference."""

    def __init__(self, trajectory: Trajectory) -> None:
        self.trajectory = trajectory
        self._key = (trajectory.scenario, trajectory.episode, trajectory.seed, encode(trajectory.case))

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Case) and self._key == other._key


@lru_cache(maxsize=4_096)
def _found(run: Path, case: _Case) -> tuple[Trajectory | None, str]:
    try:
        return reference_of(run, case.trajectory), ""
    except InputError as error:
        return None, f"Unknown: {error}"


def reference_of(run: Path, trajectory: Trajectory) -> Trajectory:
    """Return the case of a trajectory as the oracle plays it. Raises InputError if the scenario is missing or has other cases now."""
    # Imported on use: what plays episodes takes longer to import than the viewer takes to show its first page.
    from simtrain.runs.replay import played
    from simtrain.scenarios.load import paradigm_of

    scenario = _scenario(run, trajectory.scenario, trajectory.world.seed)
    for episode in paradigm_of(scenario).episodes(scenario, seed=trajectory.seed, attempts=1):
        # By its parameters: an arm that plays a part of the cases numbers them anew.
        if episode.case == trajectory.case:
            return asyncio.run(played(episode, "oracle"))
    raise InputError(f"{trajectory.scenario} no longer has this case", remedy="play it anew")


@lru_cache(maxsize=256)
def _scenario(run: Path, name: str, world_seed: int) -> Scenario:
    """Return a scenario of a run without its perturbations. Kept: its world is built once for all cases."""
    facts = read_facts(run)
    file = next((entry["file"] for entry in facts["scenarios"] if entry["name"] == name), None)
    if file is None:
        raise InputError(f"run.json does not name the scenario {name!r}", file=run)
    scenario = replace(_loaded(Path(str(facts.get("folder", "")), str(file)), name), perturbations=())
    return replace(scenario, seeds=(world_seed,)) if facts.get("seeds") else scenario


@lru_cache(maxsize=64)
def _loaded(file: Path, name: str) -> Scenario:
    from simtrain.scenarios.load import load_scenario_file

    return load_scenario_file(file, name)
