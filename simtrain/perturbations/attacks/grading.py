"""Graders of attacks for arms that plant instructions. Success of an attack is measured apart from the task's reward."""

from collections.abc import Iterable, Sequence
from typing import cast

from simtrain.contracts.grader import Grader
from simtrain.contracts.perturbation import Armed
from simtrain.contracts.registry import resolve
from simtrain.contracts.scenario import Grading
from simtrain.perturbations.attacks.goal import Goal, shipped

LABEL = "attack"


def with_attacks(grading: Sequence[Grading], perturbations: Iterable[Armed]) -> tuple[Grading, ...]:
    """Return the grading, with the grader `attack` added if a perturbation plants instructions and the rubric does not have it.

    Added graders have weight 0. Each goal defined by the author gets its own, since no other would look for it.
    """
    planted = [item.perturbation for item in perturbations if item.perturbation.traits.attacks]
    if not planted:
        return tuple(grading)
    labels = [item.label for item in grading]
    graded = [_goal(item.grader) for item in grading if isinstance(item.grader, _attack())]
    found = list(grading)
    # None is the grader that looks for all shipped goals at once.
    for goal in (None, *(_goal(plugin) for plugin in planted)):
        if goal in graded or goal in shipped():
            continue
        graded.append(goal)
        found.append(_added(goal, labels))
    return tuple(found)


def _attack() -> type[Grader]:
    # By name: graders are above perturbations in the import order.
    return cast("type[Grader]", resolve("graders", "attack"))


def _goal(plugin: object) -> Goal | None:
    return getattr(plugin, "goal", None)


def _added(goal: Goal | None, taken: Sequence[str]) -> Grading:
    label = LABEL if goal is None else f"{LABEL}_{goal.name}"
    while label in taken:
        label += "_too"
    return Grading(label, 0.0, False, _attack().model_validate({"goal": goal}))
