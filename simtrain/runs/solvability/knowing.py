"""Find out whether an episode can be done: by what the family declares, by its own end, or by search."""

import asyncio
from collections import OrderedDict
from dataclasses import replace
from typing import TypeAlias

from simtrain.contracts.scenario import Episode
from simtrain.contracts.trajectory import Solvability
from simtrain.contracts.world import Variant
from simtrain.runs.solvability.search import Solution, solve
from simtrain.scenarios.load import paradigm_of
from simtrain.values.errors import SimulatorFault

KEPT = 2_000
"""Solutions that a process remembers: attempts at one case, and agents that are compared, share them."""

_Key: TypeAlias = tuple[str, tuple[str, ...], str, Variant, int]

_found: OrderedDict[_Key, Solution] = OrderedDict()
_sought: dict[_Key, asyncio.Future[Solution]] = {}


def foretold(episode: Episode) -> Solvability | None:
    """Return what is known without a search; None if one can tell more.

    Where nothing is armed it is what the family says of itself, which `simtrain validate` proves. Of a world that a model or a
    recording answers for nothing is known.
    """
    spec = episode.scenario.spec
    if spec.impossible:
        return "unsolvable"
    if any(use.use != "embedded" for use in spec.world_models):
        return "unproved"
    if not episode.scenario.perturbations:
        return "solvable"
    return None if provable(episode) else "unproved"


def provable(episode: Episode) -> bool:
    """True if a way through can be searched for at all."""
    spec = episode.scenario.spec
    return (
        (spec.reference is not None or paradigm_of(episode.scenario).plans)
        and not spec.impossible
        and all(use.use == "embedded" for use in spec.world_models)
    )


async def solvability_of(episode: Episode) -> Solvability:
    """Return what a search finds of an episode in which something is armed."""
    try:
        label = (await solution_of(episode)).label
    except SimulatorFault:
        return "unproved"
    return "solvable" if label == "proved" else "unsolvable" if label == "unsolvable" else "unproved"


async def solution_of(episode: Episode) -> Solution:
    """Return the solution of an episode, searched for once. Attempts at a case share it, since what goes wrong is the same in all."""
    scenario = episode.scenario
    key = (
        scenario.digest,
        tuple(item.label for item in scenario.perturbations),
        episode.id,
        episode.variant,
        episode.seed,
    )
    if key in _found:
        _found.move_to_end(key)
        return _found[key]
    if key not in _sought:
        # The search lets nobody wait.
        _sought[key] = asyncio.ensure_future(solve(replace(episode, real_time=False)))
        _sought[key].add_done_callback(lambda _: _sought.pop(key))
    # Others may wait for it when this episode is dropped.
    solution = _found[key] = await asyncio.shield(_sought[key])
    if len(_found) > KEPT:
        _found.popitem(last=False)
    return solution
