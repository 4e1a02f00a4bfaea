"""Split by hash: one property alone decides between training, validation and test, so the split never changes."""

from collections.abc import Iterable
from typing import Literal, TypeAlias

from simtrain.contracts.scenario import Scenario
from simtrain.contracts.trajectory import Trajectory
from simtrain.curricula.curriculum_file import SPLITS, Split
from simtrain.scenarios.arms import offered_tools
from simtrain.values.errors import InputError
from simtrain.values.seeding import draw

SplitBy: TypeAlias = Literal["seed", "family", "perturbation", "tools"]
"""The property: the world's seed, the scenario's name, what is armed, or the names of the tools."""

VALIDATION, TEST = 0.8, 0.9
"""The lower bounds of validation and test: 80 % training, 10 % validation, 10 % test."""


def split_of(by: SplitBy, value: str) -> Split:
    """Return the split of one value of a property: `derive(0, "split", by, value)` as a number in [0, 1)."""
    # Seed 0 always: the split must not depend on the seed of a run.
    place = draw(0, "split", by, value)
    return "train" if place < VALIDATION else "validation" if place < TEST else "test"


def chosen(
    scenarios: Iterable[Scenario], seeds: Iterable[int], by: SplitBy, split: Split
) -> tuple[list[Scenario], list[int]]:
    """Return the scenarios, and the seeds of worlds, that belong to a split. Raises InputError if none does."""
    if by == "seed":
        found = list(scenarios), [seed for seed in seeds if split_of("seed", str(seed)) == split]
        left = found[1]
    else:
        found = [one for one in scenarios if split_of_scenario(by, one) == split], list(seeds)
        left = found[0]
    if not left:
        remedy = "name more seeds with --seeds" if by == "seed" else "name more scenarios, or split by another property"
        raise InputError(f"nothing of what is named belongs to the split {split} by {by}", remedy=remedy)
    return found


def split_of_scenario(by: SplitBy, scenario: Scenario) -> Split:
    """Return the split of all episodes of a scenario; by seed that of its world as written."""
    if by == "seed":
        return split_of("seed", str(scenario.source.build().seed))
    if by == "family":
        return split_of("family", scenario.name)
    if by == "tools":
        return _by_tools(tool.name for tool in offered_tools(scenario))
    return _by_labels(item.label for item in scenario.perturbations)


def split_of_trajectory(by: SplitBy, trajectory: Trajectory) -> Split:
    """Return the split of a trajectory."""
    if by == "seed":
        return split_of("seed", str(trajectory.world.seed))
    if by == "family":
        return split_of("family", trajectory.scenario)
    if by == "tools":
        return _by_tools(tool.name for tool in trajectory.tools)
    return _by_labels(trajectory.perturbations)


def _by_tools(names: Iterable[str]) -> Split:
    # Sorted, since a perturbation or server may list the same tools in another order.
    return split_of("tools", "\n".join(sorted(names)))


def _by_labels(labels: Iterable[str]) -> Split:
    """Return the latest split of any of them, so that training meets none that is held out; what is clean belongs to training."""
    splits: list[Split] = ["train", *(split_of("perturbation", label.rpartition(".")[2]) for label in labels)]
    return max(splits, key=SPLITS.index)
