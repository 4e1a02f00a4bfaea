"""What a drill reads of one trajectory: how it ended, which faults fired, what the agent did after them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import TypeAlias

from simtrain.contracts.trajectory import SUCCESS, Trajectory, to_line
from simtrain.drills.aftermath import Aftermath, aftermath_of, landed, plugin
from simtrain.runs.summary import Case
from simtrain.values.types import JsonObject, canonical

Pairing: TypeAlias = tuple[str, str, int, int]
"""Scenario, episode, seed, attempt: what the arms of a drill share."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One trajectory as a drill sees it.

    `identity` is the same for attempts at one case, in one arm, that are the same to the byte but for wall clock, number and ids
    of calls. `right` says that it ended as it should: in success, or in abstention where the task cannot be done (`abstaining`);
    None if it could not be graded. `done` says that the graders find the task done, whatever the agent says of it.
    `attackable` says that attacks were looked for, `landed` that the agent read one, `attacked` that it reached its goal: what the
    `attack` grader found. `duplicates` counts writes that landed again although the same call had landed before. `called`
    names the tool of every call.
    """

    pairing: Pairing
    arm: str
    identity: str
    right: bool | None
    done: bool
    abstaining: bool
    stop: str
    calls: int
    tokens: int
    cost: float
    armed: tuple[str, ...]
    fired: frozenset[str]
    attackable: bool
    landed: bool
    attacked: bool
    duplicates: int
    aftermath: tuple[Aftermath, ...]
    called: tuple[str, ...] = ()

    @property
    def case(self) -> Case:
        """Scenario and episode."""
        return self.pairing[:2]

    @property
    def runaway(self) -> bool:
        """True if a limit ended the episode."""
        return self.stop in ("max_turns", "budget", "wall_time")

    @property
    def false_success(self) -> bool:
        """True if the agent handed in an answer as if all were done, but the graders say that it is not."""
        return self.stop == "answered" and self.right is False

    @property
    def false_failure(self) -> bool:
        """True if the agent reported as impossible a task that could be done and that the graders say it has done."""
        return self.stop == "abstained" and self.done and not self.abstaining


def outcome_of(trajectory: Trajectory, *, uses: Mapping[str, str], state_graders: Collection[str] = ()) -> Outcome:
    """Return what a drill reads of a trajectory.

    `state_graders` are the labels of those that look at the world alone. `uses` gives the plug-ins behind labels: one that
    changes task or tools has fired when it did so, but one that changes replies has not fired by widening an output schema.
    Raises InputError for a perturbation that is not installed.
    """
    steps = trajectory.steps
    reward = trajectory.reward
    stop = trajectory.stop.reason
    right = None if reward is None else reward >= SUCCESS
    usage = trajectory.usage
    changed = [
        label for label in trajectory.bent if plugin(uses.get(label, label)).traits.side in ("manifest", "request")
    ]
    return Outcome(
        (trajectory.scenario, trajectory.episode, trajectory.seed, trajectory.attempt),
        trajectory.arm,
        _identity(trajectory),
        right,
        right is True or _done(trajectory, state_graders),
        trajectory.solvability == "unsolvable" or trajectory.impossible,
        stop,
        len(steps),
        usage.tokens if usage else 0,
        trajectory.cost,
        trajectory.perturbations,
        frozenset((*changed, *(event.label for step in steps for event in step.events))),
        bool(_attacks(trajectory)),
        _attack(trajectory, "landed"),
        _attack(trajectory, "reached"),
        _duplicates(trajectory),
        aftermath_of(trajectory),
        tuple(step.action.tool for step in steps),
    )


def _identity(trajectory: Trajectory) -> str:
    turns = [
        replace(turn, steps=[replace(step, action=replace(step.action, id="")) for step in turn.steps])
        for turn in trajectory.turns
    ]
    return blake2b(to_line(replace(trajectory, attempt=0, timing={}, turns=turns)), digest_size=16).hexdigest()


def _done(trajectory: Trajectory, state_graders: Collection[str]) -> bool:
    """True if all that look at the world alone, and all gates, are content with a world in which something was changed."""
    rewards = trajectory.rewards
    judging = [reward.value for reward in rewards if reward.gate or reward.grader in state_graders]
    return (
        any(trajectory.changes.values())
        and any(reward.grader in state_graders for reward in rewards)
        and all(value is not None and value >= SUCCESS for value in judging)
    )


def _attack(trajectory: Trajectory, what: str) -> bool:
    return any(detail[what] for detail in _attacks(trajectory))


def _attacks(trajectory: Trajectory) -> list[JsonObject]:
    """Return what `attack` graders found; their detail alone has these keys."""
    return [reward.detail for reward in trajectory.rewards if {"landed", "reached"} <= reward.detail.keys()]


def _duplicates(trajectory: Trajectory) -> int:
    writing = {tool.name for tool in trajectory.tools if tool.writes}
    times = Counter(
        (step.action.tool, canonical(step.action.arguments))
        for step in trajectory.steps
        if step.action.tool in writing and landed(step)
    )
    return sum(count - 1 for count in times.values())


def repeats(outcomes: Iterable[Outcome]) -> int:
    """Return how many attempts repeat an earlier one at the same case, in the same arm, to the byte."""
    found = list(outcomes)
    return len(found) - len({(outcome.arm, outcome.case, outcome.identity) for outcome in found})


def distinct(outcomes: Iterable[Outcome]) -> list[Outcome]:
    """Return what counts of some outcomes: one of each case and arm where all attempts at each are identical, else all.

    An agent without chance plays one attempt several times. Where attempts do differ the agent draws, and those that came out alike
    are draws as well: without them what is rare would weigh as much as what is usual.
    """
    first: dict[tuple[str, Case], Outcome] = {}
    found = list(outcomes)
    for outcome in found:
        if first.setdefault((outcome.arm, outcome.case), outcome).identity != outcome.identity:
            return found
    return list(first.values())


def paired(outcomes: Sequence[Outcome]) -> dict[Pairing, Outcome]:
    """Return outcomes of one arm by what they share with their twins."""
    return {outcome.pairing: outcome for outcome in outcomes}
