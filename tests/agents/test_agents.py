"""The policies that walk plans: what a plan's steps mean, how the careless one fails, how the resilient one gets through."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from bakery import scenario, write_files

from simtrain import load_scenario, rollout
from simtrain.agents.plan import NEXT_CURSOR, Walk
from simtrain.agents.planned import Planned
from simtrain.agents.recovery import Trouble, diagnose, mend, says_done
from simtrain.agents.select import build_agent
from simtrain.contracts.agent import Agent
from simtrain.contracts.plan import Plan
from simtrain.contracts.trajectory import Trajectory
from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject, Message, Observation

TIMEOUT = "perturbations: [{use: timeout_after, when: {tools: orders.place, nth: 1}}]\n"


UNCHECKED = build_agent("resilient", {"checks": 0})


def play(folder: Path, agent: str | Agent, *, more: str = "", **knobs: Any) -> Trajectory:
    return asyncio.run(rollout(scenario(folder, more=more), agent, **knobs))


def called(played: Trajectory) -> list[str]:
    return [step.action.tool for step in played.steps]


def walk(
    plan: JsonObject, *replies: JsonObject, careless: bool = False, **stated: Any
) -> tuple[list[Planned], Message]:
    """The calls of a plan, each answered with the next reply (`{"error": ...}` for an error), and its last message."""
    walking = Walk(Plan.model_validate(plan), stated, careless=careless).run()
    given, made = iter(replies), list[Planned]()
    try:
        planned = next(walking)
        while True:
            made.append(planned)
            planned = walking.send(observation(next(given)))
    except StopIteration as end:
        return made, end.value


def observation(reply: JsonObject) -> Observation:
    if set(reply) == {"error"}:
        return Observation(reply["error"], is_error=True)
    return Observation(json.dumps(reply), json=True)


def call(tool: str, **more: Any) -> JsonObject:
    return {"call": tool, **more}


def test_a_reply_is_bound_and_used_with_its_type() -> None:
    steps = [call("a", **{"as": "first"}), call("b", **{"with": {"n": "{{ first.n }}", "text": "n={{ first.n }}"}})]
    made, message = walk({"steps": steps, "answer": "{{ first.n }}"}, {"n": 3}, {})
    assert made[1].arguments == {"n": 3, "text": "n=3"}
    assert (message.answer, message.text) == ("3", "ANSWER: 3")


def test_arguments_that_are_null_are_left_out() -> None:
    made, _ = walk({"steps": [call("a", **{"with": {"x": "{{ none }}", "y": 1}})], "answer": "1"}, {})
    assert made[0].arguments == {"y": 1}


def test_for_walks_its_steps_once_for_every_item_and_into_collects() -> None:
    plan = {
        "steps": [
            {"for": "item", "in": "[1, 2, 3]", "do": [call("a", **{"with": {"n": "{{ item }}"}, "into": "got"})]},
        ],
        "answer": "{{ got | map(attribute='n') | sum }}",
    }
    made, message = walk(plan, {"n": 10}, {"n": 20}, {"n": 30})
    assert [planned.arguments["n"] for planned in made] == [1, 2, 3]
    assert message.answer == "60"


def test_a_list_that_nothing_was_put_into_is_empty() -> None:
    _, message = walk({"steps": [call("a", **{"if": "false", "into": "got"})], "answer": "{{ got | length }}"})
    assert message.answer == "0"


def test_if_passes_over_every_kind_of_step() -> None:
    plan = {
        "steps": [
            {"set": {"n": "{{ 1 }}"}},
            {"set": {"n": "{{ 2 }}"}, "if": "n == 5"},
            call("a", **{"if": "n == 5"}),
            {"for": "i", "in": "[1]", "do": [call("b")], "if": "n == 5"},
            {"abstain": "no", "if": "n == 5"},
        ],
        "answer": "{{ n }}",
    }
    made, message = walk(plan)
    assert (made, message.answer) == ([], "1")


def test_pages_are_followed_and_joined() -> None:
    plan = {
        "steps": [call("a", **{"with": {"q": "x"}, "as": "all", "pages": "rows"})],
        "answer": "{{ all.rows | join(',') }} {{ all.next_cursor is none }}",
    }
    made, message = walk(
        plan, {"rows": [1], NEXT_CURSOR: "p2"}, {"rows": [2], NEXT_CURSOR: "p3"}, {"rows": [3], NEXT_CURSOR: None}
    )
    assert [planned.arguments for planned in made] == [
        {"q": "x"},
        {"q": "x", "cursor": "p2"},
        {"q": "x", "cursor": "p3"},
    ]
    assert message.answer == "1,2,3 True"


def test_an_error_reply_can_be_asked_for() -> None:
    plan = {
        "steps": [call("a", **{"as": "x"}), {"abstain": "{{ x.error }}", "if": "x.error is defined"}],
        "answer": "1",
    }
    _, message = walk(plan, {"error": "closed"})
    assert (message.abstain, message.answer, message.text) == (True, "closed", "CANNOT: closed")


def test_abstain_inside_a_loop_ends_the_whole_walk() -> None:
    plan = {"steps": [{"for": "i", "in": "[1, 2]", "do": [call("a"), {"abstain": "at {{ i }}"}]}], "answer": "1"}
    made, message = walk(plan, {})
    assert (len(made), message.answer) == (1, "at 1")


def test_a_plan_may_end_by_abstaining() -> None:
    _, message = walk({"steps": [], "abstain": "there is no {{ what }}"}, what="cake")
    assert (message.abstain, message.answer) == (True, "there is no cake")


def test_an_expression_without_a_value_is_refused() -> None:
    with pytest.raises(InputError, match="nothing"):
        walk({"steps": [], "answer": "{{ nothing.here }}"})


def test_a_part_of_an_answer_without_a_value_is_refused() -> None:
    plan = {"steps": [call("a", **{"as": "x"})], "answer": "{{ x.rows | map(attribute='n') | list }}"}
    with pytest.raises(InputError, match="value"):
        walk(plan, {"rows": [{"n": 1}, {}]})


def test_a_page_that_is_an_error_makes_the_whole_reply_one() -> None:
    plan = {"steps": [call("a", **{"as": "x", "pages": "rows"})], "answer": "{{ x.error }}"}
    _, message = walk(plan, {"rows": [1], NEXT_CURSOR: "p2"}, {"error": "expired"})
    assert message.answer == "expired"


def test_the_careless_walk_reads_first_pages_passes_over_what_fails_and_never_abstains() -> None:
    plan = {
        "steps": [
            call("a", **{"as": "all", "pages": "rows"}),
            call("b", **{"with": {"id": "{{ missing.id }}"}}),
            call("c"),
            {"abstain": "no"},
        ],
        "answer": "{{ all.rows | length }}",
    }
    made, message = walk(plan, {"rows": [1], NEXT_CURSOR: "p2"}, {"error": "failed"}, careless=True)
    assert [planned.tool for planned in made] == ["a", "c"]
    assert (message.abstain, message.answer) == (False, "Done.")


def test_the_oracle_earns_the_whole_reward_one_call_a_turn(tmp_path: Path) -> None:
    played = play(tmp_path, "oracle")
    assert (played.reward, called(played)) == (1.0, ["cakes.get", "orders.place", "orders.list"])
    assert [len(turn.steps) for turn in played.turns] == [1, 1, 1, 0]


@pytest.mark.parametrize("agent", ["nop", "claims_done", "abstain", "wrong"])
def test_who_does_not_do_the_task_does_not_earn_its_reward(agent: str, tmp_path: Path) -> None:
    played = play(tmp_path, agent)
    assert played.reward is not None and played.reward < 1


def test_the_agents_that_do_nothing_say_different_things(tmp_path: Path) -> None:
    said = {agent: play(tmp_path, agent) for agent in ("nop", "claims_done", "abstain")}
    assert {agent: played.stop.reason for agent, played in said.items()} == {
        "nop": "answered",
        "claims_done": "answered",
        "abstain": "abstained",
    }
    assert said["nop"].answer == "" and "Done" in str(said["claims_done"].answer)
    assert all(played.steps == [] for played in said.values())


def test_the_naive_agent_takes_a_lost_reply_for_a_success(tmp_path: Path) -> None:
    played = play(
        tmp_path, "naive", more="perturbations: [{use: partial_update, when: {tools: orders.place, nth: 1}}]\n"
    )
    assert called(played) == ["cakes.get", "orders.place", "orders.list"]
    assert played.stop.reason == "answered" and played.reward is not None and played.reward < 1


def test_without_trouble_a_resilient_agent_that_checks_nothing_does_what_the_oracle_does(tmp_path: Path) -> None:
    oracle, resilient = play(tmp_path, "oracle"), play(tmp_path, UNCHECKED)
    assert [step.action for step in resilient.steps] == [step.action for step in oracle.steps]
    assert oracle.answer is not None and oracle.answer in str(resilient.answer) and resilient.reward == oracle.reward


@pytest.mark.parametrize("checks", [1, 3, 8])
def test_caution_costs_no_more_calls_than_it_may_make(checks: int, tmp_path: Path) -> None:
    plain = play(tmp_path, "oracle")
    careful = play(tmp_path, build_agent("resilient", {"checks": checks, "doubt": "always"}))
    assert len(plain.steps) < len(careful.steps) <= len(plain.steps) + 2 * checks
    assert str(plain.answer) in str(careful.answer) and careful.reward == 1.0


def test_a_write_whose_reply_was_lost_is_verified_and_not_repeated(tmp_path: Path) -> None:
    played = play(tmp_path, UNCHECKED, more=TIMEOUT)
    assert called(played).count("orders.place") == 1
    assert called(played)[2] in ("cakes.get", "orders.list")
    assert played.reward == 1.0


def test_the_values_of_a_lost_reply_are_read_from_what_the_write_left(tmp_path: Path) -> None:
    file = write_files(tmp_path, more=TIMEOUT)
    file.write_text(file.read_text().replace("{{ all.orders[-1].id }}", "{{ order.id }}"))

    played = asyncio.run(rollout(load_scenario(file), "resilient"))
    placed = played.changes["orders"][0].after
    assert placed is not None and str(placed["id"]) in str(played.answer)
    assert called(played).count("orders.place") == 1


SCRIPT = """\
name: told
world: bakery.yaml
prompt: 'Order two of "Plum cake" and tell me the id of the order.'
reference:
  steps:
    - {{call: cakes.get, with: {{name: Plum cake}}, as: found}}
    - {{call: orders.place, with: {{cake_id: "{{{{ found.id }}}}", amount: {few}}}, as: order}}
  answer: "{{{{ order.id }}}}"
