"""The world in which an episode begins: the scenario's, in a variant, with what `setup` does for the episode's case."""

from collections import OrderedDict
from collections.abc import Mapping
from threading import Lock

from simtrain.contracts.scenario import Episode, Scenario, ScenarioSpec
from simtrain.contracts.world import Variant, World
from simtrain.files.yaml_files import Document
from simtrain.scenarios.repository_tasks import broken_world
from simtrain.values.types import JsonValue, canonical

_REMEMBERED = 12
"""Worlds kept for the attempts, the graders and the proofs of the same case: each holds a database of its own."""
_begun: OrderedDict[tuple[str, Variant, bytes], World] = OrderedDict()
_lock = Lock()


def world_of(episode: Episode) -> World:
    """Return the world that an episode begins in. Raises InputError for a statement of `setup` that fails."""
    return begun(episode.scenario, episode.variant, episode.case)


def set_up(world: World, spec: ScenarioSpec, case: Mapping[str, JsonValue], document: Document) -> World:
    """Return a copy of a world in which the task's repository stands and `setup` was carried out.

    Raises InputError with the place of a statement that fails.
    """
    if spec.cases.tasks is not None:
        world = broken_world(world, spec.cases, dict(case), document)
    for index, statement in enumerate(spec.setup):
        with document.at(("setup", index)):
            world = world.altered(statement, case)
    return world


def begun(scenario: Scenario, variant: Variant, case: Mapping[str, JsonValue]) -> World:
    """Return the world of a scenario for a case."""
    world = scenario.source.build(variant)
    if not scenario.spec.setup and scenario.spec.cases.tasks is None:
        return world
    key = (scenario.digest, variant, canonical(dict(case)))
    with _lock:
        found = _begun.get(key)
        if found is not None:
            _begun.move_to_end(key)
            return found
    world = set_up(world, scenario.spec, case, scenario.document)
    with _lock:
        _begun[key] = world
        while len(_begun) > _REMEMBERED:
            _begun.popitem(last=False)
    return world
