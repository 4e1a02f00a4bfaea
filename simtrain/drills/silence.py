"""Perturbations that were planned in an arm and never fired: distinguish a broken pack from scenarios that give it
nothing to act on.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TypeAlias

from simtrain.drills.outcome import Outcome

Lines: TypeAlias = tuple[str, ...]
Meets: TypeAlias = Mapping[str, Sequence[str]]
"""The tools whose calls a perturbation may act on, by perturbation."""


def silence(
    outcomes: Sequence[Outcome], *, meets: Mapping[str, Meets], elsewhere: Collection[str]
) -> tuple[Lines, Lines]:
    """Return the perturbations that fired in no arm at all, and the scenarios that an arm spared though it fired elsewhere.

    The first kind proves nothing about the agent. The second is not a pack's fault: no call of the scenario matched (write faults
    in a family without writes), or the few that did were skipped by chance or are of a kind that it cannot perturb. `meets` says
    what may match, by scenario; if a run does not record it, no reason is given.
    In an arm of several perturbations one may hide another. At severity 0 a perturbation may do nothing, and is not reported.
    """
    if not outcomes[0].armed or outcomes[0].arm.endswith("@0"):
        return (), ()
    armed = dict.fromkeys(label for outcome in outcomes for label in outcome.armed)
    unfired = tuple(f"{label} never fired" for label in armed if label not in elsewhere)
    if len(unfired) == len(armed):
        return unfired, ()
    fired = {outcome.pairing[0] for outcome in outcomes if outcome.fired}
    scenarios = dict.fromkeys(outcome.pairing[0] for outcome in outcomes)
    calls = {name: _matching(name, outcomes, meets.get(name)) for name in scenarios if name not in fired}
    found = {
        "no call matches in": [name for name, count in calls.items() if count == 0],
        "calls match, none was struck in": [f"{name} ({count})" for name, count in calls.items() if count],
        "nothing fired in": [name for name, count in calls.items() if count is None],
    }
    return unfired, tuple(f"{words} {', '.join(names)}" for words, names in found.items() if names)


def _matching(scenario: str, outcomes: Sequence[Outcome], meets: Meets | None) -> int | None:
    """Return the number of a scenario's calls that a perturbation might have affected; None if unknown."""
    if meets is None:
        return None
    tools = {tool for known in meets.values() for tool in known}
    return sum(tool in tools for outcome in outcomes if outcome.pairing[0] == scenario for tool in outcome.called)
