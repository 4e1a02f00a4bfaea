"""The proxy: the one door, what it refuses, what it records; triggers and the first perturbations."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from bakery import scenario
from hypothesis import given
from hypothesis import strategies as st

from simtrain import load_scenario, open_episode, rollout
from simtrain.contracts.perturbation import When
from simtrain.contracts.request import Request
from simtrain.contracts.scenario import Scenario
from simtrain.contracts.trajectory import Trajectory, to_line
from simtrain.episodes.proxy import Proxy
from simtrain.episodes.triggers import Terms, Trigger
from simtrain.values.seeding import Root
from simtrain.values.types import Action, JsonObject, Observation, ToolSpec

FIRST = "K001"


def perturbed(folder: Path, *perturbations: str) -> Scenario:
    return scenario(folder, more="perturbations:\n" + "".join(f"  - {line}\n" for line in perturbations))


async def steps(built: Scenario, *calls: tuple[str, JsonObject]) -> tuple[Proxy, list[Observation]]:
    environment = open_episode(built)
    assert isinstance(environment, Proxy)
    async with environment:
        found = [
            await environment.step(Action(f"c{index}", tool, arguments))
            for index, (tool, arguments) in enumerate(calls)
        ]
        environment.finished()
        return environment, found


async def test_an_unknown_tool_and_bad_arguments_are_answered_as_a_server_would(tmp_path: Path) -> None:
    _, found = await steps(
        scenario(tmp_path),
        ("cakes.bake", {}),
        ("orders.place", {"cake_id": 3}),
        ("orders.place", {"cake_id": FIRST, "amount": 0, "note": "x"}),
    )
    assert [observation.is_error for observation in found] == [True, True, True]
    assert found[0].text == "Unknown tool: cakes.bake"
    assert "amount" in found[1].text and "cake_id" in found[1].text
    assert "minimum" in found[2].text and "note" in found[2].text


async def test_a_tool_outside_the_scenarios_selection_is_unknown(tmp_path: Path) -> None:
    built = scenario(tmp_path, more="tools: ['cakes.*', orders.place, orders.list]\n")
    environment, _ = await steps(built, ("cakes.list", {}))
    assert {tool.name for tool in environment.tools} == {"cakes.list", "cakes.get", "orders.place", "orders.list"}


@pytest.mark.parametrize(
    "arguments", [{"cake_id": 10**400}, {"cake_id": object()}, {"cake_id": "\ud800"}, {"a": {1: 2}}]
)
async def test_arguments_that_are_no_json_are_malformed_and_can_be_recorded(
    arguments: JsonObject, tmp_path: Path
) -> None:
    environment, found = await steps(scenario(tmp_path), ("orders.list", arguments))
    assert found[0].is_error and "the arguments are not JSON" in found[0].text
    assert environment.steps[0].action.malformed


async def test_an_integer_beyond_64_bits_is_the_nearest_double(tmp_path: Path) -> None:
    environment, found = await steps(scenario(tmp_path), ("orders.list", {"cake_id": [2**70, -(2**64), 2**64 - 1]}))
    assert environment.steps[0].action.arguments == {"cake_id": [2.0**70, -(2.0**64), 2**64 - 1]}
    assert found[0].is_error and "is not of type" in found[0].text


async def test_every_step_is_recorded_with_its_time_and_who_answered(tmp_path: Path) -> None:
    environment, _ = await steps(
        scenario(tmp_path), ("cakes.list", {}), ("orders.place", {"cake_id": FIRST, "amount": 999})
    )
    assert [step.clock for step in environment.steps] == ["2031-03-03T09:00:20Z", "2031-03-03T09:00:40Z"]
    first, second = (step.observation.provenance for step in environment.steps)
    assert first and first.source == "embedded" and second and second.rule == "sold_out"


async def test_latency_moves_virtual_time_and_leaves_the_reply_alone(tmp_path: Path) -> None:
    clean, plain = await steps(scenario(tmp_path), ("cakes.list", {}), ("cakes.list", {}))
    late, delayed = await steps(
        perturbed(tmp_path, "{use: latency, with: {seconds: 300, jitter: 0}}"), ("cakes.list", {}), ("cakes.list", {})
    )
    assert [observation.text for observation in plain] == [observation.text for observation in delayed]
    assert (clean.steps[1].clock, late.steps[1].clock) == ("2031-03-03T09:00:40Z", "2031-03-03T09:05:40Z")
    assert late.steps[0].events[0].clean == late.steps[0].events[0].perturbed
    assert late.steps[0].events[0].changed == ("clock",)


async def test_timeout_after_lands_the_effect_and_loses_the_reply(tmp_path: Path) -> None:
    built = perturbed(tmp_path, "{use: timeout_after, when: {tools: orders.place, nth: 1}}")
    environment, found = await steps(
        built, ("orders.place", {"cake_id": FIRST, "amount": 1}), ("orders.list", {"cake_id": FIRST})
    )
    assert found[0].is_error and "timed out" in found[0].text
    event = environment.steps[0].events[0]
    assert event.clean is not None and not event.clean.is_error and event.clean.content is not None
    assert event.clean.content["id"] in found[1].text


async def test_timeout_after_passes_a_refusal_on_since_there_is_no_effect_to_hide(tmp_path: Path) -> None:
    _, found = await steps(
        perturbed(tmp_path, "{use: timeout_after}"), ("orders.place", {"cake_id": FIRST, "amount": 999})
    )
    assert found[0].text == "Only few left."


@pytest.mark.parametrize(("severity", "landed"), [(1.0, {"cakes"}), (0.0, {"cakes", "orders"})])
async def test_partial_update_lands_the_first_statements_and_shows_what_would_have_been(
    severity: float, landed: set[str], tmp_path: Path
) -> None:
    built = perturbed(
        tmp_path, f"{{use: partial_update, with: {{severity: {severity}}}, when: {{writes: true, nth: 1}}}}"
    )
    environment = open_episode(built)
    async with environment:
        observation = await environment.step(Action("c", "orders.place", {"cake_id": FIRST, "amount": 1}))
        assert observation.is_error and set(environment.finished().changes) == landed
    event = environment.steps[0].events[0]
    assert event.clean is not None and not event.clean.is_error


async def test_a_perturbation_that_breaks_down_is_the_simulators_fault(tmp_path: Path) -> None:
    trajectory = await rollout(perturbed(tmp_path, "{use: latency, with: {seconds: 1.0e+300}}"), "oracle")
    assert (trajectory.stop.reason, trajectory.stop.blame, trajectory.reward) == ("failed", "simulator", None)


async def test_the_agent_never_sees_a_label(tmp_path: Path) -> None:
    built = perturbed(tmp_path, "{use: timeout_after, as: secret_label, when: {writes: true}}")
    trajectory = await rollout(built, "resilient")
    shown = [
        trajectory.system,
        trajectory.prompt,
        *(step.observation.text for step in trajectory.steps),
        *(tool.description for tool in trajectory.tools),
    ]
    assert any(step.events for step in trajectory.steps)
    assert not any("secret_label" in text or "timeout_after" in text for text in shown)


async def test_an_outer_perturbation_wraps_an_inner_one(tmp_path: Path) -> None:
    built = perturbed(
        tmp_path,
        "{use: latency, with: {seconds: 60, jitter: 0}}",
        "{use: timeout_after, with: {seconds: 5}, when: {writes: true}}",
    )
    environment, _ = await steps(built, ("orders.place", {"cake_id": FIRST, "amount": 1}))
    assert [event.label for event in environment.steps[0].events] == ["timeout_after", "latency"]


async def test_a_tool_that_a_perturbation_added_is_that_ones_to_answer(tmp_path: Path) -> None:
    built = perturbed(tmp_path, "{use: distractor_tools, with: {count: 4}}")
    true = {tool.name for tool in open_episode(scenario(tmp_path)).tools}
    new = [tool for tool in open_episode(built).tools if tool.name not in true]
    added = [tool.name for tool in new if not tool.input_schema.get("required")]
    _, found = await steps(built, *[(name, {}) for name in added], ("cakes.list", {}))
    assert len(new) == 4 and added
    sources = [observation.provenance.source for observation in found]
    assert sources == ["distractor_tools"] * len(added) + ["embedded"]


async def test_a_read_is_answered_by_whoever_is_named_for_it_and_recorded_as_a_step(tmp_path: Path) -> None:
    async def answer(request: Request) -> Observation:
        return Observation(f"read {request.arguments['uri']}")

    async with open_episode(perturbed(tmp_path, "{use: latency, when: {tools: resources/read}}")) as environment:
        assert isinstance(environment, Proxy)
        found = await environment.read(Action("r1", "resources/read", {"uri": "bakery://board"}), answer)
        assert found.text == "read bakery://board"
        assert [(step.action.tool, len(step.events)) for step in environment.steps] == [("resources/read", 1)]


async def test_a_perturbation_that_cannot_fire_changes_no_byte(tmp_path: Path) -> None:
    clean = await rollout(scenario(tmp_path), "oracle")
    armed = await rollout(perturbed(tmp_path, "{use: timeout_after, when: {tools: orders.place, nth: 99}}"), "oracle")
    assert unlabelled(clean) == unlabelled(armed)


def unlabelled(trajectory: Trajectory) -> bytes:
    return to_line(replace(trajectory, timing={}, scenario_digest="", perturbations=()))


async def test_two_agents_meet_the_same_schedule(tmp_path: Path) -> None:
    built = perturbed(tmp_path, "{use: latency, when: {tools: 'cakes.*', probability: 0.5}}")
    one, _ = await steps(built, *[("cakes.list", {})] * 20)
    other, _ = await steps(
        built, *[call for _ in range(20) for call in (("cakes.list", {}), ("orders.list", {"cake_id": FIRST}))]
    )
    fired = [bool(step.events) for step in one.steps]
    assert fired == [bool(step.events) for step in other.steps if step.action.tool == "cakes.list"]
    assert 3 < sum(fired) < 17


READ = ToolSpec("cakes.list", "", {})
WRITE = ToolSpec("orders.place", "", {}, None, True)


def firings(
    when: When,
    *,
    calls: int = 12,
    tool: ToolSpec = READ,
    succeeded: set[str] | None = None,
    arguments: JsonObject | None = None,
) -> list[int]:
    trigger = Trigger(Terms(when), Root(1, "s", "e", "l"))
    found = (
        trigger.fires(Request(tool, arguments or {}, index, index), succeeded or set(), None) for index in range(calls)
    )
    return [index for index, matching in enumerate(found, start=1) if matching is not None]


@pytest.mark.parametrize(
    ("when", "expected"),
    [
        (When(), list(range(1, 13))),
        (When(nth=3), [3]),
        (When(nth=[1, 4]), [1, 4]),
        (When(every=5), [5, 10]),
        (When(turns=(2, 3)), [2, 3]),
        (When(max_times=2), [1, 2]),
        (When(nth=4, burst=3), [4, 5, 6]),
        (When(tools="orders.*"), []),
        (When(tools=["orders.*", "cakes.*"], nth=2), [2]),
        (When(writes=True), []),
        (When(args={"name": "x"}), []),
        (When(after="orders.*"), []),
        (When(probability=0.0), []),
        (When(probability=1.0, max_times=1), [1]),
    ],
)
def test_each_trigger_fires_when_it_says(when: When, expected: list[int]) -> None:
    assert firings(when) == expected


def test_triggers_look_at_writes_arguments_and_what_succeeded_before() -> None:
    assert firings(When(writes=True), tool=WRITE, calls=1) == [1]
    assert firings(When(args={"name": "x"}), arguments={"name": "x", "more": 1}, calls=1) == [1]
    assert firings(When(after="orders.*"), succeeded={"orders.place"}, calls=1) == [1]


def tried(when: When, real: set[int], *, calls: int = 12, seed: int = 1) -> list[int]:
    """The matching calls on which a perturbation is tried that can change something on the `real` ones only."""
    trigger = Trigger(Terms(when), Root(seed, "s", "e", "l"))
    found: list[int] = []
    for index in range(1, calls + 1):
        matching = trigger.fires(Request(READ, {}, index, index), set(), None)
        if matching is not None:
            found.append(index)
            trigger.settle(matching, index in real)
    assert trigger.fired == len(real.intersection(found))
    return found


@pytest.mark.parametrize(
    ("when", "real", "expected"),
    [
        (When(nth=2), {5, 6}, [2, 3, 4, 5]),
        (When(nth=[1, 4]), {5, 7}, [1, 2, 3, 4, 5, 6, 7]),
        (When(nth=[1, 4]), {1, 4, 5}, [1, 4]),
        (When(nth=2), set[int](), list(range(2, 13))),
        (When(every=4), {5, 6, 12}, [4, 5, 8, 9, 10, 11, 12]),
        (When(every=4), set[int](), [4, 5, 6, 7, 8, 9, 10, 11, 12]),
        (When(nth=2, burst=3), {4, 6}, [2, 3, 4, 5, 6]),
        (When(max_times=2), {3, 6, 7}, [1, 2, 3, 4, 5, 6]),
        (When(nth=3, turns=(5, 7)), {5, 6}, [4, 5]),
    ],
)
def test_a_firing_counts_when_it_changed_something(when: When, real: set[int], expected: list[int]) -> None:
    assert tried(when, real) == expected


def test_chance_is_drawn_once_for_a_call_that_nth_names_and_anew_for_every_other_call() -> None:
    nth = [bool(tried(When(nth=2, probability=0.4), {9}, seed=seed)) for seed in range(300)]
    assert nth == [bool(tried(When(nth=2, probability=0.4), {2}, seed=seed)) for seed in range(300)]
    assert 90 < sum(nth) < 150
    shares = [len(tried(When(probability=0.4), set(), seed=seed)) for seed in range(300)]
    assert 4.4 < sum(shares) / 300 < 5.2 and shares == [
        len(tried(When(probability=0.4), {1, 2, 3}, seed=seed)) for seed in range(300)
    ]


def test_calls_under_way_at_once_do_not_share_a_firing_and_a_failed_one_is_given_back() -> None:
    trigger = Trigger(Terms(When(nth=1)), Root(1, "s"))
    found = [trigger.fires(Request(READ, {}, index, 0), set(), None) for index in range(2)]
    assert found == [1, None]
    trigger.settle(1, False)
    trigger.settle(1, False)
    assert trigger.fires(Request(READ, {}, 2, 0), set(), None) == 3 and trigger.fired == 1


def test_what_lasts_and_shows_later_counts_from_then_on() -> None:
    trigger = Trigger(Terms(When(nth=1, max_times=1)), Root(1, "s"))
    assert trigger.fires(Request(READ, {}, 0, 0), set(), None) == 1
    trigger.settle(1, False)
    assert (trigger.fired, trigger.tried) == (0, True)
    assert [trigger.came_to_light(), trigger.came_to_light(), trigger.fired] == [True, False, 1]
    assert trigger.fires(Request(READ, {}, 1, 0), set(), None) is None


async def test_a_state_trigger_asks_the_world(tmp_path: Path) -> None:
    built = perturbed(
        tmp_path,
        "{use: timeout_after, when: {state: \"select count(*) > 0 from orders where placed_at > '2031-03-03T09'\"}}",
    )
    environment, _ = await steps(
        built, ("cakes.list", {}), ("orders.place", {"cake_id": FIRST, "amount": 1}), ("cakes.list", {})
    )
    assert [len(step.events) for step in environment.steps] == [0, 0, 1]


@given(st.floats(0, 1), st.integers(0, 2**60))
def test_a_higher_probability_only_adds_firings(probability: float, seed: int) -> None:
    def fired(share: float) -> set[int]:
        trigger = Trigger(Terms(When(probability=share)), Root(seed, "s"))
        return {index for index in range(50) if trigger.fires(Request(READ, {}, index, 0), set(), None)}

    assert fired(probability) <= fired(min(1.0, probability + 0.2))


async def test_a_shipped_pack_can_be_named_in_a_scenario(tmp_path: Path) -> None:
    built = scenario(tmp_path, more="perturbations: [uncertain_writes]\n")
    assert len(built.perturbations) > 1
    assert load_scenario(tmp_path / "birthday.yaml").digest == built.digest
