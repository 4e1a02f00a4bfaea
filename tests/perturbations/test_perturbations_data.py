"""Perturbations of data: what they do to replies and to the state, when they do it, and that nothing else changes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from bakery import WORLD
from perturbing import Asked, play

from simtrain.contracts.perturbation import Call
from simtrain.contracts.request import Request
from simtrain.perturbations.opening import hidden_in
from simtrain.perturbations.partial_results import PartialResults
from simtrain.perturbations.premature_finish_trap import PrematureFinishTrap
from simtrain.perturbations.value_corruption import ValueCorruption
from simtrain.perturbations.withheld_intermediate import WithheldIntermediate
from simtrain.values.clock import Clock
from simtrain.values.errors import SimulatorFault
from simtrain.values.seeding import Stream
from simtrain.values.types import Observation, ToolSpec

LIST: Asked = ("cakes.list", {})
PLACE: Asked = ("orders.place", {"cake_id": "K001", "amount": 1})
ORDERS: Asked = ("orders.list", {"cake_id": "K001"})
TOO_MANY: Asked = ("orders.place", {"cake_id": "K001", "amount": 999})


def added(changes: Any, table: str) -> int:
    return sum(change.before is None for change in changes.get(table, ()))


async def test_a_duplicate_delivery_lands_twice_and_shows_one_reply(tmp_path: Path) -> None:
    played = await play(tmp_path, {"use": "duplicate_delivery", "when": {"nth": 1}}, PLACE, ORDERS, PLACE)
    assert (added(played.changes, "orders"), played.bent) == (3, [True, False, False])
    clean = await play(tmp_path, None, PLACE)
    assert played.contents[0] == clean.contents[0]
    assert len({order["id"] for order in played.contents[1]["orders"]}) == len(played.contents[1]["orders"])


async def test_nothing_is_delivered_twice_that_reads_or_is_refused(tmp_path: Path) -> None:
    played = await play(tmp_path, {"use": "duplicate_delivery"}, LIST, TOO_MANY)
    assert (played.changes, played.bent) == ({}, [False, False])


async def test_a_false_success_says_what_success_says_and_does_nothing(tmp_path: Path) -> None:
    played = await play(tmp_path, {"use": "false_success", "when": {"nth": 1, "writes": True}}, PLACE, ORDERS)
    clean = await play(tmp_path, None, PLACE, ORDERS)
    assert played.contents[0] == clean.contents[0] and played.changes == {}
    assert len(played.contents[1]["orders"]) == len(clean.contents[1]["orders"]) - 1
    again = await play(tmp_path, {"use": "false_success", "when": {"nth": 2, "writes": True}}, PLACE, PLACE, TOO_MANY)
    assert (added(again.changes, "orders"), again.bent) == (1, [False, True, False])


async def test_a_delayed_write_lands_at_once_and_shows_after_some_reads(tmp_path: Path) -> None:
    perturbation = {"use": "delayed_visibility", "with": {"reads": 2}, "when": {"nth": 1, "writes": True}}
    played = await play(tmp_path, perturbation, PLACE, ("cakes.get", {"name": "none"}), ORDERS, ORDERS, ORDERS)
    clean, untouched = await play(tmp_path, None, PLACE, ORDERS), await play(tmp_path, None, ORDERS)
    assert played.changes == clean.changes
    assert played.contents[2:] == [*untouched.contents, *untouched.contents, clean.contents[1]]
    assert played.changed == [[], [], ["reply"], ["reply"], []]
    assert [event.matching for step in played.steps for event in step.events] == [0, 0]


async def test_the_harder_the_longer_a_write_is_delayed(tmp_path: Path) -> None:
    lags: list[int] = []
    for severity in (0, 0.5, 1):
        perturbation = {"use": "delayed_visibility", "with": {"severity": severity}, "when": {"writes": True}}
        lags.append(sum((await play(tmp_path, perturbation, PLACE, *[ORDERS] * 7)).bent[1:]))
    assert lags == [1, 3, 5]


async def test_a_refused_write_delays_nothing(tmp_path: Path) -> None:
    played = await play(tmp_path, {"use": "delayed_visibility"}, TOO_MANY, ORDERS)
    assert played.bent == [False, False]


async def test_a_stale_read_tells_what_was_true_before_the_last_write(tmp_path: Path) -> None:
    clean = await play(tmp_path, None, ORDERS, PLACE, ORDERS)
    perturbation = {"use": "stale_read", "when": {"tools": "orders.list", "nth": 1}}
    played = await play(tmp_path, perturbation, PLACE, ORDERS, ORDERS)
    assert played.contents[1] == clean.contents[0] and played.bent == [False, True, False]
    assert len(played.contents[2]["orders"]) == len(clean.contents[2]["orders"])
    assert played.changes.keys() == clean.changes.keys()


async def test_a_stale_read_tells_what_the_same_call_was_told_before(tmp_path: Path) -> None:
    perturbation = {"use": "stale_read", "when": {"tools": "orders.list", "nth": 2}}
    played = await play(tmp_path, perturbation, ORDERS, PLACE, PLACE, ORDERS, LIST)
    assert played.contents[3] == played.contents[0] and played.bent == [False, False, False, True, False]


async def test_an_old_cache_lacks_the_newest_records(tmp_path: Path) -> None:
    calls = [("orders.list", {"cake_id": f"K{number:03}"}) for number in range(1, 31)]
    clean = await play(tmp_path, None, *calls)
    played = await play(tmp_path, {"use": "stale_read", "with": {"hours": 240}}, *calls)
    for was, seen in zip(clean.contents, played.contents, strict=True):
        assert seen["orders"] == [order for order in was["orders"] if order["placed_at"] < "2031-02-21T09:10"]
    assert 3 < sum(played.bent) < 27 and played.changes == {}


async def test_a_read_of_what_has_not_changed_is_never_stale(tmp_path: Path) -> None:
    played = await play(tmp_path, {"use": "stale_read", "with": {"hours": 0}}, LIST, LIST, ORDERS)
    assert played.bent == [False, False, False]
    assert (await play(tmp_path, {"use": "stale_read"}, LIST, ("cakes.get", {"name": "none"}))).bent == [False, False]


async def a_cake(folder: Path) -> dict[str, Any]:
    """The first cake of the list, as the tools tell it."""
    return (await play(folder, None, LIST)).contents[0]["cakes"][0]


def get(cake: dict[str, Any]) -> Asked:
    return ("cakes.get", {"name": cake["name"]})


def differing(clean: Any, seen: Any) -> dict[str, tuple[Any, Any]]:
    return {name: (clean[name], seen[name]) for name in clean if clean[name] != seen[name]}


@pytest.mark.parametrize(("severity", "share"), [(0, 0.1), (0.5, 0.175), (1, 0.25)])
async def test_a_corrupted_value_is_one_number_that_is_as_far_off_as_severity_says(
    severity: float, share: float, tmp_path: Path
) -> None:
    cake = await a_cake(tmp_path)
    perturbation = {"use": "value_corruption", "with": {"severity": severity, "fields": ["price"]}, "when": {"nth": 1}}
    played = await play(tmp_path, perturbation, get(cake), get(cake))
    ((right, wrong),) = differing(cake, played.contents[0]).values()
    assert abs(wrong - right) / right == pytest.approx(share, abs=0.01) and round(wrong, 2) == wrong
    assert played.contents[1] == cake and (played.bent, played.changes) == ([True, False], {})


async def test_ids_dates_and_errors_are_never_corrupted(tmp_path: Path) -> None:
    calls = [ORDERS, ("cakes.get", {"name": "none"})]
    played = await play(tmp_path, {"use": "value_corruption", "with": {"fields": ["id", "placed_at"]}}, *calls)
    assert played.bent == [False, False]


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("Paid 1,200.00 on 2031-03-03 at 10:15", {"Paid 1,320.00 on 2031-03-03 at 10:15", "Paid 1,080.00 on 2031-03-03 at 10:15"}),
        ("Invoice INV-2210 of 2031", {"Invoice INV-2210 of 2031"}),
        ('{"total": 40, "id": 7}', {'{"total": 44, "id": 7}', '{"total": 36, "id": 7}'}),
        ("no number", {"no number"}),
    ],
)  # fmt: skip
async def test_a_number_in_text_is_corrupted_where_there_is_no_structured_content(text: str, wrong: set[str]) -> None:
    async def proceed(request: Request) -> Observation:
        return Observation(text)

    for seed in range(6):
        call = Call(
            request=Request(ToolSpec("t", "", {}), {}, 0, 0),
            rng=Stream(seed),
            clock=Clock(start=0, per_step=0),
            memory={},
            world=None,
        )
        assert (await ValueCorruption(off=0.1).apply(call, proceed)).text in wrong


async def test_prose_and_structured_content_are_corrupted_alike() -> None:
    async def proceed(request: Request) -> Observation:
        return Observation("The cake costs 40.00 (id 7).", {"price": 40.0, "id": 7})

    call = Call(
        request=Request(ToolSpec("t", "", {}), {}, 0, 0),
        rng=Stream(1),
        clock=Clock(start=0, per_step=0),
        memory={},
        world=None,
    )
    seen = await ValueCorruption(off=0.1).apply(call, proceed)
    assert seen.structured and seen.text == f"The cake costs {seen.structured['price']:.2f} (id 7)."
    assert seen.structured["price"] in (36.0, 44.0)


async def test_one_source_contradicts_the_other_and_sticks_to_it(tmp_path: Path) -> None:
    cake = await a_cake(tmp_path)
    perturbation = {"use": "source_conflict", "with": {"fields": ["price"]}, "when": {"tools": "cakes.get", "nth": 1}}
    played = await play(tmp_path, perturbation, get(cake), LIST, get(cake))
    ((right, wrong),) = differing(cake, played.contents[0]).values()
    assert 0.1 <= abs(wrong - right) / right <= 0.25
    assert played.contents[0] == played.contents[2] and played.contents[1]["cakes"][0] == cake
    assert (played.bent, played.changes) == ([True, False, True], {})


async def test_a_fact_that_no_other_tool_tells_has_no_second_source(tmp_path: Path) -> None:
    played = await play(tmp_path, {"use": "source_conflict", "with": {"fields": ["total"]}}, LIST, ORDERS)
    assert played.bent == [False, False]


async def test_a_wrong_entity_is_a_real_one_of_the_same_kind(tmp_path: Path) -> None:
    cake = await a_cake(tmp_path)
    played = await play(tmp_path, {"use": "wrong_entity", "when": {"nth": 1}}, get(cake), get(cake), PLACE)
    wrong = played.contents[0]
    assert wrong["id"] != cake["id"] and played.contents[1] == cake and played.bent == [True, False, False]
    clean = await play(tmp_path, None, get(wrong))
    assert clean.contents[0] == wrong


async def test_what_names_no_record_and_what_writes_meets_no_wrong_entity(tmp_path: Path) -> None:
    played = await play(tmp_path, {"use": "wrong_entity"}, LIST, PLACE, ("cakes.get", {"name": "none"}))
    clean = await play(tmp_path, None, LIST, PLACE, ("cakes.get", {"name": "none"}))
    assert (played.bent, played.seen) == ([False] * 3, clean.seen)


async def test_partial_results_lack_other_items_each_time(tmp_path: Path) -> None:
    clean = (await play(tmp_path, None, LIST)).contents[0]
    played = await play(
        tmp_path, {"use": "partial_results", "with": {"keep": 0.75}}, LIST, LIST, get(clean["cakes"][0])
    )
    first, second = (content["cakes"] for content in played.contents[:2])
    assert len(first) == len(second) == 6 and first != second
    assert sorted({cake["id"] for cake in first + second}) == sorted(cake["id"] for cake in clean["cakes"])
    assert played.contents[0]["next_cursor"] == clean["next_cursor"] and played.bent == [True, True, False]


async def test_the_harder_the_fewer_results(tmp_path: Path) -> None:
    counts: list[int] = []
    for severity in (0, 0.4, 1):
        played = await play(tmp_path, {"use": "partial_results", "with": {"severity": severity}}, LIST)
        counts.append(len(played.contents[0]["cakes"]))
    assert counts == [8, 6, 4]


async def test_a_prose_listing_lacks_lines() -> None:
    async def proceed(request: Request) -> Observation:
        return Observation("a\nb\nc\nd")

    for name, lines in (("list_files", 2), ("read_file", 4)):
        call = Call(
            request=Request(ToolSpec(name, "", {}), {}, 0, 0),
            rng=Stream(0),
            clock=Clock(start=0, per_step=0),
            memory={},
            world=None,
        )
        assert len((await PartialResults(keep=0.5).apply(call, proceed)).text.splitlines()) == lines


async def test_a_premature_end_looks_complete_and_short_lists_are(tmp_path: Path) -> None:
    clean = await play(tmp_path, None, LIST)
    played = await play(tmp_path, {"use": "premature_finish_trap", "with": {"keep": 3}}, LIST, LIST, ORDERS)
    assert played.contents[0] == {"cakes": clean.contents[0]["cakes"][:3], "next_cursor": None} == played.contents[1]
    assert clean.contents[0]["next_cursor"] is not None and played.bent == [True, True, False]


BATCH = (
    WORLD
    + """\
  - name: orders.place_many
    description: Order one of each of several cakes.
    input: {cakes: {type: array, items: {type: string}}}
    write:
      - insert into orders select 'X' || value, value, 1, :now from json_each(:cakes)
    read: {orders: "select id from orders where id like 'X%' order by id"}
