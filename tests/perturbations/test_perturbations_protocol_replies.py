"""Perturbations of replies and of the list of tools: what the agent reads, what it is shown, and that nothing else changes."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client
from perturbing import Asked, play
from serving_bakery import bakery_scenario, serving

from simtrain import load_scenario, rollout
from simtrain.contracts.perturbation import Call
from simtrain.contracts.request import Request
from simtrain.perturbations.oversized_output import OversizedOutput
from simtrain.perturbations.renamed_tools import RenamedTools
from simtrain.perturbations.reply_edits import leaves
from simtrain.perturbations.schema_edits import each_schema, or_less, or_otherwise, without_bounds
from simtrain.perturbations.surface_stress import separated
from simtrain.perturbations.type_coercion import TypeCoercion
from simtrain.perturbations.unit_drift import UnitDrift
from simtrain.scenarios.arms import armed
from simtrain.values.arm import Arm
from simtrain.values.clock import Clock
from simtrain.values.seeding import Stream
from simtrain.values.types import Observation, ToolSpec

pytestmark = pytest.mark.slow

LIST: Asked = ("cakes.list", {})
GET: Asked = ("cakes.get", {"name": "Compact Lamp cake 9"})
MISSING: Asked = ("cakes.get", {"name": "none"})
PLACE: Asked = ("orders.place", {"cake_id": "K001", "amount": 1})
ORDERS: Asked = ("orders.list", {"cake_id": "K009"})

AFTER: dict[str, dict[str, Any]] = {
    "malformed_output": {},
    "malformed_result": {"protocol": True},
    "empty_success": {},
    "missing_fields": {"with": {"fields": ["price", "amount"]}},
    "type_coercion": {"with": {"fields": ["price", "amount"]}},
    "unit_drift": {"with": {"fields": ["price", "amount"]}},
    "oversized_output": {},
    "surface_stress": {"with": {"severity": 1}},
}


@pytest.mark.parametrize("name", AFTER)
async def test_a_reply_is_bent_once_its_call_was_carried_out(name: str, tmp_path: Path) -> None:
    perturbation = {"use": name, **AFTER[name], "when": {"tools": "orders.place", "nth": 1}}
    clean, played = await play(tmp_path, None, PLACE, PLACE), await play(tmp_path, perturbation, PLACE, PLACE)
    assert played.changes == clean.changes and played.bent == [True, False]
    (event,) = played.steps[0].events
    assert event.clean is not None and json.loads(event.clean.text) == clean.contents[0]
    assert event.perturbed == played.seen[0]


@pytest.mark.parametrize("name", AFTER)
async def test_errors_arrive_as_they_are(name: str, tmp_path: Path) -> None:
    played = await play(tmp_path, {"use": name, **AFTER[name]}, MISSING)
    assert (played.seen[0].text, played.bent) == ("No cake called none.", [False])


@pytest.mark.parametrize("form", ["unquoted", "unclosed", "page", "bytes"])
async def test_a_malformed_payload_cannot_be_parsed_and_is_not_promised(form: str, tmp_path: Path) -> None:
    played = await play(tmp_path, {"use": "malformed_output", "with": {"form": form}}, LIST, GET, ORDERS)
    for observation in played.seen:
        assert not observation.is_error and observation.content is None
        with pytest.raises(json.JSONDecodeError):
            json.loads(observation.text)
    assert all(tool.output_schema is None for tool in played.tools)
    assert ("Compact Lamp" in played.seen[1].text) is (form in ("unquoted", "unclosed"))


async def test_clients_refuse_a_malformed_result_and_show_every_other_reply(tmp_path: Path) -> None:
    """What is opt-in raises in the official client; what is not reaches the agent."""
    perturbations = [{"use": name, **more, "when": {"nth": 1}, "as": name} for name, more in AFTER.items()]
    for number, perturbation in enumerate(perturbations):
        folder = tmp_path / str(number)
        folder.mkdir()
        scenario = bakery_scenario(folder, more=f"perturbations: [{json.dumps(perturbation)}]\n")
        async with serving([scenario]) as served, Client(f"{served.door.url}/cakes/mcp") as client:
            if perturbation["use"] == "malformed_result":
                with pytest.raises(Exception, match="content"):
                    await client.call_tool("list", {})
            else:
                bent = await client.call_tool("list", {})
                assert not bent.is_error and bent.content
                assert bent.content[0].text != (await client.call_tool("list", {})).content[0].text


async def test_an_empty_success_says_nothing(tmp_path: Path) -> None:
    played = await play(tmp_path, {"use": "empty_success"}, LIST, GET)
    assert played.contents[0] == {"cakes": [], "next_cursor": None}
    assert played.contents[1].keys() == {"id", "name", "price", "stock"} and not any(played.contents[1].values())


@pytest.mark.parametrize("left", ["out", "null"])
async def test_fields_are_missing_from_every_record_and_the_others_are_not_touched(left: str, tmp_path: Path) -> None:
    clean = await play(tmp_path, None, LIST)
    perturbation = {"use": "missing_fields", "with": {"fields": ["price", "stock"], "left": left}}
    played = await play(tmp_path, perturbation, LIST)
    gone = {} if left == "out" else {"price": None, "stock": None}
    assert played.contents[0]["cakes"] == [
        {"id": cake["id"], "name": cake["name"], **gone} for cake in clean.contents[0]["cakes"]
    ]


@pytest.mark.parametrize("name", ["missing_fields", "type_coercion", "surface_stress", "oversized_output"])
async def test_the_harder_the_more_is_changed(name: str, tmp_path: Path) -> None:
    sizes: list[int] = []
    clean = await play(tmp_path, None, GET)
    before = dict(leaves(clean.contents[0]))
    for severity in (0, 0.5, 1):
        played = await play(tmp_path, {"use": name, "with": {"severity": severity}}, GET)
        after = dict(leaves(played.contents[0]))
        sizes.append(len(set(before.items()) ^ set(after.items())))
    assert sizes == sorted(sizes) and 0 < sizes[0] < sizes[2]


async def test_numbers_as_text_are_the_same_numbers(tmp_path: Path) -> None:
    clean = await play(tmp_path, None, LIST)
    played = await play(tmp_path, {"use": "type_coercion", "with": {"severity": 1}}, LIST)
    for cake, coerced in zip(clean.contents[0]["cakes"], played.contents[0]["cakes"], strict=True):
        assert isinstance(coerced["price"], str) and isinstance(coerced["stock"], str)
        assert (float(coerced["price"]), int(coerced["stock"])) == (cake["price"], cake["stock"])


async def test_money_comes_in_cents_and_counts_stay_counts(tmp_path: Path) -> None:
    clean = await play(tmp_path, None, GET, ORDERS)
    played = await play(tmp_path, {"use": "unit_drift"}, GET, ORDERS)
    assert played.contents[0] == {**clean.contents[0], "price": round(clean.contents[0]["price"] * 100)}
    assert played.contents[1] == clean.contents[1]


@pytest.mark.parametrize(
    ("field", "factor"), [("Hours", 60), ("run_seconds", 1000), ("daysLeft", 24), ("fee_cents", 0.01)]
)
def test_fields_named_by_their_unit_come_in_the_next_one(field: str, factor: float) -> None:
    told = UnitDrift()._converted({"rows": [{field: 3, "estimate": 4}], "count": 2})
    assert told == {"rows": [{field: 3 * factor, "estimate": 4}], "count": 2}


@pytest.mark.parametrize(
    ("record", "other"),
    [
        ({"price": 135, "seats": 2}, {"price": 13500, "seats": 2}),
        ({"total": 4, "amount": 3}, {"total": 4, "amount": 3}),
        ({"total": 19.5}, {"total": 1950}),
        ({"amount": 20, "currency": "EUR"}, {"amount": 2000, "currency": "EUR"}),
        ({"invoices": [{"amount": 20}]}, {"invoices": [{"amount": 2000}]}),
        ({"tax_rate": 0.15, "growth_percent": 15}, {"tax_rate": 15, "growth_percent": 0.15}),
        ({"temperature": 20, "page": 3}, {"temperature": 68, "page": 3}),
        ({"weight": "12.5 kg", "note": "12.5 kg"}, {"weight": "12500 g", "note": "12.5 kg"}),
        ({"value": 3, "unit": "km"}, {"value": 3000, "unit": "m"}),
        ({"created_at": 1_935_482_400, "year": 2031}, {"created_at": 1_935_482_400_000, "year": 2031}),
        ({"created_at": "2031-05-01T10:00:00Z", "hours": [1, 2]}, {"created_at": "2031-05-01T10:00:00Z", "hours": [60, 120]}),
    ],
)  # fmt: skip
def test_quantities_come_in_another_unit_and_counts_stay(record: dict[str, Any], other: dict[str, Any]) -> None:
    assert UnitDrift()._converted(record) == other


KINDS: dict[str, tuple[Any, list[Any]]] = {
    "numbers": (12.5, ["12.5"]),
    "truth": (True, ["true", 1, "yes"]),
    "null": (None, ["null", ""]),
    "single": (["a"], ["a"]),
    "instants": ("2031-05-01T10:00:00Z", [int(datetime(2031, 5, 1, 10, tzinfo=UTC).timestamp())]),
}


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_value_comes_as_another_type_and_the_others_stay(kind: str) -> None:
    whole = {name: value for name, (value, _) in KINDS.items()}
    seen: list[Any] = []
    for seed in range(30):
        request = Request(ToolSpec("values.get", "", {}), {}, 0, 0)
        clock = Clock(start=0, per_step=1)
        call = Call(request=request, rng=Stream(seed), clock=clock, memory={}, world=None)
        told = TypeCoercion.model_validate({"kinds": [kind]}).changed_content(call, whole)
        assert {**told, kind: whole[kind]} == whole  # type: ignore[dict-item]
        seen.append(told[kind])
    forms = KINDS[kind][1]
    assert all(any(type(form) is type(one) and form == one for form in forms) for one in seen)
    assert len({repr(one) for one in seen}) == len(forms)


BULKS = {
    "debug": "debug",
    "trace": "_trace",
    "history": "_history",
    "links": "_links",
    "metadata": "_meta",
    "preview": "_preview",
}


@pytest.mark.parametrize("kinds", [*([kind] for kind in BULKS), ["debug", "links", "preview"], None])
async def test_a_flooded_reply_still_holds_the_answer(kinds: list[str] | None, tmp_path: Path) -> None:
    clean = await play(tmp_path, None, GET)
    knobs: dict[str, Any] = {"characters": 6000, **({"kinds": kinds} if kinds else {})}
    played = await play(tmp_path, {"use": "oversized_output", "with": knobs}, GET)
    told = json.loads(played.seen[0].text)
    assert told == played.contents[0]
    added = {name: told.pop(name) for name in list(told) if name in BULKS.values()}
    assert told == clean.contents[0]
    assert set(added) == {BULKS[kind] for kind in kinds} if kinds else 2 <= len(added) <= 5
    assert 5500 <= sum(len(json.dumps(value, separators=(",", ":"))) for value in added.values()) < 8000


async def test_each_call_is_flooded_with_other_things(tmp_path: Path) -> None:
    perturbation = {"use": "oversized_output", "with": {"characters": 2000}}
    played, again = [await play(tmp_path, perturbation, *[GET] * 6) for _ in range(2)]
    assert played.contents == again.contents
    assert len({tuple(content) for content in played.contents}) > 3


async def test_no_line_of_a_flood_stands_there_again_and_again(tmp_path: Path) -> None:
    played = await play(
        tmp_path, {"use": "oversized_output", "with": {"severity": 0.3, "kinds": ["debug", "history"]}}, GET
    )
    lines = [json.dumps(line) for name in ("debug", "_history") for line in played.contents[0][name]]
    assert len(lines) > 100 and len(set(lines)) == len(lines)
    assert 30_000 < len(played.seen[0].text) < 50_000


async def test_a_flooded_text_stays_whole_between_other_lines() -> None:
    """What an agent reads of a reply without JSON."""
    flood = OversizedOutput(characters=3000)
    tool = ToolSpec("notes.read", "", {"type": "object"}, writes=False)

    async def proceed(request: Request) -> Observation:
        return Observation("First line.\nSecond line, 12 pages.")

    clock = Clock(start=1_900_000_000, per_step=1)
    call = Call(request=Request(tool, {}, 0, 0), rng=Stream(3), clock=clock, memory={}, world=None)
    told = await flood.apply(call, proceed)
    before, mid, after = told.text.partition("First line.\nSecond line, 12 pages.")
    assert mid and before.endswith("\n\n") and after.startswith("\n\n") and 2500 < len(told.text) < 5000


async def test_a_whole_list_comes_in_pages_that_add_up_to_it(tmp_path: Path) -> None:
    clean = await play(tmp_path, None, ORDERS)
    perturbation = {"use": "forced_pagination", "with": {"page_size": 1}, "when": {"nth": 1}}
    first = await play(tmp_path, perturbation, ORDERS)
    cursor = first.contents[0]["next_cursor"]
    played = await play(tmp_path, perturbation, ORDERS, ("orders.list", {**ORDERS[1], "cursor": cursor}))
    assert [*played.contents[0]["orders"], *played.contents[1]["orders"]] == clean.contents[0]["orders"]
    assert len(clean.contents[0]["orders"]) == 2 and played.contents[1]["next_cursor"] is None
    assert [event.matching for step in played.steps for event in step.events] == [1, 0]


async def test_a_cursor_that_is_none_is_refused_and_tools_that_page_or_write_are_left_alone(tmp_path: Path) -> None:
    perturbation = {"use": "forced_pagination", "with": {"page_size": 1}}
    clean = await play(tmp_path, None, LIST)
    played = await play(tmp_path, perturbation, ("orders.list", {**ORDERS[1], "cursor": "x y"}), LIST, PLACE)
    assert "Invalid cursor" in played.seen[0].text and played.seen[1].text == clean.seen[0].text
    shown = {tool.name: tool.input_schema["properties"] for tool in played.tools}
    assert "cursor" in shown["orders.list"] and "cursor" not in shown["orders.place"]
    assert "cursor" not in shown["cakes.get"]


async def test_odd_forms_say_the_same(tmp_path: Path) -> None:
    clean = await play(tmp_path, None, GET, ORDERS)
    perturbation = {"use": "surface_stress", "with": {"forms": ["numbers", "dates", "casing"]}}
    played = await play(tmp_path, perturbation, GET, ORDERS)
    cake, seen = clean.contents[0], played.contents[0]
    assert seen == {"id": cake["id"], "name": cake["name"].upper(), "price": f"{cake['price']:,.2f}", "stock": "9"}
    assert [order["placed_at"] for order in played.contents[1]["orders"]] == [
        "13 February 2031, 15:07 UTC",
        "16 February 2031, 02:04 UTC",
    ]


@given(st.one_of(st.integers(-(10**15), 10**15), st.floats(allow_nan=False, allow_infinity=False)))
def test_a_number_in_an_odd_form_is_the_same_number(value: float) -> None:
    assert float(separated(value).replace(",", "")) == value


@pytest.mark.parametrize("change", [or_less, or_otherwise, without_bounds])
def test_a_wider_schema_takes_all_that_the_narrow_one_takes(change: Any) -> None:
    schema = {
        "type": "object",
        "properties": {
            "type": {"type": "string", "enum": ["a"]},
            "required": {"type": "array", "items": {"$ref": "#/$defs/item"}, "minItems": 1},
        },
        "required": ["type"],
        "$defs": {"item": {"anyOf": [{"type": "integer", "minimum": 3}, {"type": "object", "required": ["x"]}]}},
    }
    value = {"type": "a", "required": [3, {"x": 1}]}
    wide = each_schema(schema, change)
    assert jsonschema_rs.is_valid(schema, value) and jsonschema_rs.is_valid(wide, value)
    assert wide["properties"].keys() == schema["properties"].keys()
    further = {
        or_less: {},
        or_otherwise: {"type": "a", "required": ["7"]},
        without_bounds: {"type": "b", "required": [2.5]},
    }
    assert jsonschema_rs.is_valid(wide, further[change]) and not jsonschema_rs.is_valid(schema, further[change])


async def test_renamed_tools_do_what_they_did_under_their_new_names(tmp_path: Path) -> None:
    clean = await play(tmp_path, None, PLACE, ORDERS)
    new: tuple[Asked, ...] = (
        ("orders.submit", {"cake_identifier": "K001", "quantity": 1}),
        ("orders.enumerate", {"cake_identifier": "K009"}),
    )
    played = await play(tmp_path, {"use": "renamed_tools"}, *new)
    assert (played.contents, played.changes) == (clean.contents, clean.changes)
    assert [tool.name for tool in played.tools] == [
        "cakes.enumerate",
        "cakes.fetch",
        "orders.submit",
        "orders.enumerate",
    ]
    assert not any(step.events for step in played.steps)
    names_only = await play(tmp_path, {"use": "renamed_tools", "with": {"severity": 0.4}}, ("orders.submit", PLACE[1]))
    assert names_only.contents == clean.contents[:1]


async def test_a_renamed_tool_meets_the_other_perturbations(tmp_path: Path) -> None:
    more = [{"use": "renamed_tools"}, {"use": "timeout_after", "when": {"tools": "orders.place", "nth": 1}}]
    for number, perturbations in enumerate((more, more[::-1])):
        folder = tmp_path / str(number)
        folder.mkdir()
        scenario = bakery_scenario(folder, more=f"perturbations: {json.dumps(perturbations)}\n")
        async with serving([scenario]) as served, Client(f"{served.door.url}/orders/mcp") as client:
            arguments = {"cake_identifier": "K001", "quantity": 1}
            lost = await client.call_tool("submit", arguments)
            assert lost.is_error and "timed out" in lost.content[0].text
            assert not (await client.call_tool("submit", arguments)).is_error


def test_new_names_are_distinct_and_keep_their_casing() -> None:
    names = ["a.getUser", "a.fetchUser", "a.retrieveUser", "API-GET-page", "frob", "frob_v2", "list_files"]
    tools = tuple(ToolSpec(name, "", {"type": "object", "properties": {}}) for name in names)
    renamed = [tool.name for tool in RenamedTools().offer(tools, Stream(0))]
    assert len(set(renamed)) == len(names) and not set(renamed) & set(names)
    assert renamed[3:5] == ["API-FETCH-page", "frob_v2_v2"] and renamed[6] == "enumerate_files"


async def test_a_namesake_stands_before_its_tool_and_holds_other_records(tmp_path: Path) -> None:
    perturbation = {"use": "name_collision", "with": {"tools": "orders.place"}}
    shown = (await play(tmp_path, perturbation)).tools
    (twin,) = [tool for tool in shown if tool.name.startswith("orders_")]
    real = shown[shown.index(twin) + 1]
    assert (real.name, twin.name.rpartition(".")[2]) == ("orders.place", "place")
    assert twin.description.startswith(real.description) and twin.description != real.description
    played = await play(tmp_path, perturbation, (twin.name, PLACE[1]), PLACE)
    assert [seen.is_error for seen in played.seen] == [True, False] and "no such record" in played.seen[0].text


async def test_descriptions_mislead_and_tools_do_what_they_did(tmp_path: Path) -> None:
    clean = await play(tmp_path, None, LIST)
    perturbation = {"use": "misleading_annotation", "with": {"warned": "orders.place", "praised": ["cakes.*"]}}
    played = await play(tmp_path, perturbation, LIST)
    assert played.contents == clean.contents and not played.steps[0].events
    before = {tool.name: tool.description for tool in clean.tools}
    changed = {tool.name for tool in played.tools if tool.description != before[tool.name]}
    assert changed == {"orders.place", "cakes.list", "cakes.get"}
    assert all(tool.description.endswith(before[tool.name]) for tool in played.tools)


@pytest.mark.parametrize("agent", ["oracle", "resilient"])
@pytest.mark.parametrize("family", ["helpdesk/outage_credit", "messenger/poll_result"])
async def test_agents_pick_what_they_asked_for_out_of_a_flood(family: str, agent: str) -> None:
    flooded = armed(load_scenario(family), Arm("flood", ("catalogue",), ("oversized_output",)))
    trajectory = await rollout(flooded, agent, case=0)
    assert trajectory.reward == 1 and any(step.events for step in trajectory.steps)
