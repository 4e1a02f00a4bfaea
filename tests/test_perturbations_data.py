"""Perturbations of data: what they do to replies and to the state, when they do it, and that nothing else changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from perturbing import Asked, play

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
    assert played.bent == [True, False, True, True, False]
    assert [event.matching for step in played.steps for event in step.events] == [1, 0, 0]


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


async def test_a_read_of_what_has_not_changed_is_never_stale(tmp_path: Path) -> None:
    played = await play(tmp_path, {"use": "stale_read"}, LIST, LIST, ("orders.list", {"cake_id": "K002"}))
    assert played.bent == [False, False, False]
