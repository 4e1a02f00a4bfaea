"""Trees of trajectories that begin alike: what the agent had seen, what it did then, and the mean reward of that."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from simtrain.contracts.trajectory import Trajectory, Turn
from simtrain.values.types import canonical


class _Below:
    """A node with leaves below it: whole trajectories, of which those with a reward count."""

    leaves: tuple[Trajectory, ...]

    @cached_property
    def rewards(self) -> tuple[float, ...]:
        """The rewards below it, of the leaves that have one."""
        return tuple(leaf.reward for leaf in self.leaves if leaf.reward is not None)

    @property
    def mean_return(self) -> float | None:
        """The mean reward below it; None if no leaf has one."""
        return sum(self.rewards) / len(self.rewards) if self.rewards else None


@dataclass(frozen=True)
class TreeChoice(_Below):
    """One message of the agent in one place, with all trajectories that contain it there."""

    depth: int
    leaves: tuple[Trajectory, ...]

    @property
    def turn(self) -> Turn:
        """The message, with the replies that the first of its leaves got."""
        return self.leaves[0].turns[self.depth]

    @cached_property
    def places(self) -> tuple[TreePlace, ...]:
        """The places after it: one for each set of replies, as faults may differ; none if it ended the episode."""
        groups = _groups((_heard(leaf.turns[self.depth]), leaf) for leaf in self.leaves if self.turn.steps)
        return tuple(TreePlace(self.depth + 1, leaves) for leaves in groups)


@dataclass(frozen=True)
class TreePlace(_Below):
    """What the agent has seen: the task and the first `depth` turns of its leaves, which are the same in all."""

    depth: int
    leaves: tuple[Trajectory, ...]

    @property
    def seen(self) -> Sequence[Turn]:
        """The turns so far."""
        return self.leaves[0].turns[: self.depth]

    @cached_property
    def choices(self) -> tuple[TreeChoice, ...]:
        """The messages of the agent here, in the order of the leaves; leaves that ended here have none."""
        groups = _groups(
            (_message_bytes(leaf.turns[self.depth]), leaf) for leaf in self.leaves if len(leaf.turns) > self.depth
        )
        return tuple(TreeChoice(self.depth, leaves) for leaves in groups)

    def advantage(self, choice: TreeChoice) -> float | None:
        """Return the mean return of a choice minus that of the place; None without rewards."""
        if choice.mean_return is None or self.mean_return is None:
            return None
        return choice.mean_return - self.mean_return

    def walk(self) -> Iterator[TreePlace]:
        """Yield this place and all below it, depth first."""
        # Not recursive: an episode may have more turns than Python allows nested calls.
        ahead: list[TreePlace] = [self]
        while ahead:
            place = ahead.pop()
            yield place
            ahead.extend(below for choice in reversed(place.choices) for below in reversed(choice.places))


def trees(trajectories: Iterable[Trajectory]) -> list[TreePlace]:
    """Return the tree of each episode among some trajectories: those with the same case and seed whose agent read the same task.

    Trees and leaves are sorted by content, so the order of files does not matter.
    """
    ordered = sorted(trajectories, key=_identity)
    return [TreePlace(0, leaves) for leaves in _groups((_task(one), one) for one in ordered)]


def _groups(keyed: Iterable[tuple[bytes, Trajectory]]) -> list[tuple[Trajectory, ...]]:
    found: dict[bytes, list[Trajectory]] = {}
    for key, trajectory in keyed:
        found.setdefault(key, []).append(trajectory)
    return [tuple(leaves) for leaves in found.values()]


def _identity(one: Trajectory) -> tuple[str, str, int, int, int, bytes]:
    return one.scenario, one.episode, one.seed, len(one.forks), one.attempt, canonical([one.scenario_digest, one.agent])


def _task(trajectory: Trajectory) -> bytes:
    one = trajectory
    return canonical(
        [
            one.scenario,
            one.episode,
            one.seed,
            one.world.digest,
            one.world.seed,
            one.world.rows,
            one.system,
            one.prompt,
            one.tools,
        ]
    )


def _message_bytes(turn: Turn) -> bytes:
    # Without the ids of calls, which differ from episode to episode.
    calls = [(step.action.tool, step.action.arguments, step.action.malformed) for step in turn.steps]
    return canonical([turn.text, turn.reasoning, calls])


def _heard(turn: Turn) -> bytes:
    return canonical([(step.observation.text, step.observation.is_error) for step in turn.steps])
