"""Failed episodes in groups: by where they first left the reference, and by what was perturbed before that."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from simtrain.contracts.trajectory import Step, Trajectory
from simtrain.drills.aftermath import landed

LONGEST = 200
"""Characters of a sentence about what failed."""


@dataclass(frozen=True)
class Divergence:
    """Where an episode first left the reference: the kind of difference, in a sentence, and the step (None: after the last)."""

    sentence: str
    step: int | None


@dataclass(frozen=True)
class TriageGroup:
    """Failed episodes that went wrong alike. `labels` are the perturbations that fired before; `blame` says whose fault it is."""

    sentence: str
    labels: Sequence[str]
    blame: str
    episodes: Sequence[Trajectory]


def divergence(trajectory: Trajectory, reference: Trajectory) -> Divergence:
    """Return where an episode first left the reference.

    Writes are compared in their order, failed ones left out; if they agree, the answers are. Reads may differ: an agent may look at
    more than the reference does.
    """
    writing = {tool.name for tool in trajectory.tools if tool.writes}
    due, made = _landed(reference, writing), _landed(trajectory, writing)
    for wanted, step in zip(due, made, strict=False):
        if wanted.action.tool != step.action.tool:
            return Divergence(f"called {step.action.tool} where the reference calls {wanted.action.tool}", step.index)
        other = _other_arguments(wanted, step)
        if other:
            return Divergence(f"called {step.action.tool} with another {other}", step.index)
    if len(made) > len(due):
        return Divergence(
            f"called {made[len(due)].action.tool} though nothing more was to be done", made[len(due)].index
        )
    if len(made) < len(due):
        return Divergence(f"{_ended(trajectory)} before {due[len(made)].action.tool}", None)
    if trajectory.stop.reason != reference.stop.reason:
        return Divergence(f"{_ended(trajectory)} where the reference {_ended(reference)}", None)
    did = "did what the reference does" if due else "only read, as the reference does"
    return Divergence(f"{did}, and answered otherwise", None)


def triage(failed: Sequence[Trajectory], reference: Callable[[Trajectory], Trajectory | None]) -> list[TriageGroup]:
    """Return the groups of failed episodes, the largest first. Those without a reference are grouped by how they ended."""
    groups: dict[tuple[str, tuple[str, ...], str], list[Trajectory]] = defaultdict(list)
    for trajectory in failed:
        wanted = reference(trajectory)
        found = divergence(trajectory, wanted) if wanted else Divergence(_ended(trajectory), None)
        groups[found.sentence, _fired(trajectory, found.step), trajectory.stop.blame or "nobody"].append(trajectory)
    return _sorted(groups)


def triage_faultless(failed: Iterable[Trajectory]) -> list[TriageGroup]:
    """Return the groups of rollouts that failed through no fault of the agent, by what failed."""
    groups: dict[tuple[str, tuple[str, ...], str], list[Trajectory]] = defaultdict(list)
    for trajectory in failed:
        detail = (trajectory.stop.detail or "no reason is recorded").strip()
        sentence = f"could not be played: {detail.splitlines()[0][:LONGEST]}"
        groups[sentence, _fired(trajectory, None), trajectory.stop.blame or "nobody"].append(trajectory)
    return _sorted(groups)


def _landed(trajectory: Trajectory, writing: set[str]) -> list[Step]:
    # Also those whose effect the agent was not told of.
    return [step for step in trajectory.steps if step.action.tool in writing and landed(step)]


def _sorted(groups: Mapping[tuple[str, tuple[str, ...], str], Sequence[Trajectory]]) -> list[TriageGroup]:
    return sorted(
        (TriageGroup(*key, episodes) for key, episodes in groups.items()),
        key=lambda group: (-len(group.episodes), group.sentence),
    )


def _other_arguments(wanted: Step, step: Step) -> str:
    one, other = wanted.action.arguments, step.action.arguments
    return " and ".join(
        sorted(name for name in {*one, *other} if one.get(name) != other.get(name) and not _free(one.get(name)))
    )


def _free(value: object) -> bool:
    """True for prose, which every agent words in its own way."""
    return isinstance(value, str) and len(value.split()) > 3


def _fired(trajectory: Trajectory, until: int | None) -> tuple[str, ...]:
    labels = {event.label for step in trajectory.steps if until is None or step.index <= until for event in step.events}
    return tuple(sorted({*labels, *trajectory.bent}))


def _ended(trajectory: Trajectory) -> str:
    match trajectory.stop.reason:
        case "answered":
            return "answered"
        case "abstained":
            return "declined"
        case "max_turns":
            return "ran out of turns"
        case "budget" | "wall_time":
            return "ran out of time or budget"
        case _:
            return "failed"
