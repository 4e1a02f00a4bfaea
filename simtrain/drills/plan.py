"""The plan of a drill: its arms, and the variant of each scenario in each arm."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from simtrain.contracts.perturbation import Armed
from simtrain.contracts.scenario import Scenario, conflict
from simtrain.scenarios.arms import Bundle, armed, bundles, idle_because, offered_tools, primed
from simtrain.scenarios.load import check_armed
from simtrain.values.arm import CLEAN, PRIMED, Arm
from simtrain.values.errors import InputError

Kind: TypeAlias = Literal["alone", "pack", "together"]
KINDS: dict[str, Kind] = {"alone": "alone", "pack": "pack", "together": "together"}


@dataclass(frozen=True)
class Idle:
    """An arm that a scenario is not played in, or a perturbation that is left out there, with the reason."""

    scenario: str
    arm: str
    reason: str


@dataclass(frozen=True)
class DrillPlan:
    """A drill's scenarios, each in every arm that makes sense for it; the arms by name, in order; and what is left out."""

    scenarios: tuple[Scenario, ...]
    arms: tuple[str, ...]
    idle: tuple[Idle, ...]


def plan_drill(
    scenarios: Sequence[Scenario],
    *,
    packs: Sequence[str] = (),
    severities: Sequence[float] = (),
    kinds: Sequence[Kind] = ("alone", "pack", "together"),
    cases: int | None = None,
) -> DrillPlan:
    """Return the arms of a drill: clean, primed (if a language model is the world), each perturbation alone, each
    pack, all packs together.

    Without severities packs use their own. Without packs the scenarios' own perturbations are drilled.
    Raises InputError if there are no perturbations at all, and for ones that exclude each other.
    """
    played: list[Scenario] = []
    idle: list[Idle] = []
    for scenario in scenarios:
        played.append(armed(scenario, Arm(CLEAN, tuple(packs), cases=cases)))
        if any(new is not old for new, old in zip(primed(scenario), scenario.answering, strict=True)):
            played.append(armed(scenario, Arm(PRIMED, tuple(packs), cases=cases, primed=True)))
        for severity in severities or (None,):
            found = bundles(scenario, tuple(packs), severity)
            offered = offered_tools(scenario)
            for bundle in found:
                for item in bundle.armed.values():
                    check_armed(item, scenario.source.build())
            for name, items in _groups(found, kinds):
                reasons = {item.label: idle_because(item, scenario, offered) for item in items}
                arm = Arm(
                    name if severity is None else f"{name}@{severity:g}",
                    tuple(packs),
                    # What can reach no tool of the scenario would count as unfired in every episode.
                    tuple(label for label, reason in reasons.items() if reason is None),
                    severity,
                    cases,
                )
                idle += [Idle(scenario.name, arm.name, reason) for reason in reasons.values() if reason is not None]
                if arm.labels:
                    _refuse_conflicts(scenario, arm, found)
                    played.append(armed(scenario, arm))
    names = tuple(dict.fromkeys(scenario.arm.name for scenario in played if scenario.arm))
    # Controls alone compare nothing.
    if set(names) <= {CLEAN, PRIMED}:
        raise _nothing(scenarios, packs, idle)
    return DrillPlan(tuple(played), names, tuple(idle))


def _groups(found: Sequence[Bundle], kinds: Sequence[Kind]) -> Iterator[tuple[str, tuple[Armed, ...]]]:
    """Yield arm names with the perturbations that are armed together in them."""
    if "alone" in kinds:
        for bundle in found:
            for name, item in bundle.armed.items():
                yield f"{bundle.name}/{name}", (item,)
    if "pack" in kinds:
        for bundle in found:
            # A pack of one is the same arm as its perturbation alone.
            if len(bundle.armed) > 1 or "alone" not in kinds:
                yield bundle.name, tuple(bundle.armed.values())
    if "together" in kinds and len(found) > 1:
        yield (
            "+".join(bundle.name for bundle in found),
            tuple(item for bundle in found for item in bundle.armed.values()),
        )


def _refuse_conflicts(scenario: Scenario, arm: Arm, found: Sequence[Bundle]) -> None:
    chosen = [(bundle.name, item) for bundle in found for item in bundle.armed.values() if item.label in arm.labels]
    problem = conflict(chosen)
    if problem is not None:
        raise InputError(
            f"the arm {arm.name} of {scenario.name}: {problem}",
            remedy="drill the packs one by one, or leave that arm out: --arms alone,pack",
        )


def _nothing(scenarios: Sequence[Scenario], packs: Sequence[str], idle: Sequence[Idle]) -> InputError:
    if idle:
        return InputError(f"nothing can go wrong: {idle[0].reason} ({idle[0].scenario})")
    if packs:
        return InputError("the packs hold no perturbation that could be armed")
    names = ", ".join(scenario.name for scenario in scenarios[:3])
    return InputError(
        f"{names}: no perturbations of their own", remedy="name packs with --pack; simtrain list packs shows them"
    )
