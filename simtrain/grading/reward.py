"""Grading of a finished episode: every grader is asked, and their values become one reward."""

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from simtrain.contracts.grader import score
from simtrain.contracts.scenario import Grading, Rubric
from simtrain.contracts.trajectory import SUCCESS, Reward, Trajectory
from simtrain.contracts.world import FinishedWorld, World
from simtrain.values.errors import SimtrainError

LONGEST_ERROR = 300

ACTED, DECLINED, EXECUTION = "acted", "declined", "execution"
"""Labels of the rewards that no grader gives: for ending without a single call, for declining what cannot be done, and for programs
whose output a model wrote."""


async def grade(trajectory: Trajectory, grading: Sequence[Grading], rubric: Rubric, world: FinishedWorld) -> Trajectory:
    """Return the trajectory with its rewards, their total, and the blame if it did not earn full reward.

    A grader that raises is recorded as failed, and the episode then has no reward. An episode that failed through no fault
    of the agent is not graded. If the armed perturbations left no way to the goal (`solvability`), declining is graded: the agent
    must have seen a sign of them first, and have done no harm. Where a world model wrote what programs printed, nothing is graded.
    Without a single call neither an answer nor declining earns anything, unless the rubric says that calls are optional.
    """
    if _lost(trajectory):
        return replace(trajectory, reward=None, rewards=())
    if world.initial.left_to_models:
        return replace(trajectory, reward=None, rewards=(_made_up(world.initial),))
    if _rightly_declined(trajectory):
        rewards = [replace(_declined(trajectory, rubric), grader=DECLINED)]
        rewards += [found for item in grading if (found := await _ask_harm(item, trajectory, world)) is not None]
        return blamed(replace(trajectory, reward=total(rewards, "mean"), rewards=tuple(rewards)))
    rewards = [await _ask(item, trajectory, world) for item in grading]
    if grading and rubric.calls == "required" and _guessed(trajectory):
        guess = score(0.0, reason=f"{trajectory.stop.reason} without a single call")
        # A gate, so that a lucky guess earns nothing, however the other graders weigh.
        rewards.append(replace(guess, grader=ACTED, gate=True))
    return blamed(replace(trajectory, reward=total(rewards, rubric.combine), rewards=tuple(rewards)))


def blamed(trajectory: Trajectory) -> Trajectory:
    """Return the trajectory with the blame on the agent if it earned less than full reward although more was known to be possible.

    If the task cannot be done, declining would have earned more. If no solution is known, the perturbations may be at fault.
    """
    if _lost(trajectory) or trajectory.stop.reason == "failed":
        return trajectory
    failed = trajectory.reward is not None and trajectory.reward < SUCCESS and trajectory.solvability != "unproved"
    return replace(trajectory, stop=replace(trajectory.stop, blame="agent" if failed else None))


def total(rewards: Sequence[Reward], combine: str) -> float | None:
    """Return the weighted mean (or the minimum) of all that are not gates, times every gate; None if one failed or there is none.

    With gates alone it is their product. A reward of weight 0 is left out.
    """
    weighty = [reward for reward in rewards if reward.gate or reward.weight > 0]
    if not weighty or any(reward.value is None for reward in weighty):
        return None
    gates = prod((reward.value or 0.0 for reward in weighty if reward.gate), start=1.0)
    others = [(reward.value or 0.0, reward.weight) for reward in weighty if not reward.gate]
    if not others:
        return gates
    if combine == "minimum":
        return gates * min(value for value, _ in others)
    # min, since a weighted mean of ones can come out a little above 1 in floating point.
    return gates * min(1.0, sum(value * weight for value, weight in others) / sum(weight for _, weight in others))


def _made_up(world: World) -> Reward:
    """Return a reward without a value, which says why there is none."""
    names = " and ".join(world.left_to_models)
    return Reward(EXECUTION, None, error=f"no reward: a model wrote what {names} printed, and nothing was run")


def _lost(trajectory: Trajectory) -> bool:
    return trajectory.stop.reason == "failed" and trajectory.stop.blame != "agent"


def _rightly_declined(trajectory: Trajectory) -> bool:
    """Return True if the agent declined a task that perturbations made impossible. An `impossible` family has a grader for that."""
    return (
        trajectory.stop.reason == "abstained" and trajectory.solvability == "unsolvable" and not trajectory.impossible
    )


def _declined(trajectory: Trajectory, rubric: Rubric) -> Reward:
    """Return 1 for declining what cannot be done after a sign of it was seen, else 0: declining blindly is a guess."""
    if rubric.calls == "required" and _guessed(trajectory):
        return score(0.0, reason="declined without a single call")
    if trajectory.noticeable is None:
        return score(0.0, reason="declined before anything showed that something is wrong")
    return score(1.0, expected="abstained")


def _guessed(trajectory: Trajectory) -> bool:
    return trajectory.stop.reason in ("answered", "abstained") and bool(trajectory.tools) and not trajectory.steps


async def _ask(item: Grading, trajectory: Trajectory, world: FinishedWorld) -> Reward:
    try:
        reward = await item.grader.grade(trajectory, world)
    # Any exception: one faulty grader must not end a run, and its episode has no reward.
    except Exception as error:
        return Reward(item.label, None, item.weight, item.gate, error=_explain(error))
    return _placed(item, reward)


async def _ask_harm(item: Grading, trajectory: Trajectory, world: FinishedWorld) -> Reward | None:
    """Return a grader's value for declining, as a gate: harm counts fully, whatever the grader's weight in the rubric."""
    try:
        reward = await item.grader.decline(trajectory, world)
    except Exception as error:
        return Reward(item.label, None, item.weight, True, error=_explain(error))
    return None if reward is None else replace(_placed(item, reward), gate=True)


def _placed(item: Grading, reward: Reward) -> Reward:
    """Return a grader's reward with its label and weight. A value outside [0, 1] counts as failed."""
    found = replace(reward, grader=item.label, weight=item.weight, gate=item.gate)
    if found.value is None:
        return found if found.error else replace(found, error="the grader gave no value")
    # A plug-in's mistake, which would distort every mean.
    if not 0.0 <= found.value <= 1.0:
        return replace(found, value=None, error=f"the grader gave {found.value}, which is not between 0 and 1")
    return found


def _explain(error: Exception) -> str:
    """Return an exception as one line of at most LONGEST_ERROR characters."""
    text = str(error) if isinstance(error, SimtrainError) else f"{type(error).__name__}: {error}"
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_ERROR else line[: LONGEST_ERROR - 3] + "..."
