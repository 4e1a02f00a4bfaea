"""Find out whether an episode can be solved: from the family's declaration, from its own ending, or by search."""

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
"""Solutions cached per process: shared by the attempts at one case, and by agents that are compared."""

_Key: TypeAlias = tuple[str, tuple[str, ...], str, Variant, int]

_found: OrderedDict[_Key, Solution] = OrderedDict()
_sought: dict[_Key, asyncio.Future[Solution]] = {}


def foretold(episode: Episode) -> Solvability | None:
    """Return what is known without a search; None if a search can tell more.

    Without perturbations it is the family's own declaration, which `simtrain validate` proves. Nothing is known about a world
    that a model or a recording answers.
    """
    spec = episode.scenario.spec
    if spec.impossible:
        return "unsolvable"
    # A search needs a world that answers the same calls alike.
    if any(use.use != "embedded" for use in spec.world_models):
        return "unproved"
    if not episode.scenario.perturbations:
        return "solvable"
    return None if provable(episode) else "unproved"


def provable(episode: Episode) -> bool:
    """True if a search for a path to success is possible."""
    spec = episode.scenario.spec
    return (
        (spec.planned or paradigm_of(episode.scenario).plans)
        and not spec.impossible
        and all(use.use == "embedded" for use in spec.world_models)
    )


async def solvability_of(episode: Episode) -> Solvability:
    """Return the result of a search in an episode with perturbations."""
    try:
        label = (await solution_of(episode)).label
    # The search failed, which says nothing about the task.
    except SimulatorFault:
        return "unproved"
    return "solvable" if label == "proved" else "unsolvable" if label == "unsolvable" else "unproved"


async def solution_of(episode: Episode) -> Solution:
    """Return the solution of an episode, searched for once. Attempts at a case share it, since their perturbations are the same."""
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
        # Virtual time only: a search must not sleep through the episode's delays.
        _sought[key] = asyncio.ensure_future(solve(replace(episode, real_time=False)))
        _sought[key].add_done_callback(lambda _: _sought.pop(key))
    # Shielded: others may be waiting for it when this episode is cancelled.
    solution = _found[key] = await asyncio.shield(_sought[key])
    if len(_found) > KEPT:
        _found.popitem(last=False)
    return solution
