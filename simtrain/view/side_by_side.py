"""Several episodes side by side, step by step: equal calls in one row, the first difference marked, and words that differ."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

from simtrain.contracts.domain import Domain
from simtrain.contracts.drawing import Drawing
from simtrain.contracts.trajectory import Step, Trajectory
from simtrain.values.types import canonical
from simtrain.view.shown_episode import drawn, shown_arguments
from simtrain.view.word_diff import Stretch, word_diff

Difference = Literal["calls", "replies"]


@dataclass(frozen=True)
class SideStep:
    """A step of one episode. `call` and `reply` are word diffs to the first episode's, None where there is nothing to compare."""

    step: Step
    arguments: str
    drawing: Drawing
    call: Sequence[Stretch] | None = None
    reply: Sequence[Stretch] | None = None


@dataclass(frozen=True)
class SideRow:
    """The steps of several episodes that belong together. `differs` names the first difference, if it is here.

    An episode without a step has no such call here (None), or is over (`ended`).
    """

    steps: Sequence[SideStep | None]
    ended: Sequence[bool]
    differs: Difference | None


def side_by_side(episodes: Sequence[tuple[Trajectory, Domain]]) -> list[SideRow]:
    """Return the steps of episodes in rows. The first row in which calls differ is marked, and the first in which replies do."""
    rows = aligned([one.steps for one, _ in episodes])
    ends = [
        max((place for place, row in enumerate(rows) if row[number]), default=-1) for number in range(len(episodes))
    ]
    found, marked = list[SideRow](), set[Difference]()
    for place, row in enumerate(rows):
        difference = _difference(row)
        fresh = difference if difference not in marked else None
        if difference:
            marked.add(difference)
        if difference == "calls":
            # What follows another call differs anyhow.
            marked.add("replies")
        sides = [_side(step, domain, row[0]) for step, (_, domain) in zip(row, episodes, strict=True)]
        found.append(SideRow(sides, [place > end for end in ends], fresh))
    return found


def aligned(episodes: Sequence[Sequence[Step]]) -> list[list[Step | None]]:
    """Return the steps of episodes in rows, so that calls equal to those of the first episode stand beside them.

    A call that only some have, such as one that was tried again, gets a row of its own.
    """
    first = [_call(step) for step in episodes[0]]
    # Keyed by the step of the first episode that follows, and by the place among those before it; its own step comes last.
    places: dict[tuple[int, int, int], list[Step | None]] = {
        (number, 1, 0): [step, *[None] * (len(episodes) - 1)] for number, step in enumerate(episodes[0])
    }
    for column, steps in enumerate(episodes[1:], 1):
        for key, step in _placed(first, steps):
            places.setdefault(key, [None] * len(episodes))[column] = step
    return [places[key] for key in sorted(places)]


def _placed(first: Sequence[bytes], steps: Sequence[Step]) -> list[tuple[tuple[int, int, int], Step]]:
    matcher = SequenceMatcher(None, first, [_call(step) for step in steps], autojunk=False)
    found = list[tuple[tuple[int, int, int], Step]]()
    for _, begin, end, start, stop in matcher.get_opcodes():
        # Calls in place of others stand beside them; further ones follow.
        for offset in range(stop - start):
            own = begin + offset < end
            key = (begin + offset, 1, 0) if own else (end, 0, offset)
            found.append((key, steps[start + offset]))
    return found


def _difference(steps: Sequence[Step | None]) -> Difference | None:
    if len({None if step is None else _call(step) for step in steps}) > 1:
        return "calls"
    return "replies" if len({step.observation.text for step in steps if step is not None}) > 1 else None


def _side(step: Step | None, domain: Domain, first: Step | None) -> SideStep | None:
    if step is None:
        return None
    arguments, drawing = shown_arguments(step), drawn(step, domain)
    if first is None or first is step or first.action.tool != step.action.tool:
        return SideStep(step, arguments, drawing)
    return SideStep(
        step,
        arguments,
        drawing,
        _changed(shown_arguments(first), arguments),
        _changed(first.observation.text, step.observation.text),
    )


def _changed(one: str, other: str) -> Sequence[Stretch] | None:
    return word_diff(one, other) if one != other else None


def _call(step: Step) -> bytes:
    return canonical([step.action.tool, step.action.malformed, step.action.arguments])
