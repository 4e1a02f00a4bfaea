"""Perturbations of calls: errors that services show, when they begin and end, that they leave no trace, and how they are worded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import pytest
from perturbing import Asked, Played, play

from simtrain.contracts.perturbation import Call
from simtrain.contracts.registry import resolve
from simtrain.contracts.request import Request
from simtrain.perturbations.error_wordings import MANNERS, Kind, manner_of, refusal
from simtrain.values.clock import Clock
from simtrain.values.seeding import Stream
from simtrain.values.types import ToolSpec

LIST: Asked = ("cakes.list", {})
GET: Asked = ("cakes.get", {"name": "Compact Lamp cake 9"})
PLACE: Asked = ("orders.place", {"cake_id": "K001", "amount": 1})
ORDERS: Asked = ("orders.list", {"cake_id": "K001"})
RENEW: Asked = ("cakes.refresh_session", {})

KINDS: tuple[Kind, ...] = get_args(Kind)

CATALOGUE = {
    "timeout_before", "latency", "rate_limit", "quota_exhausted", "transient_error", "outage", "flapping", "auth_expired",
    "strict_validation", "malformed_output", "malformed_result", "truncated_output", "empty_success", "missing_fields", "type_coercion",
    "schema_drift", "argument_drift", "unit_drift", "oversized_output", "forced_pagination", "surface_stress", "name_collision",
    "renamed_tools", "dropped_tool", "misleading_annotation",
}  # fmt: skip
"""The perturbations that need nothing but the call and its reply."""

BEFORE = {
    "timeout_before", "rate_limit", "quota_exhausted", "transient_error", "outage", "flapping", "auth_expired", "strict_validation",
}  # fmt: skip


def errors(played: Played) -> list[bool]:
    return [observation.is_error for observation in played.seen]


@pytest.mark.parametrize("name", sorted(CATALOGUE))
def test_every_perturbation_of_the_protocol_declares_what_it_is(name: str) -> None:
    found = resolve("perturbations", name)
    assert (found.traits.layer, found.traits.needs_world) == ("P", False)
    assert found.traits.recoverable_by and found.traits.effect in ("before", "after", "none")
    assert found.traits.semantic is (name != "malformed_result")
    assert "Source: " in found.__doc__ and "agent should" in " ".join(found.__doc__.split())


@pytest.mark.parametrize("name", sorted(BEFORE))
async def test_a_refused_call_leaves_no_trace_and_is_recorded_with_what_it_would_have_been(
    name: str, tmp_path: Path
) -> None:
    clean = await play(tmp_path, None, PLACE)
    played = await play(tmp_path, {"use": name, "when": {"tools": "orders.place", "nth": 1}}, PLACE, LIST)
    assert (errors(played), played.changes) == ([True, False], {})
    (event,) = played.steps[0].events
    assert (event.use, event.matching, event.perturbed) == (name, 1, played.seen[0])
    assert event.clean is not None and event.clean.content is not None and clean.contents[0] is not None
    assert event.clean.content["amount"] == clean.contents[0]["amount"]
    assert not played.steps[1].events


@pytest.mark.parametrize("name", sorted(BEFORE))
async def test_nothing_happens_before_the_trigger_holds(name: str, tmp_path: Path) -> None:
    played = await play(tmp_path, {"use": name, "when": {"nth": 9}}, PLACE, LIST, ORDERS)
    clean = await play(tmp_path, None, PLACE, LIST, ORDERS)
    assert [observation.text for observation in played.seen] == [observation.text for observation in clean.seen]
    assert played.changes == clean.changes and not any(step.events for step in played.steps)


async def test_a_timeout_before_reads_like_one_after_and_takes_its_time(tmp_path: Path) -> None:
    texts: list[str] = []
    for name in ("timeout_before", "timeout_after"):
        perturbation = {"use": name, "with": {"seconds": 40}, "when": {"nth": 1}}
        played = await play(tmp_path, perturbation, PLACE, ORDERS)
        texts.append(played.seen[0].text)
        assert played.steps[1].clock == "2031-03-03T09:01:20Z"
        assert bool(played.changes) is (name == "timeout_after")
    assert texts[0] == texts[1] and "timed out" in texts[0]


async def test_a_rate_limit_holds_for_the_whole_server_until_it_was_waited_out(tmp_path: Path) -> None:
    perturbation = {"use": "rate_limit", "with": {"retry_after": 45}, "when": {"nth": 1}}
    played = await play(tmp_path, perturbation, LIST, GET, ORDERS, LIST, LIST)
    # Twenty seconds go by with every step.
    assert errors(played) == [True, True, False, False, False]
    assert ["45 seconds" in played.seen[0].text, "25 seconds" in played.seen[1].text] == [True, True]
    assert [[event.matching for event in step.events] for step in played.steps] == [[1], [0], [], [], []]


async def test_a_rate_limit_lets_a_caller_through_who_can_only_call(tmp_path: Path) -> None:
    perturbation = {"use": "rate_limit", "with": {"retry_after": 9999, "refusals": 2}, "when": {"nth": 1}}
    assert errors(await play(tmp_path, perturbation, LIST, LIST, LIST)) == [True, True, False]


@pytest.mark.parametrize(
    ("name", "dead"),
    [("quota_exhausted", [False, True, True, False, True]), ("outage", [False, True, False, False, True])],
)
async def test_what_is_over_stays_over(name: str, dead: list[bool], tmp_path: Path) -> None:
    """The quota is the server's, the outage the tool's."""
    played = await play(tmp_path, {"use": name, "when": {"nth": 2}}, LIST, LIST, GET, ORDERS, LIST)
    assert errors(played) == dead


async def test_a_flapping_tool_fails_and_works_by_the_schedule_of_its_calls(tmp_path: Path) -> None:
    perturbation = {"use": "flapping", "with": {"down": 2, "up": 1}, "when": {"nth": 2}}
    played = await play(tmp_path, perturbation, LIST, LIST, LIST, LIST, LIST, ORDERS, LIST, LIST)
    assert errors(played) == [False, True, True, False, True, False, True, False]


async def test_an_expired_session_is_renewed_by_its_tool(tmp_path: Path) -> None:
    played = await play(tmp_path, {"use": "auth_expired", "when": {"nth": 1}}, LIST, GET, ORDERS, RENEW, LIST, GET)
    assert errors(played) == [True, True, False, False, False, False]
    assert "refresh_session" in played.seen[0].text and json.loads(played.seen[3].text)["status"] == "ok"
    assert {"cakes.refresh_session", "orders.refresh_session"} <= {tool.name for tool in played.tools}
    assert not played.steps[3].events


async def test_an_expired_session_without_a_way_back_stays_expired(tmp_path: Path) -> None:
    perturbation = {"use": "auth_expired", "with": {"refresh": False}, "when": {"nth": 1}}
    played = await play(tmp_path, perturbation, LIST, LIST)
    assert errors(played) == [True, True]
    assert not any("refresh" in tool.name for tool in played.tools)


async def test_a_strict_server_names_the_argument_that_it_wants(tmp_path: Path) -> None:
    def place(**more: Any) -> Asked:
        return ("orders.place", {"cake_id": "K001", "amount": 1, **more})

    perturbation = {"use": "strict_validation", "when": {"tools": "orders.place", "nth": 2}}
    calls = (place(reason="early"), place(), place(reason="x"), place(reason="for a birthday"))
    played = await play(tmp_path, perturbation, *calls)
    assert errors(played) == [False, True, True, False]
    assert "'reason'" in played.seen[1].text and "audit log" in played.seen[1].text
    assert "shorter than 3" in played.seen[2].text
    assert len(played.changes["orders"]) == 2


async def test_arguments_drift_and_the_error_tells_where_to(tmp_path: Path) -> None:
    perturbation = {"use": "argument_drift", "with": {"rename": {"cake_id": "product"}}, "when": {"tools": "orders.*"}}
    new: Asked = ("orders.place", {"product": "K001", "amount": 1})
    wrong: Asked = ("orders.place", {"product": 7, "amount": 1})
    played = await play(tmp_path, perturbation, PLACE, new, wrong, ("orders.place", {"amount": 1}))
    assert errors(played) == [True, False, True, True]
    assert "'cake_id'" in played.seen[0].text and "'product'" in played.seen[0].text
    assert "product" in played.seen[3].text and "cake_id" not in played.seen[3].text
    (tool,) = [tool for tool in played.tools if tool.name == "orders.place"]
    assert "product" not in json.dumps(tool.input_schema)
    assert len(played.changes["orders"]) == 1


@pytest.mark.parametrize(
    ("name", "measure"),
    [
        ("timeout_before", lambda played: played.steps[-1].clock),
        ("latency", lambda played: played.steps[-1].clock),
        ("rate_limit", lambda played: sum(errors(played))),
        ("flapping", lambda played: sum(errors(played))),
    ],
)
async def test_the_harder_the_longer(name: str, measure: Any, tmp_path: Path) -> None:
    found: list[Any] = []
    for severity in (0, 0.5, 1):
        perturbation = {"use": name, "with": {"severity": severity}, "when": {"nth": 1}}
        found.append(measure(await play(tmp_path, perturbation, *[LIST] * 5)))
    assert found == sorted(found) and found[0] < found[2]


def call(*, manners: int = 0, domain: str = "mcp") -> Call:
    request = Request(ToolSpec("orders.place", "", {}), {}, 0, 0)
    return Call(
        request=request,
        rng=Stream(0),
        clock=Clock(start=0, per_step=0),
        memory={},
        world=None,
        domain=domain,
        manners=manners,
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("manners", range(len(MANNERS)))
def test_every_error_is_worded_in_every_manner_of_services(kind: Kind, manners: int) -> None:
    said = refusal(call(manners=manners), kind, by="outage", detail="Further words.", retry_after=12)
    assert said.is_error and said.provenance is not None and said.provenance.source == "outage"
    assert "Further words. Try again in 12 seconds." in said.text
    assert any(status in said.text for status in map(str, range(300, 508)))
    if manner_of(call(manners=manners)) not in ("plain", "raised"):
        assert json.loads(said.text)


def test_shells_and_screens_speak_of_no_status() -> None:
    for domain in ("terminal", "swe", "web", "android", "os"):
        texts = {refusal(call(domain=domain), kind, by="outage").text for kind in KINDS}
        assert len(texts) == len(KINDS)
        assert not any(str(status) in text for text in texts for status in range(300, 508))
    assert refusal(call(domain="terminal"), "storage_full", by="x").text == "bash: No space left on device"


async def test_a_server_has_one_manner_and_servers_have_several(tmp_path: Path) -> None:
    played = await play(tmp_path, {"use": "transient_error", "with": {"status": 503}}, LIST, GET, LIST, PLACE, ORDERS)
    cakes, orders = {seen.text for seen in played.seen[:3]}, {seen.text for seen in played.seen[3:]}
    assert len(cakes) == len(orders) == 1
    assert len({manner_of(call(manners=number)) for number in range(100)}) == len(MANNERS)


def test_no_error_tells_that_it_is_made_up() -> None:
    texts = [
        refusal(call(manners=manners, domain=domain), kind, by="perturbed").text.lower()
        for kind in KINDS
        for domain in ("mcp", "terminal", "web")
        for manners in range(len(MANNERS))
    ]
    assert not [text for text in texts if any(word in text for word in ("simul", "perturb", "inject", "fault"))]