world_models:
  - {{tools: "*", use: scripted, with: {{answers: {answers}}}}}
rubric: [{{use: answer, with: {{sql: "select 'O1'"}}}}]
{more}"""
CAKE = {"tool": "cakes.get", "structured": {"id": "K1", "name": "Plum cake", "price": 12.0, "stock": 5}}
PLACED = {"tool": "orders.place", "structured": {"id": "O1", "amount": 2, "placed_at": "2031-03-03T09:00:40Z"}}


def error(tool: str, text: str) -> JsonObject:
    return {"tool": tool, "text": text, "is_error": True}


def told(folder: Path, *answers: JsonObject, more: str = "", few: str = "2") -> Trajectory:
    """The resilient agent, without checks of its own, before a world with fixed answers."""

    scenario(folder)
    file = folder / "told.yaml"
    file.write_text(SCRIPT.format(answers=json.dumps(answers), more=more, few=few))
    return asyncio.run(rollout(load_scenario(file), UNCHECKED))


@pytest.mark.parametrize(
    "text",
    [
        "429 Too Many Requests. Retry after 20 seconds.",
        "Service unavailable, please try again later.",
        "HTTP 503",
        "The server is busy.",
        "Internal server error: the request was not completed.",
    ],
)
def test_what_may_pass_is_tried_again(text: str, tmp_path: Path) -> None:
    played = told(tmp_path, error("cakes.get", text), error("cakes.get", text), CAKE, PLACED)
    assert called(played) == ["cakes.get"] * 3 + ["orders.place"]
    assert played.reward == 1.0


def test_a_read_that_timed_out_is_simply_repeated(tmp_path: Path) -> None:
    played = told(tmp_path, error("cakes.get", "Request timed out after 30 seconds."), CAKE, PLACED)
    assert called(played) == ["cakes.get", "cakes.get", "orders.place"]


def test_what_does_not_pass_ends_in_an_honest_refusal(tmp_path: Path) -> None:
    text = "503 Service unavailable"
    played = told(tmp_path, *[error("cakes.get", text)] * 9)
    assert (played.stop.reason, called(played)) == ("abstained", ["cakes.get"] * 5)
    assert text in str(played.answer) and played.answer == played.turns[-1].text


def test_what_the_service_refuses_is_not_tried_again(tmp_path: Path) -> None:
    played = told(tmp_path, CAKE, error("orders.place", "Only few left, 502 were sold; the room is busy."))
    assert called(played) == ["cakes.get", "orders.place"]
    assert played.stop.reason == "abstained"


def test_a_write_that_left_no_trace_is_repeated(tmp_path: Path) -> None:
    lost = error("orders.place", "Request timed out after 30 seconds.")
    nothing = {"tool": "orders.list", "structured": {"orders": [], "next_cursor": None}}
    played = told(tmp_path, CAKE, lost, CAKE, nothing, PLACED)
    assert called(played) == ["cakes.get", "orders.place", "cakes.get", "orders.list", "orders.place"]
    assert played.reward == 1.0


def test_a_repetition_that_is_refused_as_done_counts_as_landed(tmp_path: Path) -> None:
    lost = error("orders.place", "Connection reset by peer")
    nothing = {"tool": "orders.list", "structured": {"orders": [], "next_cursor": None}}
    there = {
        "tool": "orders.list",
        "structured": {
            "orders": [{"id": "O1", "cake_id": "K1", "amount": 2, "placed_at": "2031-03-03T09:00:40Z"}],
            "next_cursor": None,
        },
    }
    done = error("orders.place", "There is an order for K1 already.")
    played = told(tmp_path, CAKE, lost, CAKE, nothing, done, CAKE, there)
    assert (called(played).count("orders.place"), played.reward) == (2, 1.0)


def test_arguments_are_mended_by_the_schema(tmp_path: Path) -> None:
    played = told(tmp_path, {**CAKE, "structured": {"id": "K1", "few": "2"}}, PLACED, few="'{{ found.few ~ \"\" }}'")
    assert [step.action.arguments.get("amount") for step in played.steps] == [None, 2]
    assert played.reward == 1.0


def test_an_equivalent_tool_is_switched_to_when_a_tool_stays_away(tmp_path: Path) -> None:
    away = [error("cakes.get", "503 Service unavailable")] * 5
    stand_in = {"tool": "cakes.list", "structured": {"id": "K1", "cakes": [], "next_cursor": None}}
    played = told(tmp_path, *away, stand_in, PLACED, more="equivalents: {cakes.get: [cakes.list]}\n")
    assert called(played) == ["cakes.get"] * 5 + ["cakes.list", "orders.place"]
    assert played.steps[5].action.arguments == {}
    assert played.reward == 1.0


def test_an_equivalent_tool_is_not_asked_after_a_plain_refusal(tmp_path: Path) -> None:
    played = told(tmp_path, error("cakes.get", "No such cake."), more="equivalents: {cakes.get: [cakes.list]}\n")
    assert called(played) == ["cakes.get"]


@pytest.mark.parametrize(
    ("text", "trouble"),
    [
        ("Invalid arguments for tool x: 'id' is a required property", Trouble.arguments),
        ("Request timed out after 30 seconds.", Trouble.ambiguous),
        ("The request timed out, please try again.", Trouble.ambiguous),
        ("504 Gateway Timeout", Trouble.ambiguous),
        ("MCP error -32001: Request timeout", Trouble.ambiguous),
        ("Internal server error", Trouble.ambiguous),
        ("Internal server error: the request was not completed.", Trouble.transient),
        ("Rate limit reached, retry after 5 s", Trouble.transient),
        ("Error 503: overloaded", Trouble.transient),
        ("Only 502 of PY001 is left to pay back.", Trouble.refused),
        ("The payment gateway declined the card.", Trouble.refused),
        ("Mara Vestergaard is busy at that time.", Trouble.refused),
        ("404 no issue IS-1", Trouble.refused),
    ],
)
def test_an_error_text_is_read_for_what_it_means(text: str, trouble: Trouble) -> None:
    assert diagnose(text) is trouble


def test_a_refusal_that_speaks_of_the_past_says_that_it_is_done() -> None:
    assert says_done("CH1 is already refunded") and says_done("Traveller PX1 has been compensated")
    assert not says_done("No cake K9.")


@pytest.mark.parametrize(
    ("arguments", "mended"),
    [
        ({"customerId": "C1", "amount": 2}, {"customer_id": "C1", "amount": 2}),
        ({"customer_id": "C1", "amount": "2"}, {"customer_id": "C1", "amount": 2}),
        ({"customer_id": 7, "amount": 2}, {"customer_id": "7", "amount": 2}),
        ({"customer_id": "C1", "amount": 2, "colour": "red"}, {"customer_id": "C1", "amount": 2}),
        (
            {"customer_id": "C1", "amount": 2, "reason": "Duplicates"},
            {"customer_id": "C1", "amount": 2, "reason": "duplicate"},
        ),
        ({"customer_id": "C1", "amount": 2, "tags": "new"}, {"customer_id": "C1", "amount": 2, "tags": ["new"]}),
        ({"customer_id": "C1", "amount": 2, "express": "True"}, {"customer_id": "C1", "amount": 2, "express": True}),
        ({"customer_id": "C1", "amount": "two"}, {"customer_id": "C1", "amount": "two"}),
    ],
    ids=str,
)
def test_arguments_are_mended_as_far_as_the_schema_tells_how(arguments: JsonObject, mended: JsonObject) -> None:
    schema: JsonObject = {
        "type": "object",
        "required": ["customer_id", "amount"],
        "properties": {
            "customer_id": {"type": "string"},
            "amount": {"type": "integer"},
            "reason": {"enum": ["duplicate", "fraud"]},
            "tags": {"type": "array"},
            "express": {"type": "boolean"},
        },
    }
    assert mend(arguments, schema) == mended


def test_a_scenario_without_a_plan_is_refused_by_the_agents_that_walk_one(tmp_path: Path) -> None:
    file = tmp_path / "bare.yaml"
    scenario(tmp_path)
    file.write_text(
        "name: bare\nworld: bakery.yaml\nprompt: Hello.\nrubric: [{use: answer, with: {sql: \"select 'x'\"}}]\n"
    )

    for agent in ("oracle", "naive", "resilient"):
        with pytest.raises(InputError, match="no `reference` plan"):
            asyncio.run(rollout(load_scenario(file), agent))


def test_a_plan_reads_passages_from_text_alone() -> None:
    plan = {"steps": [{"read": "total", "after": "is ", "as": "found"}], "answer": "{found}"}
    with pytest.raises(InputError, match="'total' is not text, so nothing can be read from it"):
        next(Walk(Plan.model_validate(plan), {"total": 3}).run())
