"""One episode in which a LangGraph agent, an MCP client and a client of sessions act, in one order of steps that says who acted."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from threading import Barrier, Thread
from types import ModuleType
from typing import Annotated, Any, TypedDict

import pytest
from bakery import scenario
from langchain_core.messages import AIMessage, AnyMessage, ToolMessage
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from mcp.client import Client
from mcp.types import Implementation
from serving_bakery import serving

from simtrain import Sessions, as_agent, export, rollout, serve_sessions
from simtrain.contracts.trajectory import Trajectory, from_line, to_line
from simtrain.runs.reading import print_trajectory
from simtrain.values.errors import AgentFault, EpisodeOver
from simtrain.values.types import Message

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def client() -> ModuleType:
    file = Path(__file__).parents[2] / "simtrain" / "integrations" / "client" / "simtrain_client.py"
    spec = spec_from_file_location("simtrain_client", file)
    assert spec is not None and spec.loader is not None
    module = sys.modules["simtrain_client"] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class State(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]


def looking_at(cake: str, waits: Barrier) -> Any:
    """A compiled graph that looks at a cake, lets the others act, looks again, and says what it saw."""

    def made(tools: list[Any]) -> Any:
        get = next(tool for tool in tools if tool.name == "cakes_get")

        async def look(state: State) -> State:
            return {"messages": [ToolMessage(await get.ainvoke({"name": cake}), tool_call_id="1")]}

        async def wait(state: State) -> State:
            await asyncio.to_thread(waits.wait, 20)
            await asyncio.to_thread(waits.wait, 20)
            return {"messages": []}

        def say(state: State) -> State:
            return {"messages": [AIMessage(f"ANSWER: {state['messages'][-1].content}")]}

        graph: Any = StateGraph(State)
        order = ["first", "wait", "second", "say"]
        for name, node in zip(order, (look, wait, look, say), strict=True):
            graph.add_node(name, node)
        for one, other in zip([START, *order], [*order, END], strict=True):
            graph.add_edge(one, other)
        return graph.compile()

    return as_agent(made)


@pytest.fixture
def played(tmp_path: Path, client: ModuleType) -> Iterator[Trajectory]:
    """What a run folder holds of an episode in which all three acted."""
    socket, out, waits = tmp_path / "s.sock", tmp_path / "run", Barrier(2)
    with Sessions(out=out) as sessions, serve_sessions(sessions, socket=socket) as door:
        opened = sessions.open(scenario(tmp_path), case=2, seed=7)
        cake = opened.prompt.split('"')[1]
        said: list[Message] = []
        agent = looking_at(cake, waits)
        playing = Thread(target=lambda: said.append(sessions.join(opened.name, by="graph").play(agent)))
        playing.start()
        waits.wait(20)

        async def order_over_mcp() -> None:
            info = Implementation(name="shopper", version="1")
            async with Client(f"{door.url}/w/{opened.name}/mcp", client_info=info) as mcp:
                found = (await mcp.call_tool("cakes__get", {"name": cake})).structured_content or {}
                await mcp.call_tool("orders__place", {"cake_id": found["id"], "amount": 2})

        asyncio.run(order_over_mcp())
        with client.Sessions(socket) as wire:
            joined = wire.join(opened.name, by="clerk")
            orders = joined.call("orders.list", {"cake_id": opened.steps[0].observation.content["id"]}).content
            waits.wait(20)
            playing.join(20)
            assert "stock" in said[0].text
            finished = joined.finish(f"ANSWER: {orders['orders'][-1]['id']}")
            assert finished["reward"] == 1.0
    (line,) = (out / "trajectories-000.jsonl").read_bytes().splitlines()
    yield from_line(line)


def test_all_three_act_in_one_order_and_the_trajectory_says_who(
    played: Trajectory, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    acted = [(turn.by, [step.action.tool for step in turn.steps]) for turn in played.turns]
    assert acted == [
        ("graph", ["cakes.get"]),
        ("mcp:shopper", ["cakes.get"]),
        ("mcp:shopper", ["orders.place"]),
        ("clerk", ["orders.list"]),
        ("graph", ["cakes.get"]),
        ("clerk", []),
    ]
    assert [step.index for step in played.steps] == [0, 1, 2, 3, 4]
    assert [step.action.id for step in played.steps] == [f"call_{number}" for number in range(1, 6)]
    before, after = (played.steps[number].observation.content or {} for number in (0, 4))
    assert before["stock"] - after["stock"] == 2
    assert played.reward == 1.0 and from_line(to_line(played)) == played
    from rich.console import Console

    print_trajectory(Console(), played)
    shown = capsys.readouterr().out
    assert shown.index("by graph") < shown.index("by mcp:shopper") < shown.index("by clerk")
    assert export([played], "openai", out=tmp_path / "rows.jsonl").rows == 1


async def test_one_that_acts_alone_leaves_the_bytes_of_before(tmp_path: Path) -> None:
    birthday = scenario(tmp_path)
    with Sessions(agent="oracle") as sessions:
        session = sessions.open(birthday)
        message = await asyncio.to_thread(session.play, "oracle")
        alone = session.finish(message)
    assert b'"by"' not in to_line(alone)
    from dataclasses import replace

    plain = await rollout(birthday, "oracle")
    assert [turn.text for turn in alone.turns] == [turn.text for turn in plain.turns]
    assert replace(alone, timing={}, turns=[]) == replace(plain, timing={}, turns=[])


async def test_an_mcp_client_that_acts_alone_is_not_named(tmp_path: Path) -> None:
    async with serving([scenario(tmp_path)], out=tmp_path / "run") as served:
        episode = await served.open(name="mine")
        async with Client(episode["url"]) as mcp:
            await mcp.call_tool("cakes__list", {})
        await served.post("/episodes/mine/close", answer="ANSWER: O0001")
    (line,) = (tmp_path / "run" / "trajectories-000.jsonl").read_bytes().splitlines()
    assert b'"by"' not in line and len(from_line(line).turns) == 2


def test_an_agent_that_joins_is_told_why_it_cannot_go_on(tmp_path: Path) -> None:
    async def broken(prompt: str, tools: Any, step: Any) -> str:
        raise ValueError("no key")

    async def endless(prompt: str, tools: Any, step: Any) -> str:
        while True:
            await step("cakes.list", {})

    with Sessions() as sessions:
        session = sessions.open(scenario(tmp_path, more="limits: {turns: 4}\n"))
        with pytest.raises(AgentFault, match=r"^ValueError: no key$"):
            session.play(as_agent(broken))
        session.call("cakes.list", {})
        with pytest.raises(EpisodeOver, match=r"^the episode is over: 4 turns without an answer$"):
            session.play(as_agent(endless))
        trajectory = session.finish(None)
    assert (len(trajectory.steps), trajectory.stop.reason) == (4, "max_turns")
