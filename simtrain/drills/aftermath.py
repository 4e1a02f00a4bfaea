"""Classify what a fault did to a call, and what the agent did about it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal, TypeAlias, cast, get_args

from simtrain.contracts.perturbation import Perturbation
from simtrain.contracts.registry import resolve
from simtrain.contracts.trajectory import Event, Step, Trajectory

LOOKED_AT = 3
"""Steps after a fault that are examined."""

Reaction: TypeAlias = Literal[
    "same call again", "same tool, other arguments", "read something else", "wrote something else", "answered",
    "abstained", "was stopped",
]  # fmt: skip
REACTIONS: tuple[Reaction, ...] = get_args(Reaction)

Kind: TypeAlias = Literal["unseen write", "lost write", "false write", "failed read", "altered reply", "other"]
"""What a fault did to a call: a write that landed but seemed to fail, one that failed, one that seemed to land but did not; a read
that failed; an altered reply; something that no reply shows (delays, changed rows)."""

Handling: TypeAlias = Literal["again unchecked", "again checked", "looked at", "left"]
"""What the agent did about it: repeat the call with or without reading the world first, only read, nothing."""


@dataclass(frozen=True, slots=True)
class Aftermath:
    """One fault and what the agent did in the steps after it; fewer than three if the episode ended earlier."""

    label: str
    reactions: tuple[Reaction, ...]
    kind: Kind = "other"
    handled: Handling = "left"
    timed_out: bool = False


def aftermath_of(trajectory: Trajectory) -> tuple[Aftermath, ...]:
    """Return all faults of a trajectory, in order."""
    writing = {tool.name for tool in trajectory.tools if tool.writes}
    return tuple(
        Aftermath(
            event.label,
            _reactions(trajectory, step.index, writing),
            _kind(step, event, writes=step.action.tool in writing),
            _handling(trajectory.steps, step.index, writing),
            step.observation.is_error and "timed out" in step.observation.text.lower(),
        )
        for step in trajectory.steps
        for event in step.events
    )


def landed(step: Step) -> bool:
    """True if a call reached its tool and was carried out, whatever the reply said."""
    # Nothing perturbed the call, so its reply tells the truth.
    if not step.events:
        return not step.observation.is_error
    if any(plugin(event.use).traits.effect == "before" for event in step.events):
        return False
    # The innermost perturbation is recorded first: it acted on the tool's own reply.
    clean = step.events[0].clean
    return clean is not None and not clean.is_error


@cache
def plugin(use: str) -> type[Perturbation]:
    """Return the perturbation class of this name. Raises InputError if it is not installed."""
    return cast(type[Perturbation], resolve("perturbations", use))


def _kind(step: Step, event: Event, *, writes: bool) -> Kind:
    perturbed, clean = event.perturbed, event.clean
    fails = perturbed.is_error and (clean is None or not clean.is_error)
    if writes and fails:
        return "unseen write" if landed(step) else "lost write"
    if writes and not perturbed.is_error and not landed(step):
        return "false write"
    if fails:
        return "failed read"
    return "altered reply" if clean is None or clean.text != perturbed.text else "other"


def _handling(steps: Sequence[Step], index: int, writing: set[str]) -> Handling:
    """Return the agent's first reaction to a call; a read that worked counts as a look, whether the call was a write or a read."""
    faulted = steps[index].action
    looked = False
    for step in steps[index + 1 :]:
        if step.action.tool == faulted.tool and step.action.arguments == faulted.arguments:
            return "again checked" if looked else "again unchecked"
        # A failed read shows nothing about the world.
        looked = looked or (step.action.tool not in writing and not step.observation.is_error)
    return "looked at" if looked else "left"


def _reactions(trajectory: Trajectory, index: int, writing: set[str]) -> tuple[Reaction, ...]:
    steps = trajectory.steps
    faulted = steps[index]
    after = steps[index + 1 : index + 1 + LOOKED_AT]
    reactions: list[Reaction] = [_reaction(faulted, step, writes=step.action.tool in writing) for step in after]
    # An episode that ends sooner has its ending as the last reaction: giving up is a reaction too.
    return tuple(reactions) if len(reactions) == LOOKED_AT else (*reactions, _ending(trajectory))


def _reaction(faulted: Step, step: Step, *, writes: bool) -> Reaction:
    if step.action.tool != faulted.action.tool:
        return "wrote something else" if writes else "read something else"
    same = step.action.arguments == faulted.action.arguments
    return "same call again" if same else "same tool, other arguments"


def _ending(trajectory: Trajectory) -> Reaction:
    if trajectory.stop.reason == "answered":
        return "answered"
    return "abstained" if trajectory.stop.reason == "abstained" else "was stopped"
