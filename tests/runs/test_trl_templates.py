"""Rows of `--format trl` pass every chat template of TRL that can take tools, as trainers render them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from chat_templates import Message, Rendered, lacking, leaves, once, render, sources
from samples import cut_short, refund

from simtrain import load_scenario, rollout
from simtrain.contracts.trajectory import Trajectory
from simtrain.public import episode
from simtrain.runs.export import build_exporter
from simtrain.runs.exporters.trl import Trl
from simtrain.values.types import Action

# Each was found out from a conversation of TRL's own kind, never from exported rows: see chat_templates.
WITHOUT_TOOLS = {
    "cohere": "raises TemplateError",
    "cohere2": "raises TemplateError",
    "deepseek_r1_distill": "drops tools, calls",
    "deepseekv3": "drops tools",
    "gemma": "raises TemplateError",
    "gemma3": "raises TemplateError",
    "idefics3": "drops tools, calls",
    "lfm2": "drops calls",
    "llama3": "drops tools, calls",
    "llava_next": "raises UndefinedError",
    "phi3": "drops tools, calls, replies",
    "phi3_5": "drops tools, calls, replies",
    "qwen2_5_vl": "drops tools, calls",
    "smolvlm": "drops tools, calls",
}
"""What keeps a template from taking tools; its twin for training is like it."""

ONE_CALL = {"gptoss", "gptoss_training", "llama3_1", "llama3_2"}
"""Templates that take one call a message: those of Llama raise at more, that of gpt-oss drops the rest."""

WORDLESS = {"gptoss", "gptoss_training", "llama3_1", "llama3_2", "muse_glimmer", "muse_glimmer_training"}
"""Templates that drop words beside a call."""

TAKES_TOOLS = sorted(name for name in sources() if lacking(name) is None)
TRAINING = [name for name in TAKES_TOOLS if "generation %}" in sources()[name] or "generation -%}" in sources()[name]]


def trained_on(trajectory: Trajectory, **knobs: object) -> dict[str, Any]:
    (row,) = build_exporter("trl", knobs).rows(trajectory)
    return json.loads(json.dumps(row))


def odd() -> Trajectory:
    """Arguments of every kind, with quotes, lines, other scripts and markup, and two calls at once."""
    whole = refund()
    given = {
        "customer": 'Zoë "Q" <b>Ünal</b>\nline',
        "limit": 3,
        "deep": {"on": True, "of": [1.5, "café", None], "no": {}},
    }
    first, second = whole.turns[0].steps
    calls = (
        Action("call_0", first.action.tool, given),
        Action("call_1", second.action.tool, {"charge_id": "C7 first"}),
    )
    steps = [replace(step, action=action) for step, action in zip((first, second), calls, strict=True)]
    turn = replace(whole.turns[0], steps=steps)
    return replace(whole, turns=[turn, whole.turns[1], whole.turns[3]])


def trajectories() -> list[Trajectory]:
    """What exporters are given: by hand, and from episodes that were played, with faults, many turns and a refusal."""
    found = [odd(), cut_short()]
    for name, agent in (("helpdesk/merge_tickets", "resilient"), ("forge/merge_blocked", "oracle")):
        found.append(asyncio.run(rollout(episode(load_scenario(name)), agent)))
    return found


ROWS = [trained_on(trajectory) for trajectory in trajectories()]


def calls(messages: list[Message]) -> Iterator[Message]:
    return (call["function"] for message in messages for call in message.get("tool_calls", ()))


def stands_in(value: object, text: str) -> bool:
    return any(form in text for form in once(value))


def wrong_with(row: dict[str, Any], shown: Rendered) -> list[str]:
    """What a rendered row lacks, or has twice encoded."""
    text, found = shown.text, list[str]()
    for tool in row["tools"]:
        found += [f"tool {tool['function']['name']}"] * (tool["function"]["name"] not in text)
        found += ["description"] * (not stands_in(tool["function"]["description"], text))
    for call in calls(row["messages"]):
        found += [f"call of {call['name']}"] * (call["name"] not in text)
        for leaf in leaves(call["arguments"]):
            # What is null, true or false has a word of its own in every format.
            if not isinstance(leaf, bool | None) and not stands_in(leaf, text):
                found.append(f"argument {leaf!r}")
        for written in (json.dumps(call["arguments"]), json.dumps(call["arguments"], ensure_ascii=False)):
            if call["arguments"] and json.dumps(written, ensure_ascii=False)[1:-1] in text:
                found.append(f"arguments of {call['name']} encoded twice")
    for message in row["messages"]:
        if message["role"] in ("tool", "user", "system") and not stands_in(message["content"].strip(), text):
            found.append(f"{message['role']}: {message['content'][:40]!r}")
        if message["role"] == "assistant" and not message.get("tool_calls") and message["content"].strip() not in text:
            found.append(f"assistant: {message['content'][:40]!r}")
    return found


def test_what_a_template_cannot_do_is_what_the_documentation_says() -> None:
    assert len(sources()) == 72
    found = {name: lacking(name) for name in sources() if lacking(name) is not None}
    assert found == {name: WITHOUT_TOOLS[name.removesuffix("_training")] for name in found}
    assert WITHOUT_TOOLS.keys() <= found.keys() and len(TAKES_TOOLS) == 44


@pytest.mark.parametrize("name", TAKES_TOOLS)
def test_every_template_that_can_take_tools_takes_the_rows(name: str) -> None:
    for row in ROWS:
        assert wrong_with(row, render(name, row["messages"], row["tools"])) == []


@pytest.mark.parametrize("name", TRAINING)
def test_what_a_template_marks_for_training_is_what_the_mask_says(name: str) -> None:
    for row in ROWS:
        assert row["mask"] == [int(message["role"] == "assistant") for message in row["messages"]]
        spoken = "".join(message["content"] for message in row["messages"] if message["role"] == "assistant")
        marked = "\n".join(render(name, row["messages"], row["tools"]).marked)
        for call in calls(row["messages"]):
            assert call["name"] in marked
        for message, said in zip(row["messages"], row["mask"], strict=True):
            if said and message["content"] and "tool_calls" not in message:
                assert message["content"].strip() in marked
            # An agent may well quote what it was told.
            if not said and message["content"] not in spoken:
                assert not stands_in(message["content"].strip(), marked)


@pytest.mark.parametrize("name", TAKES_TOOLS)
def test_words_beside_a_call_are_kept_but_by_the_templates_that_are_known_to_drop_them(name: str) -> None:
    row = trained_on(odd())
    assert ("Let me look." in render(name, row["messages"], row["tools"]).text) is (name not in WORDLESS)


@pytest.mark.parametrize("name", TAKES_TOOLS)
def test_calls_at_once_are_kept_together_but_by_the_templates_that_take_one(name: str) -> None:
    row = trained_on(odd(), calls="together")
    assert [len(message.get("tool_calls", ())) for message in row["messages"] if message["role"] == "assistant"] == [
        2,
        1,
        0,
    ]
    try:
        lost = wrong_with(row, render(name, row["messages"], row["tools"]))
    except Exception as error:
        lost = [str(error)]
    assert bool(lost) is (name in ONE_CALL)


def test_a_planted_defect_is_found() -> None:
    row = trained_on(odd())
    text = json.loads(json.dumps(row))
    text["messages"][2]["tool_calls"][0]["function"]["arguments"] = json.dumps(
        row["messages"][2]["tool_calls"][0]["function"]["arguments"], ensure_ascii=False
    )
    assert wrong_with(row, render("qwen2_5", text["messages"], text["tools"]))
    silent = json.loads(json.dumps(row))
    silent["messages"][3]["content"] = ""
    assert wrong_with(row, render("qwen3", silent["messages"], silent["tools"]))
    assert wrong_with(row, render("qwen3", row["messages"], row["tools"][:1]))


def test_rows_for_openais_service_are_no_rows_for_open_models() -> None:
    row = json.loads(json.dumps(next(build_exporter("openai", {}).rows(odd()))))
    fine = 0
    for name in TAKES_TOOLS:
        try:
            fine += not wrong_with(trained_on(odd()), render(name, row["messages"], row["tools"]))
        except Exception:
            continue
    assert fine < len(TAKES_TOOLS) / 2


def test_calls_of_a_turn_stand_apart_each_with_its_reply_and_the_row_ends_with_the_agent() -> None:
    row = trained_on(odd())
    assert [message["role"] for message in row["messages"]] == [
        "system", "user", "assistant", "tool", "assistant", "tool", "assistant", "tool", "assistant",
    ]  # fmt: skip
    assert row["messages"][2]["content"] == "Let me look." and row["messages"][4]["content"] == ""
    assert [message["tool_call_id"] for message in row["messages"] if message["role"] == "tool"] == [
        call["id"] for message in row["messages"] for call in message.get("tool_calls", ())
    ]
    cut = trained_on(cut_short())
    assert cut["messages"][-1]["role"] == "assistant" and cut["messages"][-1]["tool_calls"]


def test_prompt_and_completion_are_the_same_messages_divided() -> None:
    row, divided = trained_on(odd()), trained_on(odd(), form="prompt_completion")
    assert divided["prompt"] + divided["completion"] == row["messages"]
    assert [message["role"] for message in divided["prompt"]] == ["system", "user"]
    assert len(divided["mask"]) == len(divided["completion"])


def test_an_episode_whose_arguments_were_no_object_gives_no_row_and_says_why() -> None:
    assert list(Trl().rows(refund())) == []
    assert Trl().lacking(refund()) == "in which the arguments of a call were not a JSON object"
