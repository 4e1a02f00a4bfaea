"""Tools that perturbations offer as a way out: rights that are asked for, room that is made, the same tools on another server."""

from __future__ import annotations

from pathlib import Path

import pytest
from bakery import scenario
from perturbing import Asked, play

from simtrain import rollout
from simtrain.agents.select import build_agent

LIST: Asked = ("cakes.list", {})
PLACE: Asked = ("orders.place", {"cake_id": "K001", "amount": 1})
ASK: Asked = ("access.request", {"right": "orders:write"})
EMPTY: Asked = ("storage.empty_trash", {})


def refused(seen: list[bool], times: int) -> bool:
    return seen == [True] * times + [False] * (len(seen) - times)


async def test_a_right_that_is_granted_opens_the_tool(tmp_path: Path) -> None:
    perturbation = {"use": "permission_denied", "when": {"tools": "orders.place", "nth": 1}}
    played = await play(tmp_path, perturbation, PLACE, ASK, PLACE)
    assert [seen.is_error for seen in played.seen] == [True, False, False]
    assert "'orders:write'" in played.seen[0].text and "access.request" in played.seen[0].text
    assert len(played.changes["orders"]) == 1


@pytest.mark.parametrize("knobs", [{"grants": False}, {"severity": 1}])
async def test_a_right_that_is_declined_does_not(knobs: dict[str, object], tmp_path: Path) -> None:
    perturbation = {"use": "permission_denied", "with": knobs, "when": {"tools": "orders.place", "nth": 1}}
    played = await play(tmp_path, perturbation, PLACE, ASK, PLACE)
    assert [seen.is_error for seen in played.seen] == [True, True, True] and played.changes == {}


async def test_only_a_right_that_was_refused_can_be_asked_for(tmp_path: Path) -> None:
    perturbation = {"use": "permission_denied", "when": {"tools": "orders.place", "nth": 1}}
    early = await play(tmp_path, perturbation, ASK, PLACE)
    assert [seen.is_error for seen in early.seen] == [True, True]
    other = await play(tmp_path, perturbation, PLACE, ("access.request", {"right": "everything"}), PLACE)
    assert [seen.is_error for seen in other.seen] == [True, True, True]


@pytest.mark.parametrize("severity, times", [(0, 1), (0.5, 2), (0.9, 2)])
async def test_an_emptied_trash_makes_room(severity: float, times: int, tmp_path: Path) -> None:
    perturbation = {"use": "resource_exhausted", "with": {"severity": severity}, "when": {"writes": True, "nth": 1}}
    played = await play(tmp_path, perturbation, PLACE, *[EMPTY, PLACE] * 2)
    placed = [seen.is_error for seen in played.seen[::2]]
    assert refused(placed, times) and len(played.changes["orders"]) == 3 - times


async def test_where_there_is_no_trash_nothing_empties_it(tmp_path: Path) -> None:
    perturbation = {"use": "resource_exhausted", "with": {"severity": 1}}
    assert not any("trash" in tool.name for tool in (await play(tmp_path, perturbation, LIST)).tools)


@pytest.mark.parametrize("use, suffix", [("outage", "standby"), ("quota_exhausted", "partner")])
async def test_a_stand_in_answers_as_the_tool_did(use: str, suffix: str, tmp_path: Path) -> None:
    twin: Asked = (f"orders_{suffix}.place", PLACE[1])
    perturbation = {"use": use, "when": {"tools": "orders.place", "nth": 1}}
    played, clean = await play(tmp_path, perturbation, PLACE, twin, PLACE), await play(tmp_path, None, LIST, PLACE)
    assert [seen.is_error for seen in played.seen] == [True, False, True]
    assert played.contents[1] == clean.contents[1] and len(played.changes["orders"]) == 1


@pytest.mark.parametrize("use, suffix", [("outage", "standby"), ("quota_exhausted", "partner")])
async def test_a_stand_in_is_described_as_one_and_is_not_there_at_the_worst(
    use: str, suffix: str, tmp_path: Path
) -> None:
    offered = {tool.name: tool for tool in (await play(tmp_path, {"use": use}, LIST)).tools}
    one, other = offered["orders.place"], offered[f"orders_{suffix}.place"]
    assert other.description.startswith(one.description) and other.input_schema == one.input_schema
    worst = await play(tmp_path, {"use": use, "with": {"severity": 1}}, LIST)
    assert not any(suffix in tool.name for tool in worst.tools)


@pytest.mark.parametrize(
    "perturbation",
    [
        "{use: permission_denied, when: {tools: orders.place, nth: 1}}",
        "{use: resource_exhausted, when: {writes: true, nth: 1}}",
        "{use: outage, when: {tools: orders.place, nth: 1}}",
        "{use: quota_exhausted, when: {tools: orders.place, nth: 1}}",
        "{use: missing_dependency, when: {tools: orders.place, nth: 1}}",
        "{use: auth_expired, when: {nth: 2}}",
    ],
)
async def test_the_resilient_agent_takes_the_way_out_and_gives_up_where_there_is_none(
    perturbation: str, tmp_path: Path
) -> None:
    taken = await rollout(scenario(tmp_path, more=f"perturbations: [{perturbation}]\n"), "resilient")
    assert (taken.reward, taken.stop.reason) == (1.0, "answered")
    careless = await rollout(scenario(tmp_path, more=f"perturbations: [{perturbation}]\n"), "naive")
    assert careless.reward is not None and careless.reward < 1
    if perturbation.startswith(("{use: permission", "{use: resource", "{use: outage", "{use: quota")):
        worst = perturbation.replace(", when", ", with: {severity: 1}, when")
        stuck = await rollout(scenario(tmp_path, more=f"perturbations: [{worst}]\n"), build_agent("resilient"))
        assert stuck.stop.reason == "abstained"
