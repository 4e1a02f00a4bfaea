"""Exporters: every row is what its format asks for, and nothing of a trajectory is bent on the way."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace

import atif
import pytest
from openai.types.chat import ChatCompletionMessageParam, ChatCompletionToolParam
from pydantic import TypeAdapter
from samples import cut_short, refund, refused, silent

from simtrain.contracts.exporter import Exporter
from simtrain.contracts.registry import known, resolve
from simtrain.contracts.trajectory import Trajectory
from simtrain.runs.export import build_exporter
from simtrain.runs.exporters.atif import Atif, from_atif
from simtrain.runs.exporters.openai import OpenAI
from simtrain.runs.exporters.sharegpt import ShareGPT
from simtrain.runs.exporters.steps import Steps
from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject

WIRE = re.compile(r"[A-Za-z0-9_-]{1,64}")
SAMPLES = [refund, refused, cut_short, silent]


def only(exporter: Exporter, trajectory: Trajectory) -> JsonObject:
    rows = list(exporter.rows(trajectory))
    assert len(rows) == 1
    return json.loads(json.dumps(rows[0]))


def without_events(trajectory: Trajectory) -> Trajectory:
    turns = [replace(turn, steps=[replace(step, events=()) for step in turn.steps]) for turn in trajectory.turns]
    return replace(trajectory, turns=turns)


@pytest.mark.parametrize("name", known("exporters"))
@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.__name__)
def test_every_exporter_gives_json_without_wall_clock_facts_or_labels(
    name: str, sample: Callable[[], Trajectory]
) -> None:
    text = json.dumps(list(build_exporter(name, {}).rows(sample())))
    assert "2026-01-01" not in text
    assert "rate_limit" not in text


@pytest.mark.parametrize("name", known("exporters"))
def test_every_exporter_gives_the_same_rows_twice(name: str) -> None:
    exporter = resolve("exporters", name)()
    assert list(exporter.rows(refund())) == list(exporter.rows(refund()))


def test_openai_rows_hold_the_conversation_in_order() -> None:
    row = only(OpenAI(), refund())
    roles = [message["role"] for message in row["messages"]]
    assert roles == [
        "system",
        "user",
        "assistant",
        "tool",
        "tool",
        "assistant",
        "tool",
        "assistant",
        "tool",
        "assistant",
    ]
    assert row["messages"][0]["content"] == "You are a support agent."
    assert row["messages"][1]["content"].startswith("Zoë was charged twice.")
    assert row["messages"][-1] == {"role": "assistant", "content": "Refunded 12.50."}


@pytest.mark.parametrize("sample", [refund, refused, cut_short], ids=lambda sample: sample.__name__)
def test_openai_messages_and_tools_pass_the_types_of_the_openai_package(sample: Callable[[], Trajectory]) -> None:
    row = only(OpenAI(), sample())
    TypeAdapter(list[ChatCompletionMessageParam]).validate_python(row["messages"])
    TypeAdapter(list[ChatCompletionToolParam]).validate_python(row.get("tools", []))


def test_openai_arguments_are_json_text_and_malformed_ones_stand_as_written() -> None:
    row = only(OpenAI(), refund())
    calls = [call for message in row["messages"] for call in message.get("tool_calls", [])]
    assert json.loads(calls[0]["function"]["arguments"]) == {"customer": "Zoë"}
    assert calls[3]["function"]["arguments"] == '{"charge_id": '


def test_every_openai_reply_answers_a_call_of_the_turn_before_it() -> None:
    asked: list[str] = []
    for message in only(OpenAI(), refund())["messages"]:
        if message["role"] == "assistant":
            assert not asked, "calls without replies"
            asked = [call["id"] for call in message.get("tool_calls", [])]
        if message["role"] == "tool":
            assert message["tool_call_id"] == asked.pop(0)


def test_openai_tool_names_are_safe_for_the_wire_and_are_the_ones_that_are_called() -> None:
    row = only(OpenAI(), refund())
    offered = [tool["function"]["name"] for tool in row["tools"]]
    called = {call["function"]["name"] for message in row["messages"] for call in message.get("tool_calls", [])}
    assert len(set(offered)) == 2
    assert called <= set(offered)
    assert all(WIRE.fullmatch(name) for name in offered)
    assert row["tools"][0]["function"]["parameters"]["required"] == ["customer"]


def test_a_call_of_a_tool_that_was_not_offered_is_exported_under_a_safe_name() -> None:
    trajectory = replace(refund(), tools=refund().tools[:1])
    row = only(OpenAI(), trajectory)
    names = [call["function"]["name"] for message in row["messages"] for call in message.get("tool_calls", [])]
    assert len(row["tools"]) == 1
    assert len(set(names)) == 2
    assert all(WIRE.fullmatch(name) for name in names)


def test_openai_parallel_calls_are_told_from_the_turns_unless_set() -> None:
    single = replace(refund(), turns=refund().turns[1:])
    assert only(OpenAI(), refund())["parallel_tool_calls"] is True
    assert only(OpenAI(), single)["parallel_tool_calls"] is False
    assert only(OpenAI(parallel_tool_calls=True), single)["parallel_tool_calls"] is True


def test_an_openai_row_of_an_episode_that_was_cut_short_ends_with_the_agent() -> None:
    messages = only(OpenAI(), cut_short())["messages"]
    assert messages[-1]["tool_calls"][0]["id"] == "call_2"
    assert [message["tool_call_id"] for message in messages if message["role"] == "tool"] == ["call_0", "call_1"]


def test_openai_rows_without_tools_name_none() -> None:
    row = only(OpenAI(), refused())
    assert set(row) == {"messages"}
    assert [message["role"] for message in row["messages"]] == ["user", "assistant"]


@pytest.mark.parametrize(
    ("weight", "expected"),
    [("none", [None, None, None, None]), ("answer", [0, 0, 0, 1]), ("succeeded", [0, 1, 0, 1])],
)
def test_openai_weights_say_which_messages_are_learnt(weight: str, expected: list[int | None]) -> None:
    messages = only(build_exporter("openai", {"weight": weight}), refund())["messages"]
    assert [message.get("weight") for message in messages if message["role"] == "assistant"] == expected


def test_thinking_is_dropped_unless_it_is_asked_for() -> None:
    assert "I need the orders first." not in json.dumps([only(OpenAI(), refund()), only(ShareGPT(), refund())])
    kept = only(OpenAI(reasoning="keep"), refund())["messages"]
    assert [message.get("reasoning_content") for message in kept if message["role"] == "assistant"] == [
        "I need the orders first.",
        None,
        None,
        "Done.",
    ]
    assert (
        only(ShareGPT(reasoning="keep"), refund())["conversations"][-1]["value"]
        == "<think>\nDone.\n</think>\n\nRefunded 12.50."
    )


@pytest.mark.parametrize("sample", [refund, refused, cut_short], ids=lambda sample: sample.__name__)
def test_sharegpt_sides_alternate_and_end_with_the_agent(sample: Callable[[], Trajectory]) -> None:
    conversation = only(ShareGPT(), sample())["conversations"]
    assert len(conversation) % 2 == 0
    assert all(message["from"] in ("human", "observation") for message in conversation[::2])
    assert all(message["from"] in ("gpt", "function_call") for message in conversation[1::2])


def test_sharegpt_calls_and_tools_are_json_text() -> None:
    row = only(ShareGPT(), refund())
    calls = [json.loads(message["value"]) for message in row["conversations"] if message["from"] == "function_call"]
    tools = json.loads(row["tools"])
    assert [call["arguments"] for call in calls[0]] == [{"customer": "Zoë"}, {"charge_id": "C7"}]
    assert calls[1] == {"name": tools[1]["name"], "arguments": {"charge_id": "C7"}}
    assert row["system"] == "You are a support agent."


def test_an_agent_that_said_nothing_gives_no_chat_rows() -> None:
    assert list(OpenAI().rows(silent())) == []
    assert list(ShareGPT().rows(silent())) == []


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.__name__)
def test_atif_rows_are_valid_documents_and_come_back_whole(sample: Callable[[], Trajectory]) -> None:
    trajectory: Trajectory = sample()
    document = atif.Trajectory.model_validate(only(Atif(labels=True), trajectory))
    assert from_atif(document.to_json_dict()) == replace(trajectory, timing={})


def test_atif_leaves_out_what_perturbations_did_unless_asked() -> None:
    document = atif.Trajectory.model_validate(only(Atif(), refund()))
    back = from_atif(document.to_json_dict(exclude_none=False))
    assert back == without_events(replace(refund(), timing={}))
    assert back.key == refund().key


def test_atif_steps_carry_calls_replies_thinking_and_usage() -> None:
    document = atif.Trajectory.model_validate(only(Atif(), refund()))
    assert [step.source for step in document.steps] == ["system", "user", "agent", "agent", "agent", "agent"]
    first = document.steps[2]
    assert first.reasoning_content == "I need the orders first."
    assert first.metrics is not None and first.metrics.prompt_tokens == 900 and first.metrics.cost_usd == 0.002
    assert first.tool_calls is not None and first.tool_calls[0].arguments == {"customer": "Zoë"}
    assert first.observation is not None and first.observation.results[1].content == "429 Too Many Requests"
    assert document.final_metrics is not None and document.final_metrics.total_completion_tokens == 52
    assert document.agent.model_name == "m-1"
    assert document.agent.tool_definitions is not None and len(document.agent.tool_definitions) == 2
    assert all(step.timestamp is None for step in document.steps)


@pytest.mark.parametrize("row", [{}, {"extra": None}, {"extra": {"simtrain": {"tool_names": {}}}, "steps": []}])
def test_an_atif_document_from_elsewhere_is_refused_in_one_line(row: JsonObject) -> None:
    with pytest.raises(InputError, match="not an ATIF document written by simtrain"):
        from_atif(row)


def test_steps_are_one_row_each_with_the_key_of_their_episode() -> None:
    rows = list(Steps().rows(refund()))
    assert [(row["turn"], row["index"]) for row in rows] == [(0, 0), (0, 1), (1, 2), (2, 3)]
    assert {
        (row["scenario"], row["scenario_digest"], row["episode"], row["seed"], row["attempt"], row["reward"])
        for row in rows
    } == {("helpdesk/refund", "d1", "case-3", 7, 0, 1.0)}
    assert rows[0]["tool"] == "orders.search"
    assert rows[0]["arguments"] == {"customer": "Zoë"}
    assert rows[3]["malformed"] == '{"charge_id": '
    assert "events" not in rows[1]


def test_steps_name_what_fired_and_write_arguments_as_text_when_asked() -> None:
    rows = list(Steps(labels=True, arguments="text").rows(refund()))
    assert [row["events"] for row in rows] == [[], [{"label": "busy", "use": "rate_limit", "layer": "P"}], [], []]
    assert json.loads(rows[0]["arguments"]) == {"customer": "Zoë"}