"""
)


async def test_some_items_of_a_batch_land_and_the_others_can_be_repeated(tmp_path: Path) -> None:
    many: Asked = ("orders.place_many", {"cakes": ["K001", "K002", "K003", "K004"]})
    perturbation = {"use": "partial_batch_failure", "with": {"share": 0.5}, "when": {"nth": 1}}
    played = await play(tmp_path, perturbation, many, world_text=BATCH)
    text = played.seen[0].text
    failed = [cake for cake in many[1]["cakes"] if f"] {cake}: 503" in text]
    assert played.seen[0].is_error and text.startswith("2 of 4 cakes failed") and len(failed) == 2
    assert added(played.changes, "orders") == 2
    mended = await play(tmp_path, perturbation, many, ("orders.place_many", {"cakes": failed}), world_text=BATCH)
    clean = await play(tmp_path, None, many, world_text=BATCH)
    assert mended.contents[1] == clean.contents[0]


async def test_a_call_without_a_batch_does_not_fail(tmp_path: Path) -> None:
    one: Asked = ("orders.place_many", {"cakes": ["K001"]})
    played = await play(tmp_path, {"use": "partial_batch_failure"}, PLACE, one, LIST, world_text=BATCH)
    assert played.bent == [False, False, False]


async def test_a_denied_tool_stays_denied_and_the_others_work(tmp_path: Path) -> None:
    perturbation = {"use": "permission_denied", "when": {"tools": "orders.place", "nth": 1}}
    played = await play(tmp_path, perturbation, ORDERS, PLACE, PLACE, LIST)
    assert [seen.is_error for seen in played.seen] == [False, True, True, False] and played.changes == {}
    assert "orders:write" in played.seen[1].text and played.seen[1] == played.seen[2]
    event = played.steps[2].events[0]
    assert event.matching == 2 or event.matching == 0
    assert event.clean and not event.clean.is_error


async def test_a_denial_ends_when_the_right_response_was_seen(tmp_path: Path) -> None:
    perturbation = {"use": "permission_denied", "when": {"tools": "orders.place", "nth": 1, "until": "cakes.get"}}
    played = await play(tmp_path, perturbation, PLACE, PLACE, get(await a_cake(tmp_path)), PLACE)
    assert [seen.is_error for seen in played.seen] == [True, True, False, False]


async def test_an_impossible_task_stays_impossible_and_says_why(tmp_path: Path) -> None:
    perturbation = {"use": "impossible_task", "with": {"reason": "Closed for good."}, "when": {"writes": True}}
    played = await play(tmp_path, perturbation, LIST, PLACE, PLACE, ORDERS)
    assert [seen.is_error for seen in played.seen] == [False, True, True, False] and played.changes == {}
    assert all("Closed for good." in played.seen[index].text for index in (1, 2))
    on_read = await play(
        tmp_path, {"use": "impossible_task", "when": {"tools": "cakes.list"}}, PLACE, LIST, PLACE, ORDERS
    )
    assert [seen.is_error for seen in on_read.seen] == [False, True, True, False]


async def test_what_leans_on_a_broken_tool_fails_too_until_it_is_mended(tmp_path: Path) -> None:
    perturbation = {"use": "cascade", "with": {"calls": 2}, "when": {"tools": "cakes.list", "nth": 1}}
    played = await play(tmp_path, perturbation, LIST, PLACE, LIST, PLACE, LIST)
    assert [seen.is_error for seen in played.seen] == [True, True, True, False, False]
    assert "cakes.list does not respond" in played.seen[1].text and added(played.changes, "orders") == 1
    unrelated = await play(
        tmp_path, {"use": "cascade", "when": {"tools": "orders.list", "nth": 1}}, ORDERS, LIST, PLACE
    )
    assert [seen.is_error for seen in unrelated.seen] == [True, False, True]
    chosen = {"use": "cascade", "with": {"dependants": ["cakes.*"]}, "when": {"tools": "orders.list", "nth": 1}}
    played = await play(tmp_path, chosen, ORDERS, LIST, PLACE)
    assert [seen.is_error for seen in played.seen] == [True, True, False]


async def test_the_harder_the_longer_a_cascade(tmp_path: Path) -> None:
    counts: list[int] = []
    for severity in (0, 0.5, 1):
        perturbation = {"use": "cascade", "with": {"severity": severity}, "when": {"tools": "cakes.list", "nth": 1}}
        counts.append(sum((await play(tmp_path, perturbation, *[LIST] * 8)).bent))
    assert counts == [2, 4, 6]


async def test_a_lost_id_is_not_found_until_a_list_shows_it(tmp_path: Path) -> None:
    cake = await a_cake(tmp_path)
    place: Asked = ("orders.place", {"cake_id": cake["id"], "amount": 1})
    perturbation = {"use": "not_found", "when": {"tools": "orders.place", "nth": 1}}
    played = await play(tmp_path, perturbation, place, place, LIST, place)
    assert [seen.is_error for seen in played.seen] == [True, True, False, False]
    assert played.seen[0].text == f"No cake {cake['id']}." == played.seen[1].text
    clean = played.steps[0].events[0].clean
    assert clean and not clean.is_error and added(played.changes, "orders") == 1


async def test_a_renamed_id_is_found_under_its_new_name_and_the_state_keeps_the_old_one(tmp_path: Path) -> None:
    cake = await a_cake(tmp_path)
    place: Asked = ("orders.place", {"cake_id": cake["id"], "amount": 1})
    perturbation = {"use": "not_found", "with": {"renamed": True}, "when": {"tools": "orders.place", "nth": 1}}
    played = await play(tmp_path, perturbation, place, LIST)
    new = played.contents[1]["cakes"][0]["id"]
    assert new != cake["id"] and len(new) == len(cake["id"])
    played = await play(tmp_path, perturbation, place, LIST, ("orders.place", {"cake_id": new, "amount": 1}), place)
    assert [seen.is_error for seen in played.seen] == [True, False, False, True]
    assert [change.after["cake_id"] for change in played.changes["orders"] if change.after] == [cake["id"]]


async def test_a_call_that_names_no_record_is_found(tmp_path: Path) -> None:
    played = await play(tmp_path, {"use": "not_found"}, LIST, ("cakes.get", {"name": "none"}))
    assert played.bent == [False, False]


CANCELLING = (
    WORLD
    + """\
  - name: orders.cancel
    description: Cancel an order.
    input: {order_id: {type: string}}
    write: ["delete from ledger where order_id = :order_id", "delete from orders where id = :order_id"]
