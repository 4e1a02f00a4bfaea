"""Triggers and what they count, call by call, and what is armed at all."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from bakery import scenario
from perturbing import play

from simtrain import open_episode
from simtrain.contracts.perturbation import Ramp, When
from simtrain.contracts.request import Request
from simtrain.episodes.proxy import Proxy
from simtrain.episodes.triggers import Terms, Trigger
from simtrain.values.seeding import Root
from simtrain.values.types import Action, ToolSpec

LIST = ToolSpec("cakes.list", "", {})
GET = ToolSpec("cakes.get", "", {})
PLACE = ToolSpec("orders.place", "", {}, None, True)


def fired(
    when: When,
    tools: Sequence[ToolSpec],
    *,
    succeeded: Sequence[str] = (),
    turns: Sequence[int] | None = None,
    idle: Sequence[int] = (),
    trigger: Trigger | None = None,
) -> list[int]:
    """The calls, from 1, on which a trigger fires; on those that are `idle` the firing changes nothing."""
    trigger = trigger or Trigger(Terms(when), Root(1, "s", "e", "l"))
    found: list[int] = []
    for place, tool in enumerate(tools, 1):
        request = Request(tool, {}, place - 1, turns[place - 1] if turns else place - 1)
        matching = trigger.fires(request, set(succeeded), None)
        if matching is not None:
            trigger.settle(matching, place not in idle)
            found.append(place)
    return found


def test_chance_is_drawn_for_each_tool_by_its_own_count() -> None:
    """What is called in between moves no other tool's schedule: else two agents would meet different faults on the same call."""
    when = When(probability=0.4)
    alone = fired(when, [LIST] * 30)
    mixed = fired(when, [tool for _ in range(30) for tool in (GET, PLACE, LIST)])
    assert 5 < len(alone) < 20
    assert [place // 3 for place in mixed if place % 3 == 0] == alone
    assert [place // 3 + 1 for place in mixed if place % 3 == 1] == fired(when, [GET] * 30) != alone


def test_the_first_call_that_matches_is_the_first_whatever_its_tool() -> None:
    assert fired(When(nth=2), [LIST, GET, LIST]) == [2]
    assert fired(When(tools="cakes.*", nth=2), [LIST, PLACE, GET, LIST]) == [3]
    assert fired(When(every=2), [LIST, GET, PLACE, LIST]) == [2, 4]
    trigger = Trigger(Terms(When()), Root(1))
    assert [trigger.fires(Request(tool, {}, 0, 0), set(), None) for tool in (LIST, GET)] == [1, 2]


@pytest.mark.parametrize(
    ("when", "idle", "expected"),
    [
        (When(nth=2), [2, 3], [2, 3, 4]),
        (When(nth=[1, 3]), [1], [1, 2, 3]),
        (When(max_times=1), [1, 2], [1, 2, 3]),
        (When(max_times=2), [2], [1, 2, 3]),
        (When(every=4), [4, 5], [4, 5, 6, 8]),
    ],
)
def test_a_firing_that_changed_nothing_does_not_count(when: When, idle: list[int], expected: list[int]) -> None:
    assert fired(when, [LIST] * 8, idle=idle) == expected


def test_turns_are_counted_from_1_and_both_ends_belong() -> None:
    assert fired(When(turns=(2, 3)), [LIST] * 6, turns=[0, 1, 1, 2, 2, 3]) == [2, 3, 4, 5]
    assert fired(When(turns=(1, 1)), [LIST] * 2, turns=[0, 1]) == [1]


def test_after_waits_for_a_success_and_until_ends_with_one() -> None:
    assert fired(When(after="orders.*"), [LIST], succeeded=["cakes.get"]) == []
    assert fired(When(after="orders.*"), [LIST], succeeded=["cakes.get", "orders.place"]) == [1]
    assert fired(When(until="orders.*"), [LIST], succeeded=["cakes.get"]) == [1]
    assert fired(When(until="orders.*"), [LIST], succeeded=["cakes.get", "orders.place"]) == []
    assert fired(When(), [LIST], succeeded=["orders.place"]) == [1]


def test_a_burst_goes_on_for_so_many_calls_and_max_times_ends_it() -> None:
    assert fired(When(nth=2, burst=2), [LIST] * 6) == [2, 3]
    assert fired(When(nth=2, burst=4, max_times=2), [LIST] * 6) == [2, 3]
    assert fired(When(every=3, burst=2), [LIST] * 8) == [3, 4, 6, 7]


def test_all_that_is_named_must_hold() -> None:
    assert fired(When(nth=[1, 2], writes=True), [LIST, PLACE, PLACE, PLACE]) == [2, 3]
    assert fired(When(writes=False), [LIST, PLACE, GET]) == [1, 3]
    assert fired(When(nth=1, probability=0.0), [LIST] * 3) == []
    assert fired(When(nth=2, probability=1.0), [LIST] * 3) == [2]


def test_a_copy_counts_on_by_itself() -> None:
    trigger = Trigger(Terms(When(probability=0.5, max_times=9)), Root(3, "x"))
    fired(trigger.terms.when, [LIST] * 5, trigger=trigger)
    copy = trigger.fork()
    onward = fired(trigger.terms.when, [LIST, GET] * 6, trigger=copy)
    assert fired(trigger.terms.when, [LIST, GET] * 6, trigger=trigger) == onward, (
        "the copy has moved nothing of the first"
    )
    assert copy.fired == trigger.fired > 0


def test_a_ramp_follows_the_training() -> None:
    ramp = When(probability=Ramp(start=0.2, end=0.6))
    assert [Terms(ramp, progress=progress).chance for progress in (0, 0.5, 1)] == pytest.approx([0.2, 0.4, 0.6])
    assert Terms(When(), progress=0.5).chance is None and Terms(When(probability=0.3), progress=0.5).chance == 0.3


DROPPED = "{{use: dropped_tool, with: {{tools: [orders.place]}}, when: {{probability: {chance}}}}}"


@pytest.mark.parametrize(("chance", "there"), [("0.0", True), ("1.0", False)])
async def test_what_has_no_chance_to_fire_is_not_there_at_all(chance: str, there: bool, tmp_path: Path) -> None:
    more = f"perturbations:\n  - {DROPPED.format(chance=chance)}\n"
    environment = open_episode(scenario(tmp_path, more=more))
    assert isinstance(environment, Proxy)
    async with environment:
        assert ("orders.place" in {tool.name for tool in environment.tools}) is there
        assert environment.perturbed == (() if there else ("dropped_tool",))


@pytest.mark.parametrize(("seconds", "waited"), [(59, True), (61, False), (119, False)])
async def test_who_waits_for_a_minute_waits_no_longer(seconds: int, waited: bool, tmp_path: Path) -> None:
    late = {"use": "latency", "with": {"seconds": seconds, "jitter": 0}, "when": {"tools": "cakes.*"}}
    file = scenario(tmp_path, more=f"limits: {{call: 60}}\nperturbations: [{late!r}]\n")
    environment = open_episode(file)
    async with environment:
        found = await environment.step(Action("c", "cakes.list", {}))
    assert found.is_error is not waited
    assert waited or found.text == "The request timed out after 60 seconds."


async def test_what_fires_by_chance_fires_on_the_same_calls_whatever_is_called_between(tmp_path: Path) -> None:
    late = {"use": "latency", "when": {"tools": "*", "probability": 0.5}}
    one = await play(tmp_path, late, *[("cakes.list", {})] * 20)
    other = await play(
        tmp_path,
        late,
        *[call for _ in range(20) for call in (("cakes.list", {}), ("orders.list", {"cake_id": "K001"}))],
    )
    assert one.bent == other.bent[::2] and 3 < sum(one.bent) < 17
