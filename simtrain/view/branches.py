"""The episodes of one case as a tree: what they share is told once, and where they part they branch."""

from collections.abc import Iterable
from dataclasses import dataclass

from simtrain.contracts.trajectory import Trajectory
from simtrain.runs.trees import TreeChoice, TreePlace, trees

MOST_LEAVES = 100
"""Episodes that a tree shows at most. A tree is at most this deep, since each level has a leaf of its own."""


@dataclass(frozen=True)
class TreeBranch:
    """A stretch of turns, counted from 1, that the same episodes share; those that end with it, and the branches after it.

    `reply` says which of several replies to the call before was heard, counted from 1; 0 if all heard the same.
    """

    first: int
    last: int
    tools: tuple[str, ...]
    words: str
    reply: int
    episodes: int
    mean_return: float | None
    ended: tuple[Trajectory, ...]
    below: tuple["TreeBranch", ...]


def branches(trajectory: Trajectory, others: Iterable[Trajectory]) -> list[TreeBranch]:
    """Return the branches of an episode's tree; none if no other episode begins with the same turn."""
    alike = [one for one in others if one.seed == trajectory.seed][: MOST_LEAVES - 1]
    tree = next(tree for tree in trees([trajectory, *alike]) if any(leaf is trajectory for leaf in tree.leaves))
    if all(len(choice.leaves) == 1 for choice in tree.choices):
        return []
    return [_branch(choice, 0) for choice in tree.choices]


def _branch(first: TreeChoice, reply: int) -> TreeBranch:
    stretch = [first]
    while (after := _only_choice(stretch[-1])) is not None:
        stretch.append(after)
    last = stretch[-1]
    several = len(last.places) > 1
    return TreeBranch(
        first.depth + 1,
        last.depth + 1,
        tuple(step.action.tool for choice in stretch for step in choice.turn.steps),
        last.turn.text or "",
        reply,
        len(first.leaves),
        first.mean_return,
        tuple(leaf for place in last.places for leaf in _ended(place)) if last.places else last.leaves,
        tuple(
            _branch(choice, number if several else 0)
            for number, place in enumerate(last.places, 1)
            for choice in place.choices
        ),
    )


def _only_choice(choice: TreeChoice) -> TreeChoice | None:
    """Return the choice that all episodes of this one make next; None where they part or end."""
    if len(choice.places) != 1:
        return None
    (place,) = choice.places
    return place.choices[0] if len(place.choices) == 1 and not _ended(place) else None


def _ended(place: TreePlace) -> tuple[Trajectory, ...]:
    return tuple(leaf for leaf in place.leaves if len(leaf.turns) == place.depth)
