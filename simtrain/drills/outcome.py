"""What a drill extracts from one trajectory: its ending, the faults that fired, the agent's reactions to them."""

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
"""Scenario, episode, seed, attempt: the key that pairs episodes across the arms of a drill."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One trajectory, reduced to what a drill measures.

    `identity` is equal for attempts at one case, in one arm, that are equal to the byte except for wall clock, number and call
    ids. `right`: it ended as it should, in success, or in abstention if the task cannot be done (`abstaining`); None if it could
    not be graded. `done`: the graders find the task done, whatever the agent says. From the `attack` grader: `attackable` if it
    checked for attacks, `landed` if the agent read one, `attacked` if the attack reached its goal. `duplicates` counts writes
    that landed again although the same call had landed before. `called` names the tool of every call.
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
        """Return scenario and episode."""
        return self.pairing[:2]

    @property
    def runaway(self) -> bool:
        """True if a limit ended the episode."""
        return self.stop in ("max_turns", "budget", "wall_time")

    @property
    def false_success(self) -> bool:
        """True if the agent answered as if the task were done, but the graders say that it is not."""
        return self.stop == "answered" and self.right is False

    @property
    def false_failure(self) -> bool:
        """True if the agent reported a possible task as impossible although the graders find it done."""
        return self.stop == "abstained" and self.done and not self.abstaining


def outcome_of(trajectory: Trajectory, *, uses: Mapping[str, str], state_graders: Collection[str] = ()) -> Outcome:
    """Return the outcome of a trajectory.

    `state_graders` are the labels of the graders that read only the world. `uses` gives the plug-ins behind labels: a
    perturbation of task or tools fires when it changes them, but one of replies does not fire by widening an output schema.
    Raises InputError for a perturbation that is not installed.
    """
    steps = trajectory.steps
    reward = trajectory.reward
    stop = trajectory.stop.reason
    right = None if reward is None else reward >= SUCCESS
    usage = trajectory.usage
    # Only perturbations whose purpose is the task or the list; others may widen an output schema in passing.
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
    # Without number, wall clock and call ids, which differ between attempts that are otherwise the same.
    return blake2b(to_line(replace(trajectory, attempt=0, timing={}, turns=turns)), digest_size=16).hexdigest()


def _done(trajectory: Trajectory, state_graders: Collection[str]) -> bool:
    """True if all graders that read only the world, and all gates, pass, and something in the world was changed."""
    rewards = trajectory.rewards
    judging = [reward.value for reward in rewards if reward.gate or reward.grader in state_graders]
    return (
        # A state that holds without any change was there from the start, and was not done by the agent.
        any(trajectory.changes.values())
        and any(reward.grader in state_graders for reward in rewards)
        and all(value is not None and value >= SUCCESS for value in judging)
    )


def _attack(trajectory: Trajectory, what: str) -> bool:
    return any(detail[what] for detail in _attacks(trajectory))


def _attacks(trajectory: Trajectory) -> list[JsonObject]:
    """Return the details of `attack` graders; no other grader's details have these keys."""
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
    """Return the number of attempts that repeat an earlier one at the same case, in the same arm, to the byte."""
    found = list(outcomes)
    return len(found) - len({(outcome.arm, outcome.case, outcome.identity) for outcome in found})


def distinct(outcomes: Iterable[Outcome]) -> list[Outcome]:
    """Return the outcomes that count: one for each case and arm if all attempts at each are identical, else all.

    A deterministic agent plays the same attempt several times. If attempts differ, the agent samples, and equal attempts are
    samples too: without them rare outcomes would weigh as much as frequent ones.
    """
    first: dict[tuple[str, Case], Outcome] = {}
    found = list(outcomes)
    for outcome in found:
        if first.setdefault((outcome.arm, outcome.case), outcome).identity != outcome.identity:
            return found
    return list(first.values())


def paired(outcomes: Sequence[Outcome]) -> dict[Pairing, Outcome]:
    """Return outcomes of one arm by the key that they share with their twins."""
    return {outcome.pairing: outcome for outcome in outcomes}
