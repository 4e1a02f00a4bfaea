"""In how many families perturbations that need something to bend find it, and that what they say of tools beforehand holds.

`python tests/perturbations/test_reaching.py [NAME ...]` prints the table.
"""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass, replace
from functools import cache

import pytest

from simtrain import load_scenario, rollout
from simtrain.contracts.perturbation import When
from simtrain.scenarios.arms import armed
from simtrain.values.arm import Arm

pytestmark = pytest.mark.slow

FAMILIES = (
    "airline/cancel_refund", "forge/minutes_by_author", "helpdesk/outage_credit", "mailbox/file_invoices", "messenger/poll_result",
    "notes/hours_by_lead", "office/meeting_hours", "shop/lost_parcels", "tracker/points_by_assignee", "fiction/kestrel_tables",
)  # fmt: skip
FLOORS = {"unit_drift": 6, "type_coercion": 10, "source_conflict": 9, "partial_results": 9, "hidden_answer": 9}
"""In how many of the families each fires at least; the oracles of the others for `unit_drift` read nothing that is measured."""


@dataclass(frozen=True)
class Found:
    """The tools whose replies a perturbation really changed, those that were called, and those that it says to reach."""

    changed: frozenset[str]
    called: frozenset[str]
    reached: frozenset[str]


@cache
def found(family: str, name: str) -> Found:
    """What the perturbation alone changes for the oracle in the first case of a family, armed on every call."""
    clean = replace(load_scenario(family), perturbations=())
    bent = armed(clean, Arm(name, ("catalogue",), (name,)))
    always = tuple(replace(item, when=When()) for item in bent.perturbations)
    (armed_one,) = always
    played = asyncio.run(rollout(replace(bent, perturbations=always), "oracle", case=0))
    return Found(
        changed=frozenset(step.action.tool for step in played.steps if step.events),
        called=frozenset(step.action.tool for step in played.steps),
        reached=frozenset(tool.name for tool in clean.source.build().tools if armed_one.perturbation.reaches(tool)),
    )


@pytest.mark.full
@pytest.mark.parametrize("name", FLOORS)
def test_it_finds_something_to_bend_in_most_families(name: str) -> None:
    assert sum(bool(found(family, name).changed) for family in FAMILIES) >= FLOORS[name]


@pytest.mark.full
@pytest.mark.parametrize("name", FLOORS)
def test_no_tool_is_bent_that_it_says_not_to_reach(name: str) -> None:
    told = [found(family, name) for family in FAMILIES]
    assert [one.changed - one.reached for one in told if not one.changed <= one.reached] == []


def test_tools_that_tell_no_field_are_said_not_to_be_reached() -> None:
    one = found("fiction/kestrel_tables", "unit_drift")
    assert one.called == {"web_search", "web_extractor"} and not one.called & one.reached


def main(names: list[str]) -> None:
    """Print a line for each perturbation: the families in which it fired, and those in which it did not."""
    for name in names or FLOORS:
        told = {family: bool(found(family, name).changed) for family in FAMILIES}
        silent = ", ".join(family for family, fired in told.items() if not fired)
        print(f"{name:18} {sum(told.values()):2} of {len(told)}  {silent and 'not in ' + silent}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
