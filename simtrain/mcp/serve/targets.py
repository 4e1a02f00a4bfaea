"""Targets that can be served: scenarios, worlds, captured manifests and recordings, by name or file."""

from collections.abc import Sequence
from pathlib import Path

from simtrain.contracts.scenario import Scenario
from simtrain.files.yaml_files import read_document
from simtrain.scenarios.ad_hoc import free_servers, free_world
from simtrain.scenarios.find import find, find_scenarios, names
from simtrain.scenarios.load import load_scenario_file
from simtrain.values.errors import InputError, nearest
from simtrain.values.types import JsonObject


def load_target(name: str, *, world_models: Sequence[JsonObject] = (), packs: Sequence[str] = ()) -> list[Scenario]:
    """Return the scenarios for a word of the command line: a manifest (.json), a recording (.jsonl), a world, a scenario or a suite.

    `world_models` answer for worlds and manifests, before the world itself; a scenario names its own. Raises InputError.
    """
    # Paths on the command line are relative to the working folder; paths in a scenario are relative to its file.
    packs = [str(find("perturbations", pack).resolve()) if pack.endswith((".yaml", ".yml")) else pack for pack in packs]
    if name.endswith((".json", ".jsonl")):
        return [free_servers(Path(name), world_models=world_models, packs=packs)]
    if _is_world(name):
        chain = [*world_models, {"use": "embedded"}] if world_models else []
        return [free_world(name, world_models=chain, packs=packs)]
    if world_models:
        raise InputError(f"the scenario {name!r} names its own world models", remedy="change them in its file")
    try:
        found = find_scenarios(name)
    except InputError as error:
        known = [*names("worlds"), *names("scenarios")]
        raise InputError(
            f"there is no world, scenario, manifest or recording {name!r}", remedy=nearest(name, known) or error.remedy
        ) from None
    return [load_scenario_file(path, family, packs=packs) for family, path in found.items()]


def _is_world(name: str) -> bool:
    """Return True if a name or file means a world. A suite of scenarios may have the name of its world; the world wins."""
    if name.endswith((".yaml", ".yml")):
        return "kind" in read_document(Path(name)).data
    return name in names("worlds")
