"""Label each turn of a trajectory: before a fault, the fault, a retry, a diagnosis, the recovery; and mark mistakes."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from simtrain.contracts.trajectory import Step, Trajectory, Turn
from simtrain.runs.exporters.messages import spoken

Phase: TypeAlias = Literal["before", "fault", "retry", "diagnosis", "recovery", "after"]

# A weighted mean of full marks may be a little below 1.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Labelled:
    """A turn with its phase, and whether it was a mistake."""

    turn: Turn
    phase: Phase
    mistake: bool


def earned(trajectory: Trajectory, least: float = 1.0) -> bool:
    """True if a trajectory has at least this reward; one without a reward does not."""
    return trajectory.reward is not None and trajectory.reward >= least - _ROUNDING


def noticeable(trajectory: Trajectory) -> int | None:
    """Return the first step whose reply differs from the unperturbed one; -1 if the difference was there before the first call."""
    if trajectory.noticeable is not None:
        return trajectory.noticeable
    # Records of earlier versions only say which replies were changed.
    if any(event.changed for step in trajectory.steps for event in step.events):
        return None
    perturbed = (
        step.index for step in trajectory.steps if any(event.clean != event.perturbed for event in step.events)
    )
    return next(perturbed, None)


def faulted(trajectory: Trajectory) -> bool:
    """True if any reply to the agent differs from the unperturbed one."""
    return noticeable(trajectory) is not None


def deserves(trajectory: Trajectory) -> bool:
    """True if an ending without full reward may be shown as wrong; declining is wrong only if the task is known to be solvable."""
    return trajectory.stop.reason != "abstained" or trajectory.solvability == "solvable"


def _amiss(step: Step) -> bool:
    """True if a perturbation changed more of a step than its time."""
    return any(not event.changed or set(event.changed) - {"clock"} for event in step.events)


def labelled(trajectory: Trajectory) -> list[Labelled]:
    """Return the turns in which the agent spoke, each with its phase.

    A fault counts only once the agent can notice it: turns before its first sign are `before`, except the one that met it. A
    fault stays open until its tool gives a clean reply. If that tool is not called again and the episode earned full reward,
    another tool's clean reply closes it too, and so does the last message. While a fault is open, calling its tool is a `retry`,
    calling others is `diagnosis`; the turn that closes it is the `recovery`.
    A mistake is a call that no tool could carry out, one that the world refused while no fault was open, or the last message
    of an episode without full reward.
    """
    turns, sign = spoken(trajectory), noticeable(trajectory)
    recovered, seen, opened = earned(trajectory), sign is not None and sign < 0, set[str]()
    found: list[Labelled] = []
    for place, turn in enumerate(turns):
        later = {step.action.tool for following in turns[place + 1 :] for step in following.steps}
        hit = {step.action.tool for step in turn.steps if _amiss(step)}
        # What fired without a sign is unknown to the agent, so its turns are neither retries nor diagnosis.
        hidden = sign is None or (bool(turn.steps) and turn.steps[-1].index < sign)
        closed = _closed(turn, opened - hit, later, recovered=recovered)
        found.append(
            Labelled(
                turn, _phase(turn, hit, opened, closed, seen=seen, hidden=hidden), _mistaken(trajectory, turn, opened)
            )
        )
        opened = (opened - closed) | hit
        seen = seen or bool(hit)
    return found


def _closed(turn: Turn, opened: set[str], later: set[str], *, recovered: bool) -> set[str]:
    """Return the open faults that a turn closes."""
    if not turn.steps:
        return opened if recovered else set()
    clean = {step.action.tool for step in turn.steps if not _amiss(step) and not step.observation.is_error}
    return {tool for tool in opened if tool in clean or (recovered and clean and tool not in later)}


def _phase(turn: Turn, hit: set[str], opened: set[str], closed: set[str], *, seen: bool, hidden: bool) -> Phase:
    if hidden:
        return "fault" if hit else "before"
    if hit:
        return "retry" if hit & opened else "fault"
    if not opened:
        return "after" if seen else "before"
    if closed:
        return "recovery"
    if not turn.steps:
        return "after"
    return "retry" if any(step.action.tool in opened for step in turn.steps) else "diagnosis"


def _mistaken(trajectory: Trajectory, turn: Turn, opened: set[str]) -> bool:
    if not turn.steps:
        return not earned(trajectory) and deserves(trajectory)
    return any(_refused(step, while_open=bool(opened)) for step in turn.steps)


def _refused(step: Step, *, while_open: bool) -> bool:
    if _amiss(step):
        return False
    source = step.observation.provenance.source if step.observation.provenance else None
    # While a fault is open, a refusal of the world is part of finding out.
    return source == "proxy" or (step.observation.is_error and not while_open)
