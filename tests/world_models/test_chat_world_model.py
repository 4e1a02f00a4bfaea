"""A language world model answering tool calls, and the scripted one."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import cast

import pytest
from pydantic import ValidationError

from simtrain.contracts.request import Request
from simtrain.contracts.world import WorldState
from simtrain.contracts.world_model import WorldModel
from simtrain.testing import Disconnect, FakeOpenAI, Garbage, Refuse, Reply, Say
from simtrain.values.errors import InputError, SimulatorFault
from simtrain.values.types import JsonObject, Observation, Provenance, ToolSpec, Usage
from simtrain.world_models.chat import Chat
from simtrain.world_models.domains.mcp import McpDomain
from simtrain.world_models.scripted import Scripted

pytestmark = pytest.mark.slow

OBJECT: JsonObject = {"type": "object"}
SEARCH = ToolSpec(
    "orders.search",
    "Find the orders of a customer.",
    {"type": "object", "properties": {"customer": {"type": "string"}}},
    output_schema={"type": "object", "properties": {"orders": {"type": "array"}}, "required": ["orders"]},
)
NOTE = ToolSpec("notes.add", "Write a note.", OBJECT, writes=True)
HEADER = "**Environment Observation:**\n"
EMPTY = HEADER + '{"orders": []}'


class Described:
    """As much of a world as a language world model asks for."""

    def describe(self) -> str:
        return "customers: 120 rows"


def request(tool: ToolSpec = SEARCH, **arguments: object) -> Request:
    return Request(tool, arguments, 0, 0)


def answers(model: WorldModel, requests: Sequence[Request]) -> list[Observation]:
    """What a model says to some requests in one episode."""

    async def run() -> list[Observation]:
        world = cast(WorldState, Described())
        async with model.session(domain=McpDomain(), world=world, tools=(SEARCH, NOTE)) as answer:
            return [await answer(asked) for asked in requests]

    return asyncio.run(run())


def predict(script: Sequence[Reply], *requests: Request, **knobs: object) -> tuple[list[Observation], list[JsonObject]]:
    with FakeOpenAI(script) as server:
        model = Chat.model_validate({"model": "fake", "base_url": server.url, "backoff": 0.0, **knobs})
        return answers(model, requests or [request(customer="Zoë")]), server.chats


def test_a_structured_prediction_becomes_the_structured_reply() -> None:
    (observation,), _ = predict([Say(HEADER + '{"orders": [{"id": "O1"}]}', prompt_tokens=50, completion_tokens=8)])
    assert observation.content == {"orders": [{"id": "O1"}]}
    assert not observation.is_error
    assert observation.provenance == Provenance("chat", "fake", Usage(50, 8), 1)


def test_a_tool_without_output_schema_returns_its_text() -> None:
    (observation,), _ = predict([Say(HEADER + "Saved note 7.")], request(NOTE, text="hi"))
    assert (observation.text, observation.content, observation.is_error) == ("Saved note 7.", None, False)


def test_an_error_line_becomes_an_error_reply() -> None:
    (observation,), _ = predict([Say(HEADER + "Error: No customer Zoë.")])
    assert (observation.text, observation.is_error) == ("No customer Zoë.", True)


@pytest.mark.parametrize(
    "written",
    [
        '{"orders": []}',
        '```json\n{"orders": []}\n```',
        f'<think>Let me see.</think>\n\n{HEADER}{{"orders": []}}',
        'Let me see.</think>{"orders": []}',
        '<predicted_observation>no</predicted_observation><predicted_observation>{"orders": []}</predicted_observation>',
        'Here it is: <predicted_observation>\n{"orders":[]}\n</predicted_observation> as wanted',
    ],
)
def test_the_usual_wrappings_of_a_prediction_are_taken_off(written: str) -> None:
    (observation,), _ = predict([Say(written)])
    assert (observation.text, observation.provenance.attempts if observation.provenance else 0) == ('{"orders":[]}', 1)


REJECTED = {
    "empty": (Say(""), "it is empty"),
    "only thinking": (Say("<think>I wonder"), "it is empty"),
    "echo": (Say('{"name": "orders.search", "arguments": {"customer": "Zoë"}}'), "repeats the call"),
    "role": (Say("### Turn 2\n\n**Action:**\n```json\n{}\n```"), "the mark '### Turn 2'"),
    "marks": (Say('{"orders": []} <|im_end|>'), "the mark"),
    "praise": (Say("I have accurately simulated the search."), "speaks of itself"),
    "not json": (Say("There are no orders."), "not one"),
    "not an object": (Say("[]"), "another value"),
    "wrong shape": (Say('{"orders": 3}'), "orders: 3 is not of type"),
    "missing key": (Say("{}"), "orders"),
    "cut off": (Say('{"orders": []}', finish_reason="length"), "cut off"),
    "too deep": (Say('{"orders": ' + "[" * 300 + "]" * 300 + "}"), "nested too deeply"),
    "silent error": (Say("Error:"), "says nothing"),
}


@pytest.mark.parametrize("case", REJECTED)
def test_a_prediction_that_cannot_be_used_is_asked_for_once_more(case: str) -> None:
    rejected, _ = REJECTED[case]
    (observation,), requests = predict([rejected, Say(EMPTY)])
    assert observation.content == {"orders": []}
    assert observation.provenance is not None
    assert (observation.provenance.attempts, observation.provenance.usage) == (2, Usage(200, 20))
    assert len(requests) == 2


@pytest.mark.parametrize("case", REJECTED)
def test_a_second_such_prediction_is_the_simulator_s_fault(case: str) -> None:
    rejected, why = REJECTED[case]
    with pytest.raises(SimulatorFault, match=why):
        predict([rejected, rejected])


def test_the_retry_says_what_was_wrong_and_is_forgotten_afterwards() -> None:
    calls = [request(customer="Zoë"), request(customer="Ann")]
    _, (first, retry, second) = predict([Say("There are none."), Say(EMPTY), Say(EMPTY)], *calls)
    assert retry["messages"][:2] == first["messages"]
    assert retry["messages"][2] == {"role": "assistant", "content": "There are none."}
    assert "cannot be used" in retry["messages"][3]["content"]
    assert [message["role"] for message in second["messages"]] == ["system", "user", "assistant", "user"]


def test_the_history_only_grows() -> None:
    calls = [request(customer=name) for name in ("Zoë", "Ann", "Bob")]
    _, requests = predict([Say(EMPTY), Say(HEADER + "Error: no"), Say(EMPTY)], *calls)
    last = requests[2]["messages"]
    assert last[:4] == requests[1]["messages"] and last[:2] == requests[0]["messages"]
    assert last[1]["content"] == (
        '### Turn 1\n\n**Action:**\n```json\n{"name":"orders.search","arguments":{"customer":"Zoë"}}\n```'
    )
    assert last[2] == {"role": "assistant", "content": HEADER + '{"orders":[]}'}
    assert last[4] == {"role": "assistant", "content": HEADER + "Error: no"}
    assert last[5]["content"].startswith("### Turn 3")


def test_episodes_do_not_share_a_history() -> None:
    with FakeOpenAI([Say(EMPTY), Say(EMPTY)]) as server:
        model = Chat(model="fake", base_url=server.url)
        for _ in range(2):
            answers(model, [request(customer="Zoë")])
    assert server.chats[0] == server.chats[1]


def test_the_parts_of_the_prompt_come_in_their_order() -> None:
    knobs = {
        "hidden_state": "The disk is nearly full.",
        "demonstrations": [{"action": "a call", "observation": "a reply"}],
        "instruction": "After two calls the service is down.",
    }
    _, (first,) = predict([Say(EMPTY)], **knobs)
    prompt = first["messages"][0]["content"]
    wanted = [
        "You are the environment",
        "## orders.search",
        "## notes.add",
        "customers: 120 rows",
        "The disk is nearly full.",
        "a call\n\na reply",
        "After two calls the service is down.",
    ]
    places = [prompt.index(part) for part in wanted]
    assert places == sorted(places)


def test_parts_that_are_not_given_are_left_out() -> None:
    _, (first,) = predict([Say(EMPTY)], initial_state="")
    titles = [line for line in first["messages"][0]["content"].splitlines() if line.startswith("# ")]
    assert titles == ["# Task", "# Tools"]


def test_the_initial_state_may_be_given_as_text() -> None:
    _, (first,) = predict([Say(EMPTY)], initial_state="There is one customer, Zoë.")
    assert "There is one customer, Zoë." in first["messages"][0]["content"]
    assert "120 rows" not in first["messages"][0]["content"]


def sampled(body: JsonObject) -> JsonObject:
    return {name: value for name, value in body.items() if name not in ("model", "messages")}


def test_sampling_is_that_of_the_model_card_unless_set() -> None:
    _, (first,) = predict([Say(EMPTY)])
    assert sampled(first) == {"temperature": 0.6, "top_p": 0.95, "top_k": 20, "max_tokens": 32768}
    _, (first,) = predict(
        [Say(EMPTY)],
        temperature=0,
        top_p=None,
        top_k=None,
        max_tokens=None,
        seed=3,
        thinking=False,
        extra_body={"min_p": 0.1},
    )
    assert sampled(first) == {
        "temperature": 0.0,
        "seed": 3,
        "min_p": 0.1,
        "chat_template_kwargs": {"enable_thinking": False},
    }


def test_sampling_can_differ_by_tool() -> None:
    per_tool = [{"tools": "notes.*", "thinking": False, "temperature": 0.1}, {"tools": ["*"], "thinking": True}]
    calls = [request(customer="Zoë"), request(NOTE)]
    _, (search, note) = predict([Say(EMPTY), Say("Saved.")], *calls, per_tool=per_tool, top_k=None)
    assert search["chat_template_kwargs"] == {"enable_thinking": True} and search["temperature"] == 0.6
    assert note["chat_template_kwargs"] == {"enable_thinking": False} and note["temperature"] == 0.1


@pytest.mark.parametrize("trouble", [Refuse(429), Refuse(500), Disconnect(), Garbage()], ids=repr)
def test_trouble_on_the_way_is_tried_again_and_counted(trouble: Reply) -> None:
    (observation,), _ = predict([trouble, Say(EMPTY)])
    assert observation.provenance is not None and observation.provenance.attempts == 2


def test_a_model_that_cannot_be_had_is_the_simulator_s_fault() -> None:
    with pytest.raises(SimulatorFault, match="is not available"):
        predict([Refuse(500)] * 2, attempts=2)


def test_an_unknown_model_is_said_before_any_episode() -> None:
    with (
        FakeOpenAI(models=["qwen-agentworld"]) as server,
        pytest.raises(InputError, match="did you mean 'qwen-agentworld'"),
    ):
        asyncio.run(Chat(model="qwen-agentwrld", base_url=server.url).ready())


def scripted(answers_given: list[Mapping[str, object]], *requests: Request, **knobs: object) -> list[Observation]:
    return answers(Scripted.model_validate({"answers": answers_given, **knobs}), requests)


def test_scripted_answers_are_given_once_each_in_order_by_tool() -> None:
    given = [
        {"tool": "notes.add", "text": "one"},
        {"tool": "orders.search", "structured": {"orders": []}},
        {"tool": "notes.add", "text": "two", "is_error": True},
    ]
    first, found, second = scripted(given, request(NOTE), request(), request(NOTE))
    assert (first.text, second.text, second.is_error) == ("one", "two", True)
    assert found.content == {"orders": []}
    assert found.provenance == Provenance("scripted")


def test_a_scripted_answer_may_ask_for_arguments() -> None:
    given = [{"tool": "notes.add", "args": {"text": "b"}, "text": "for b"}, {"tool": "notes.add", "text": "for any"}]
    assert [o.text for o in scripted(given, request(NOTE, text="a"), request(NOTE, text="b", more=1))] == [
        "for any",
        "for b",
    ]


def test_a_call_that_the_script_does_not_foresee_is_the_simulator_s_fault() -> None:
    with pytest.raises(SimulatorFault, match=r"no scripted answer is left for notes\.add"):
        scripted([{"tool": "notes.add", "text": "one"}], request(NOTE), request(NOTE))


def test_the_last_answer_that_fits_can_be_given_again() -> None:
    given = [{"tool": "notes.add", "text": "one"}, {"tool": "notes.add", "text": "two"}]
    said = scripted(given, *[request(NOTE)] * 4, on_miss="last")
    assert [o.text for o in said] == ["one", "two", "two", "two"]
    with pytest.raises(SimulatorFault):
        scripted(given, request(SEARCH), on_miss="last")


def test_every_episode_begins_with_the_whole_script() -> None:
    model = Scripted.model_validate({"answers": [{"tool": "notes.add", "text": "one"}]})
    assert [answers(model, [request(NOTE)])[0].text for _ in range(2)] == ["one", "one"]


def test_a_scripted_answer_must_say_something() -> None:
    with pytest.raises(ValidationError, match="needs `text` or `structured`"):
        Scripted.model_validate({"answers": [{"tool": "notes.add"}]})
