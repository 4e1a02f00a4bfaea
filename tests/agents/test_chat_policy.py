"""The chat policy at work in a small environment, against the fake server."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Sequence
from itertools import pairwise
from types import TracebackType
from typing import Self

import pytest

from simtrain.agents.chat import ChatPolicy
from simtrain.contracts.agent import Briefing
from simtrain.contracts.journal import Journal, Limits
from simtrain.contracts.trajectory import Step
from simtrain.testing import Disconnect, FakeOpenAI, Refuse, Reply, Say, Tool
from simtrain.values.errors import AgentFault, InputError, ModelFault
from simtrain.values.seeding import derive
from simtrain.values.types import Action, Changes, JsonObject, Observation, ToolSpec, Usage

pytestmark = pytest.mark.slow

SCHEMA: JsonObject = {"type": "object", "properties": {"q": {"type": "string"}}}
TOOLS = (
    ToolSpec("orders.search", "Find orders.", SCHEMA),
    ToolSpec("orders_search", "Find orders, the old way.", SCHEMA),
    ToolSpec("payments.refund", "Refund a charge.", SCHEMA, writes=True),
)


class Shop:
    """An environment that repeats what it is asked."""

    tools = TOOLS

    def __init__(self) -> None:
        self.steps: list[Step] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return

    def begin_turn(self) -> None:
        return

    def changes(self) -> Changes:
        return {}

    async def step(self, action: Action) -> Observation:
        known = any(tool.name == action.tool for tool in self.tools) and action.malformed is None
        text = f"{action.tool} {action.arguments}" if known else f"Cannot call {action.tool!r}"
        self.steps.append(Step(len(self.steps), action, Observation(text, is_error=not known), "2030-01-01T00:00:00Z"))
        return self.steps[-1].observation


def play(
    script: Sequence[Reply], *, journal: Journal | None = None, **knobs: object
) -> tuple[Journal, list[JsonObject]]:
    """An episode to its end; returns the journal and the requests that the server got."""
    told = journal or Journal(Shop(), Limits())

    async def run(url: str) -> None:
        policy = ChatPolicy.model_validate({"model": "fake", "base_url": url, "backoff": 0.0, **knobs})
        briefing = Briefing("You are helpful.", "Find it.", TOOLS, {}, seed=7)
        player = policy.player(briefing)
        try:
            while told.say(await player.think(told)) is None:
                await told.act()
        finally:
            await policy.close()

    with FakeOpenAI(script) as server:
        asyncio.run(run(server.url))
    return told, server.chats


def test_an_episode_is_played_to_its_answer() -> None:
    journal, _ = play([Say("Looking.", calls=[Tool("payments_refund", {"q": "lamp"})]), Say("Done.\nANSWER: 3")])
    assert journal.stop is not None and journal.stop.reason == "answered"
    assert [step.action.tool for step in journal.turns[0].steps] == ["payments.refund"]
    assert journal.turns[0].text == "Looking."
    assert journal.turns[1].text == "Done.\nANSWER: 3"
    assert journal.message is not None and journal.message.answer == "3"


def test_tools_are_offered_under_names_that_the_wire_allows_and_come_back_as_they_are_called_here() -> None:
    tools = [tool.name for tool in TOOLS]
    _, (first, *_) = play([Say("ANSWER: 3")])
    wire = [tool["function"]["name"] for tool in first["tools"]]
    assert len(set(wire)) == len(tools) and wire[1:] == ["orders_search", "payments_refund"]
    calls = [Tool(name, {"q": name}) for name in wire]
    journal, (_, second) = play([Say(calls=calls), Say("ANSWER: 3")])
    assert [step.action.tool for step in journal.turns[0].steps] == tools
    assert [call["function"]["name"] for call in second["messages"][2]["tool_calls"]] == wire


def test_parallel_calls_are_carried_out_and_answered_in_order() -> None:
    calls = [Tool("payments_refund", {"q": str(number)}, id=f"id{number}") for number in range(3)]
    journal, (_, second) = play([Say(calls=calls), Say("ANSWER: 3")])
    assert [step.action.arguments["q"] for step in journal.turns[0].steps] == ["0", "1", "2"]
    assert [message["tool_call_id"] for message in second["messages"][3:]] == ["id0", "id1", "id2"]
    assert second["messages"][3]["content"] == "payments.refund {'q': '0'}"


@pytest.mark.parametrize("protocol", ["native", "text"])
def test_the_history_only_grows(protocol: str) -> None:
    call = {
        "native": Say("I see.", calls=[Tool("payments_refund", '{"q":  "lamp"}')]),
        "text": Say('I see.\n\n```tool_call\n{"name":"payments.refund","arguments":{"q":"lamp"}}\n```'),
    }[protocol]
    _, requests = play([call, call, call, Say("ANSWER: 3")], protocol=protocol)
    for earlier, later in pairwise(requests):
        assert later["messages"][: len(earlier["messages"])] == earlier["messages"]
        assert later.get("tools") == earlier.get("tools")
    assert [len(request["messages"]) for request in requests] == [2, 4, 6, 8]


def test_arguments_go_back_as_the_model_wrote_them() -> None:
    _, (_, second) = play([Say(calls=[Tool("payments_refund", '{"q":  "lamp"}')]), Say("ANSWER: 3")])
    assert second["messages"][2]["tool_calls"][0]["function"]["arguments"] == '{"q":  "lamp"}'


@pytest.mark.parametrize(
    "written", ["not json", "[1]", '"text"', '{"q": ', "null", '{"q": NaN}', '{"a":' * 300 + "1" + "}" * 300]
)
def test_arguments_that_are_no_json_object_are_malformed_and_go_back_as_an_object_that_holds_them(written: str) -> None:
    journal, (_, second) = play([Say(calls=[Tool("payments_refund", written)]), Say("ANSWER: 3")])
    action = journal.turns[0].steps[0].action
    assert (action.arguments, action.malformed) == ({}, written)
    sent = second["messages"][2]["tool_calls"][0]["function"]["arguments"]
    assert json.loads(sent) == {"malformed_arguments": written}
    journal.turns.pop()
    _, (taken_over,) = play([Say("ANSWER: 3")], journal=journal)
    assert taken_over == second


@pytest.mark.parametrize("name", ["", "orders.delete", "a name with spaces", "ß" * 80, "functions.orders_search:0"])
def test_a_name_that_was_never_offered_goes_back_as_one_that_servers_take(name: str) -> None:
    journal, (first, second) = play([Say(calls=[Tool(name)]), Say("ANSWER: 3")])
    assert journal.turns[0].steps[0].action.tool == name
    sent = second["messages"][2]["tool_calls"][0]["function"]["name"]
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", sent)
    assert sent not in [tool["function"]["name"] for tool in first["tools"]]


def test_a_call_without_arguments_has_none() -> None:
    journal, _ = play([Say(calls=[Tool("payments_refund", "")]), Say("ANSWER: 3")])
    assert journal.turns[0].steps[0].action == Action("call_1_0", "payments.refund", {})


def test_ids_that_a_server_uses_again_become_unique() -> None:
    call = Say(calls=[Tool("payments_refund", id="call_0"), Tool("payments_refund", id="call_0")])
    journal, requests = play([call, call, Say("ANSWER: 3")])
    ids = [step.action.id for turn in journal.turns for step in turn.steps]
    assert len(set(ids)) == 4
    answered = [message["tool_call_id"] for message in requests[-1]["messages"] if message["role"] == "tool"]
    assert answered == ids


def test_a_tool_that_was_never_offered_reaches_the_environment_under_the_name_it_was_given() -> None:
    journal, _ = play([Say(calls=[Tool("orders.delete")]), Say("ANSWER: 3")])
    assert journal.turns[0].steps[0].observation.text == "Cannot call 'orders.delete'"


def test_thinking_is_kept_apart_and_not_sent_back() -> None:
    script = [Say("<think>Hm.</think>Ok.", calls=[Tool("payments_refund")], reasoning="So."), Say("ANSWER: 3")]
    journal, (_, second) = play(script)
    assert (journal.turns[0].text, journal.turns[0].reasoning) == ("Ok.", "So.\nHm.")
    assert "Hm." not in str(second) and "So." not in str(second)


def test_thinking_is_sent_back_on_request() -> None:
    _, (_, second) = play(
        [Say(calls=[Tool("payments_refund")], reasoning="So."), Say("ANSWER: 3")], send_reasoning=True
    )
    assert second["messages"][2]["reasoning_content"] == "So."


def test_usage_and_cost_are_summed_over_the_turns() -> None:
    call = Say(calls=[Tool("payments_refund")], prompt_tokens=1000, completion_tokens=100, cached_tokens=500)
    journal, _ = play([call, Say("ANSWER: 3", prompt_tokens=2000)], prompt_price=1.0, completion_price=2.0)
    assert journal.usage == Usage(3000, 110, 500, pytest.approx((3000 * 1.0 + 110 * 2.0) / 1e6))


def test_a_cannot_line_is_an_abstention() -> None:
    journal, _ = play([Say("CANNOT: there is no such order")])
    assert journal.stop is not None and journal.stop.reason == "abstained"
    assert journal.message is not None and journal.message.answer == "there is no such order"


def test_sampling_knobs_stand_in_every_request() -> None:
    knobs = {"temperature": 0.2, "top_p": 0.9, "max_tokens": 500, "extra_body": {"top_k": 20}, "seed": 11}
    _, requests = play([Say(calls=[Tool("payments_refund")]), Say("ANSWER: 3")], **knobs)
    for request in requests:
        assert {key: request[key] for key in ("temperature", "top_p", "max_tokens", "top_k", "seed")} == {
            "temperature": 0.2,
            "top_p": 0.9,
            "max_tokens": 500,
            "top_k": 20,
            "seed": 11,
        }


def test_nothing_is_sampled_differently_from_the_server_s_own_way_unless_asked() -> None:
    _, (first,) = play([Say("ANSWER: 3")])
    assert set(first) == {"model", "messages", "tools"}


def test_a_seed_by_episode_comes_from_the_episode() -> None:
    _, (first,) = play([Say("ANSWER: 3")], seed="episode")
    assert first["seed"] == derive(7, "chat") >> 33 < 2**31


def test_the_suffix_stands_behind_the_system_prompt() -> None:
    _, (first,) = play([Say("ANSWER: 3")], system_suffix="Be brief.")
    assert first["messages"][0] == {"role": "system", "content": "You are helpful.\n\nBe brief."}


def test_calls_written_as_text_are_read_and_answered() -> None:
    written = (
        "First this.\n\n"
        '```tool_call\n{"name": "orders.search", "arguments": {"q": "lamp"}}\n```\n\n'
        '```tool_call\n{"name": "payments.refund"}\n```'
    )
    journal, (first, second) = play([Say(written), Say("ANSWER: 3")], protocol="text")
    assert "tools" not in first
    assert "## orders.search\nFind orders." in first["messages"][0]["content"]
    assert [step.action.tool for step in journal.turns[0].steps] == ["orders.search", "payments.refund"]
    assert journal.turns[0].text == "First this."
    assert second["messages"][3]["content"] == (
        "# Result 1 (orders.search)\norders.search {'q': 'lamp'}\n\n# Result 2 (payments.refund)\npayments.refund {}"
    )


@pytest.mark.parametrize(
    "block",
    [
        '{"name": "orders.search", "arguments":',
        '{"name": "orders.search", "arguments": "lamp"}',
        '{"name": "orders.search", "q": "lamp"}',
        '[{"name": "orders.search"}]',
        '{"tool": "orders.search", "name": "orders.search"}',
    ],
)
def test_a_written_call_that_is_none_is_malformed_and_goes_back_as_it_was(block: str) -> None:
    journal, (_, second) = play([Say(f"```tool_call\n{block}\n```"), Say("ANSWER: 3")], protocol="text")
    step = journal.turns[0].steps[0]
    assert (step.action.tool, step.observation.is_error) == ("orders.search", True)
    assert step.action.malformed is not None
    assert second["messages"][2]["content"] == f"```tool_call\n{block}\n```"


def test_a_written_call_that_was_cut_off_is_no_answer() -> None:
    journal, _ = play([Say('```tool_call\n{"name": "orders.search", "argu'), Say("ANSWER: 3")], protocol="text")
    assert journal.turns[0].steps[0].action.malformed is not None


def test_a_player_that_takes_over_a_journal_sends_the_same_history() -> None:
    script = [Say("Ok.", calls=[Tool("payments_refund", '{"q":"lamp"}')]), Say("ANSWER: 3")]
    journal, (_, whole) = play(script)
    journal.turns.pop()
    _, (taken_over,) = play(script[1:], journal=journal)
    assert taken_over == whole


def test_a_history_that_is_too_long_is_an_agent_fault() -> None:
    with pytest.raises(AgentFault, match=r"the model call was refused: .*context is too long"):
        play([Refuse(400, "context is too long")])


@pytest.mark.parametrize("trouble", [Refuse(500), Refuse(429), Disconnect()], ids=repr)
def test_a_model_that_cannot_be_had_is_nobody_s_fault(trouble: Reply) -> None:
    with pytest.raises(ModelFault):
        play([trouble, trouble], attempts=2)


@pytest.mark.parametrize("text", ["<think>Let me see", "The order is O1", "ANSWER: 1", "CANNOT: there is"])
def test_a_reply_that_was_cut_off_is_no_answer_and_the_agent_s_fault(text: str) -> None:
    journal, _ = play([Say(text, finish_reason="length", completion_tokens=200)])
    assert journal.stop is not None
    assert (journal.stop.reason, journal.stop.blame) == ("failed", "agent")
    assert "cut off" in (journal.stop.detail or "")
    (turn,) = journal.turns
    assert (turn.finish_reason, turn.text or turn.reasoning) == ("length", text.removeprefix("<think>"))
    assert turn.usage is not None and turn.usage.completion_tokens == 200


def test_every_turn_says_why_the_model_stopped() -> None:
    script = [
        Say(calls=[Tool("payments_refund", '{"q": "la')], finish_reason="length"),
        Say(calls=[Tool("payments_refund")]),
    ]
    journal, _ = play([*script, Say("ANSWER: 3")])
    assert [turn.finish_reason for turn in journal.turns] == ["length", "tool_calls", "stop"]
    assert journal.turns[0].steps[0].action.malformed == '{"q": "la'
    assert journal.stop is not None and journal.stop.reason == "answered"


def test_facts_name_the_model_and_never_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    policy = ChatPolicy(model="fake", temperature=0.1)
    assert policy.facts() == {"model": "fake", "protocol": "native", "temperature": 0.1}
    assert "sk-very-secret" not in repr(policy) + repr(policy.client)


def test_a_wrong_model_is_said_before_anything_is_played() -> None:
    with FakeOpenAI(models=["qwen3"]) as server:
        policy = ChatPolicy(model="qwen2", base_url=server.url)
        with pytest.raises(InputError, match="did you mean 'qwen3'"):
            asyncio.run(policy.ready())


def test_a_copy_with_other_knobs_has_a_client_of_its_own() -> None:
    policy = ChatPolicy(model="one", base_url="http://localhost:1/v1")
    assert policy.client.model == "one"
    assert policy.model_copy(update={"model": "two"}).client.model == "two"
    assert policy.client is policy.client


@pytest.mark.parametrize("depth", [240, 300])
@pytest.mark.parametrize("protocol", ["native", "text"])
def test_arguments_too_deep_to_be_recorded_are_malformed(depth: int, protocol: str) -> None:
    deep = '{"q": ' * depth + "1" + "}" * depth
    block = f'```tool_call\n{{"name": "payments.refund", "arguments": {deep}}}\n```'
    said = Say(calls=[Tool("payments_refund", deep)]) if protocol == "native" else Say(block)
    journal, _ = play([said, Say("ANSWER: 3")], protocol=protocol)
    action = journal.turns[0].steps[0].action
    assert (action.tool, action.arguments) == ("payments.refund", {}) and action.malformed is not None
