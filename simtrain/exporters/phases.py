"""What each turn of a trajectory was: before a fault, met by one, a repetition, a diagnosis, the recovery; and whether it was a mistake."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from simtrain.exporters.messages import spoken
from simtrain.trajectory import Step, Trajectory, Turn

Phase: TypeAlias = Literal["before", "fault", "retry", "diagnosis", "recovery", "after"]

_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Labelled:
    """A turn with what it was."""

    turn: Turn
    phase: Phase
    mistake: bool


def earned(trajectory: Trajectory, least: float = 1.0) -> bool:
    """Whether a trajectory was rewarded with at least so much; one without a reward was not."""
    return trajectory.reward is not None and trajectory.reward >= least - _ROUNDING


def faulted(trajectory: Trajectory) -> bool:
    """Whether something went wrong on purpose: in a reply, in the task or in the tools."""
    return bool(trajectory.bent) or any(step.events for step in trajectory.steps)


def labelled(trajectory: Trajectory) -> list[Labelled]:
    """The turns in which the agent spoke, each with its phase.

    A fault stays open until its tool gives a clean reply. Where that tool is not called again and the episode earned all, another
    tool's clean reply closes it too, and so does the last message. While a fault is open, calling its tool is a `retry`, calling
    others is `diagnosis`; what closes it is the `recovery`.
    A mistake is a call that no tool could carry out, one that the world refused while no fault was open, and the last message
    of an episode that did not earn all.
    """
    turns = spoken(trajectory)
    recovered, met, opened = earned(trajectory), bool(trajectory.bent), set[str]()
    found: list[Labelled] = []
    for place, turn in enumerate(turns):
        later = {step.action.tool for following in turns[place + 1 :] for step in following.steps}
        hit = {step.action.tool for step in turn.steps if step.events}
        closed = _closed(turn, opened - hit, later, recovered=recovered)
        found.append(Labelled(turn, _phase(turn, hit, opened, closed, met=met), _mistaken(trajectory, turn, opened)))
        opened = (opened - closed) | hit
        met = met or bool(hit)
    return found


def _closed(turn: Turn, opened: set[str], later: set[str], *, recovered: bool) -> set[str]:
    """The open faults that a turn makes an end of."""
    if not turn.steps:
        return opened if recovered else set()
    clean = {step.action.tool for step in turn.steps if not step.events and not step.observation.is_error}
    return {tool for tool in opened if tool in clean or (recovered and clean and tool not in later)}


def _phase(turn: Turn, hit: set[str], opened: set[str], closed: set[str], *, met: bool) -> Phase:
    if hit:
        return "retry" if hit & opened else "fault"
    if not opened:
        return "after" if met else "before"
    if closed:
        return "recovery"
    if not turn.steps:
        return "after"
    return "retry" if any(step.action.tool in opened for step in turn.steps) else "diagnosis"


def _mistaken(trajectory: Trajectory, turn: Turn, opened: set[str]) -> bool:
    if not turn.steps:
        return not earned(trajectory)
    return any(_refused(step, while_open=bool(opened)) for step in turn.steps)


def _refused(step: Step, *, while_open: bool) -> bool:
    if step.events:
        return False
    source = step.observation.provenance.source if step.observation.provenance else None
    return source == "proxy" or (step.observation.is_error and not while_open)
