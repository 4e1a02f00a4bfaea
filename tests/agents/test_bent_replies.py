"""The resilient agent before replies that are bent for good: it reads what comes as another type, and opens what lists leave out."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from simtrain import load_scenario, rollout
from simtrain.contracts.perturbation import When
from simtrain.contracts.trajectory import Trajectory
from simtrain.scenarios.arms import armed
from simtrain.values.arm import Arm

EVERY = When()


def played(family: str, perturbation: str, agent: str, when: When = EVERY) -> Trajectory:
    """The first case of a family with a perturbation armed on every call, or on some."""
    bent = armed(replace(load_scenario(family), perturbations=()), Arm(perturbation, ("catalogue",), (perturbation,)))
    always = tuple(replace(item, when=when) for item in bent.perturbations)
    return asyncio.run(rollout(replace(bent, perturbations=always), agent, case=0))


@pytest.mark.parametrize("family", ["airline/seats_together", "messenger/poll_result", "office/clear_days"])
def test_other_types_are_read_without_a_call_more(family: str) -> None:
    bent, plain = played(family, "type_coercion", "resilient"), played(family, "type_coercion", "oracle")
    assert any(step.events for step in bent.steps)
    assert bent.reward == 1 > (plain.reward or 0)
    calls = [(step.action.tool, step.action.arguments) for step in bent.steps]
    assert all(call not in calls[:place] for place, call in enumerate(calls))


@pytest.mark.parametrize("family", ["airline/change_flight", "mailbox/file_invoices", "mailbox/unanswered"])
def test_records_are_opened_where_a_list_leaves_out_what_is_needed(family: str) -> None:
    bent, plain = played(family, "hidden_answer", "resilient"), played(family, "hidden_answer", "oracle")
    assert any(step.events for step in bent.steps)
    assert bent.reward == 1 > (plain.reward or 0)


@pytest.mark.parametrize(
    ("family", "when"), [("mailbox/file_invoices", EVERY), ("forge/minutes_by_author", When(nth=[1, 2]))]
)
def test_a_list_shorter_than_its_count_or_than_other_pages_is_read_again_and_joined(family: str, when: When) -> None:
    bent, plain = (
        played(family, "partial_results", "resilient", when),
        played(family, "partial_results", "oracle", when),
    )
    assert any(step.events for step in bent.steps)
    assert bent.reward == 1 > (plain.reward or 0)
