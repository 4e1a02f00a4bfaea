"""Several episodes of one case side by side, step by step, with the first difference marked."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from simtrain.contracts.trajectory import Step, Trajectory
from simtrain.values.types import canonical


@dataclass(frozen=True)
class StepRow:
    """The steps of the same number, one per episode (None: it has ended). `differs` names the first difference, if it is here."""

    number: int
    steps: Sequence[Step | None]
    differs: str | None


def step_rows(trajectories: Sequence[Trajectory]) -> list[StepRow]:
    """Return the steps of episodes in rows. The first row in which calls differ is marked, and the first in which replies do."""
    rows, marked = list[StepRow](), set[str]()
    for number, steps in enumerate(zip_longest(*(one.steps for one in trajectories)), 1):
        found = _difference(steps)
        fresh = found if found not in marked else None
        rows.append(StepRow(number, steps, fresh))
        if found:
            marked.add(found)
        if found == "calls":
            # What follows another call differs anyhow.
            marked.add("replies")
    return rows


def _difference(steps: Sequence[Step | None]) -> str | None:
    if len({None if step is None else _call(step) for step in steps}) > 1:
        return "calls"
    return "replies" if len({step.observation.text for step in steps if step is not None}) > 1 else None


def _call(step: Step) -> bytes:
    return canonical([step.action.tool, step.action.malformed, step.action.arguments])
