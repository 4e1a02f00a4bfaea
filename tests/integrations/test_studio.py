"""The graph that langgraph.json names: an episode as messages, interrupted and resumed, nothing shared between threads."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver

from simtrain import load_scenario, rollout
from simtrain.integrations import studio
from simtrain.integrations.studio import build_graph
from simtrain.values.errors import InputError

ROOT = Path(__file__).parents[2]
TASK = {"scenario": "helpdesk/refund", "agent": "oracle"}


@pytest.fixture(autouse=True)
async def _nothing_stays_open() -> AsyncGenerator[None]:
    yield
    for key in list(studio._sessions):
        await studio._close(key)


def thread(name: str) -> dict[str, Any]:
    return {"configurable": {"thread_id": name}}


async def test_the_graph_that_the_server_is_told_of_plays_an_episode_and_mirrors_it_as_messages() -> None:
    served = json.loads((ROOT / "langgraph.json").read_text())["graphs"]["episode"]
    out = await resolve_name(served).ainvoke(TASK)
    played = await rollout(load_scenario("helpdesk/refund"), "oracle")
    system, prompt, *rest = out["messages"]
    assert isinstance(system, SystemMessage) and isinstance(prompt, HumanMessage)
    assert (system.content, prompt.content) == (played.system, played.prompt)
    called = [call for message in rest if isinstance(message, AIMessage) for call in message.tool_calls]
    assert [(call["name"], call["args"]) for call in called] == [
        (step.action.tool, step.action.arguments) for step in played.steps
    ]
    replies = [message for message in rest if isinstance(message, ToolMessage)]
    assert [reply.content for reply in replies] == [step.observation.text for step in played.steps]
    assert [reply.tool_call_id for reply in replies] == [call["id"] for call in called]
    assert (out["answer"], out["stop"], out["reward"]) == (played.answer, "answered", 1.0)
    assert out["rewards"] == {reward.grader: reward.value for reward in played.rewards}
    assert studio._sessions == {}


async def test_messages_are_streamed_as_they_are_said() -> None:
    streamed = [message async for message, _ in studio.graph.astream(TASK, stream_mode="messages")]
    kinds = [type(message) for message in streamed if isinstance(message, AIMessage | ToolMessage)]
    assert kinds == [AIMessage, ToolMessage] * (len(kinds) // 2) + [AIMessage]
    assert streamed[-1].content.startswith("ANSWER:")


async def test_an_episode_waits_before_each_call_and_goes_on() -> None:
    graph = build_graph(checkpointer=InMemorySaver(), interrupt_before=["tools"])
    out = await graph.ainvoke(TASK, thread("a"))
    waits = 0
    while "reward" not in out or out["reward"] is None:
        assert isinstance((await graph.aget_state(thread("a"))).values["messages"][-1], AIMessage)
        waits += 1
        out = await graph.ainvoke(None, thread("a"))
    assert waits == len([message for message in out["messages"] if isinstance(message, ToolMessage)]) > 1
    assert out["reward"] == 1.0 and studio._sessions == {}


async def test_threads_share_nothing() -> None:
    graph = build_graph(checkpointer=InMemorySaver(), interrupt_before=["tools"])
    await graph.ainvoke(TASK, thread("a"))
    await graph.ainvoke({**TASK, "case": 1}, thread("b"))
    for name in "abababababab":
        await graph.ainvoke(None, thread(name))
    ends = {name: (await graph.aget_state(thread(name))).values for name in "ab"}
    assert [ends[name]["reward"] for name in "ab"] == [1.0, 1.0]
    assert ends["a"]["messages"][1].content != ends["b"]["messages"][1].content


async def test_a_thread_that_begins_again_closes_its_earlier_episode_and_forgets_its_messages() -> None:
    graph = build_graph(checkpointer=InMemorySaver(), interrupt_before=["tools"])
    await graph.ainvoke(TASK, thread("a"))
    first = studio._sessions["a"]
    out = await graph.ainvoke({**TASK, "case": 1}, thread("a"))
    assert studio._sessions["a"] is not first and len(studio._sessions) == 1
    assert len([message for message in out["messages"] if isinstance(message, SystemMessage)]) == 1


async def test_a_thread_that_was_left_is_closed_when_many_others_came_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(studio, "MOST_OPEN", 2)
    graph = build_graph(checkpointer=InMemorySaver(), interrupt_before=["tools"])
    for name in "abc":
        await graph.ainvoke(TASK, thread(name))
    assert list(studio._sessions) == ["b", "c"]
    with pytest.raises(InputError, match="start a new run"):
        await graph.ainvoke(None, thread("a"))


async def test_a_world_is_not_wound_back_to_an_earlier_checkpoint() -> None:
    graph = build_graph(checkpointer=InMemorySaver(), interrupt_before=["tools"])
    await graph.ainvoke(TASK, thread("a"))
    earlier = (await graph.aget_state(thread("a"))).config
    await graph.ainvoke(None, thread("a"))
    with pytest.raises(InputError, match="gone on from here"):
        await graph.ainvoke(None, earlier)


BROKEN = """\
from simtrain.contracts.agent import Policy

class Broken(Policy):
    def player(self, briefing):
        return self

    async def think(self, journal):
        raise KeyError("lost")
"""


async def test_a_player_that_breaks_down_is_recorded_and_the_episode_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "studio_broken.py").write_text(BROKEN)
    monkeypatch.syspath_prepend(tmp_path)
    out = await studio.graph.ainvoke({**TASK, "agent": "studio_broken:Broken"})
    assert (out["stop"], out["reward"], out["answer"]) == ("failed: KeyError: 'lost'", 0.0, None)
    assert studio._sessions == {}


@pytest.mark.parametrize(
    ("task", "problem"),
    [
        ({"scenario": "helpdesk/refunt"}, "helpdesk/refund"),
        ({"agent": "resilent"}, "resilient"),
        ({"case": 10_000}, "has no case 10000"),
        ({"agent": "studio_guest:play"}, "brings its own loop"),
    ],
)
async def test_a_task_that_cannot_be_played_is_refused_and_leaves_nothing_open(
    task: dict[str, Any], problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "studio_guest.py").write_text("async def play(prompt, tools, step):\n    return 'ANSWER: 1'\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(InputError, match=problem):
        await studio.graph.ainvoke({**TASK, **task})
    assert studio._sessions == {}