"""
)


async def test_full_storage_refuses_what_adds_until_something_was_deleted(tmp_path: Path) -> None:
    (order, *_) = (await play(tmp_path, None, ("orders.list", {"cake_id": "K003"}))).contents[0]["orders"]
    cancel: Asked = ("orders.cancel", {"order_id": order["id"]})
    perturbation = {"use": "resource_exhausted", "with": {"free": 1}, "when": {"writes": True, "nth": 1}}
    calls = (PLACE, ORDERS, PLACE, cancel, PLACE)
    played = await play(tmp_path, perturbation, *calls, world_text=CANCELLING)
    assert [seen.is_error for seen in played.seen] == [True, False, True, False, False]
    clean = await play(tmp_path, None, ORDERS, world_text=CANCELLING)
    assert played.contents[1] == clean.contents[0] and added(played.changes, "orders") == 1
    harder = {"use": "resource_exhausted", "with": {"severity": 1}}
    played = await play(tmp_path, harder, PLACE, cancel, PLACE, world_text=CANCELLING)
    assert [seen.is_error for seen in played.seen] == [True, False, True]


async def test_full_storage_lets_pass_what_adds_nothing_and_what_makes_room_otherwise(tmp_path: Path) -> None:
    cancel: Asked = ("orders.cancel", {"order_id": "none"})
    played = await play(tmp_path, {"use": "resource_exhausted"}, LIST, cancel, TOO_MANY, world_text=CANCELLING)
    assert played.bent == [False] * 3
    perturbation = {"use": "resource_exhausted", "with": {"free": 1, "frees": ["*.cancel"]}, "when": {"nth": 1}}
    played = await play(tmp_path, perturbation, PLACE, cancel, PLACE, world_text=CANCELLING)
    assert [seen.is_error for seen in played.seen] == [True, False, False]


async def test_a_missing_module_is_missing_everywhere_until_it_is_installed(tmp_path: Path) -> None:
    perturbation = {"use": "missing_dependency", "when": {"tools": "orders.place", "nth": 1}}
    modules: Asked = ("modules.list", {})
    install: Asked = ("modules.install", {"module": "orders-module"})
    played = await play(tmp_path, perturbation, LIST, PLACE, ORDERS, modules, install, modules, ORDERS, PLACE)
    assert [seen.is_error for seen in played.seen] == [False, True, True, False, False, False, False, False]
    assert "'orders-module'" in played.seen[1].text
    assert (played.seen[3].text, played.seen[5].text) == (
        "cakes-module: installed\norders-module: not installed",
        "cakes-module: installed\norders-module: installed",
    )
    assert added(played.changes, "orders") == 1
    odd = await play(tmp_path, perturbation, install, ("modules.install", {"module": "x"}))
    assert [seen.is_error for seen in odd.seen] == [False, True]


async def test_a_search_that_hides_the_answer_names_what_can_be_opened(tmp_path: Path) -> None:
    clean = await play(tmp_path, None, LIST)
    first = clean.contents[0]["cakes"][0]
    played = await play(tmp_path, {"use": "hidden_answer"}, LIST, get(first), ORDERS, PLACE)
    bare = [{"id": cake["id"], "name": cake["name"]} for cake in clean.contents[0]["cakes"]]
    assert played.contents[0] == {**clean.contents[0], "cakes": bare} and played.contents[1] == first
    assert played.bent == [True, False, False, False]
    kept = await play(tmp_path, {"use": "hidden_answer", "with": {"keep": ["pr*"]}}, LIST)
    assert kept.contents[0]["cakes"][0].keys() == {"id", "name", "price"}


def opening_tool(name: str, given: list[str], told: Any) -> ToolSpec:
    properties = {argument: {"type": "string"} for argument in given}
    return ToolSpec(name, name, {"type": "object", "properties": properties, "required": given}, told)


def object_of(*fields: str, **more: Any) -> Any:
    return {"type": "object", "properties": {**{field: {} for field in fields}, **more}}


def test_lists_leave_out_what_a_tool_tells_that_goes_on_telling_it_and_nothing_else() -> None:
    people = {"type": "array", "items": object_of("login", "team", "phone", "status")}
    ships = {"type": "array", "items": object_of("login", "phone", "tons", "status")}
    tools = (
        opening_tool("people.of_team", ["team"], object_of(people=people)),
        opening_tool("people.show", ["login"], object_of("login", "phone", "age", "status")),
        opening_tool("crew.ships", ["login"], object_of(ships=ships)),
        opening_tool("crew.wages", ["day"], object_of("login", "team", "tons")),
    )
    # The tons stay, since wages are asked for by the day; a status is another thing of a ship.
    assert hidden_in(tools) == {
        "people.of_team": {"people": frozenset({"phone", "status"})},
        "crew.ships": {"ships": frozenset({"phone"})},
    }


def test_of_two_lists_that_tell_the_same_one_stays_whole() -> None:
    people = {"type": "array", "items": object_of("login", "phone")}
    tools = tuple(opening_tool(name, ["login"], object_of(people=people)) for name in ("people.near", "people.alike"))
    assert hidden_in(tools) == {"people.near": {"people": frozenset({"phone"})}}


async def test_a_withheld_result_is_told_by_another_tool(tmp_path: Path) -> None:
    perturbation = {"use": "withheld_intermediate", "when": {"tools": "orders.place", "nth": 1}}
    played = await play(tmp_path, perturbation, PLACE, ORDERS, PLACE, TOO_MANY)
    clean = await play(tmp_path, None, PLACE, ORDERS)
    assert played.contents[0] == dict.fromkeys(clean.contents[0]) == played.contents[2]
    assert played.contents[1] == clean.contents[1] and added(played.changes, "orders") == 2
    assert played.bent == [True, False, True, False] and played.seen[3].text == "Only few left."


async def test_a_prose_result_is_withheld_whole() -> None:
    async def proceed(request: Request) -> Observation:
        return Observation("Order O1 was placed.", {"id": "O1", "lines": [1]})

    call = Call(
        request=Request(ToolSpec("t", "", {}), {}, 0, 0),
        rng=Stream(0),
        clock=Clock(start=0, per_step=0),
        memory={},
        world=None,
    )
    seen = await WithheldIntermediate().apply(call, proceed)
    assert "O1" not in seen.text and seen.content == {"id": None, "lines": []}


async def test_the_state_turns_risky_just_before_the_call(tmp_path: Path) -> None:
    sql = ["update cakes set stock = 0 where id = :cake_id"]
    perturbation = {"use": "risky_state", "with": {"sql": sql}, "when": {"tools": "orders.place"}}
    played = await play(tmp_path, perturbation, LIST, PLACE, ("orders.place", {"cake_id": "K002", "amount": 1}))
    assert [seen.is_error for seen in played.seen] == [False, True, False] and played.bent == [False, True, False]
    assert played.steps[0].observation.content == (await play(tmp_path, None, LIST)).contents[0]
    clean = played.steps[1].events[0].clean
    assert clean and not clean.is_error
    (sold_out, _) = played.changes["cakes"]
    assert sold_out.after and sold_out.after["stock"] == 0


async def test_the_first_call_meets_the_contrasting_state(tmp_path: Path) -> None:
    sql = ["update cakes set price = 1"]
    perturbation = {"use": "contrastive_state", "with": {"sql": sql}, "when": {"nth": 3}}
    played = await play(tmp_path, perturbation, LIST, LIST)
    assert {cake["price"] for content in played.contents for cake in content["cakes"]} == {1}
    assert played.changed == [["rows"], []]


@pytest.mark.parametrize("use", ["risky_state", "contrastive_state"])
async def test_sql_of_the_author_that_fails_is_no_fault_of_the_agent(use: str, tmp_path: Path) -> None:
    with pytest.raises(SimulatorFault, match=f"{use}: the SQL fails: .*constraint"):
        await play(tmp_path, {"use": use, "with": {"sql": ["update cakes set stock = -1"]}}, LIST)


async def test_signs_of_more_are_taken_away_and_other_numbers_stay() -> None:
    reply: dict[str, Any] = {
        "data": {"hits": [1, 2, 3, 4]},
        "totalCount": 9,
        "discount": 40,
        "has_more": True,
        "nextPage": "x",
    }

    async def proceed(request: Request) -> Observation:
        return Observation(json.dumps(reply), reply)

    call = Call(
        request=Request(ToolSpec("t", "", {}), {}, 0, 0),
        rng=Stream(0),
        clock=Clock(start=0, per_step=0),
        memory={},
        world=None,
    )
    seen = await PrematureFinishTrap(keep=2).apply(call, proceed)
    complete = {"data": {"hits": [1, 2]}, "totalCount": 2, "discount": 40, "has_more": False, "nextPage": None}
    assert seen.content == complete == json.loads(seen.text)
