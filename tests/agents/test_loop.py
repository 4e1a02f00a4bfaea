"""The loop as a LangGraph graph: what it streams, where it can be interrupted, what its state holds."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from bakery import scenario
from langgraph.checkpoint.memory import InMemorySaver

from simtrain.agents.loop import Seat, build_graph, play
from simtrain.agents.select import build_agent
from simtrain.contracts.agent import Policy
from simtrain.contracts.journal import Journal, Limits
from simtrain.contracts.trajectory import Stop, Turn
from simtrain.public import episode, open_episode
from simtrain.scenarios.briefing import brief

TURNS = 4
THREAD = {"configurable": {"thread_id": "1"}}


@asynccontextmanager
async def seat(folder: Path, *, agent: str = "oracle", limits: Limits | None = None) -> AsyncGenerator[Seat]:
    """An oracle before a birthday order: three calls, one a turn, and the answer."""
    told = scenario(folder)
    policy = build_agent(agent)
    assert isinstance(policy, Policy)
    async with open_episode(told) as environment:
        journal = Journal(environment, limits or told.spec.limits)
        yield Seat(policy.player(brief(episode(told), environment)), journal)


async def played(folder: Path) -> tuple[list[Turn], Stop]:
    async with seat(folder) as taken:
        stop = await play(taken.player, taken.journal)
        return taken.journal.turns, stop


async def test_a_turn_is_one_superstep_of_model_and_one_of_tools(tmp_path: Path) -> None:
    async with seat(tmp_path) as taken:
        stream = build_graph().astream({"turn": 0}, context=taken, stream_mode="updates")
        nodes = [node async for update in stream for node in update]
    assert nodes == ["model", "tools"] * (TURNS - 1) + ["model"]
    assert len(taken.journal.turns) == TURNS


async def test_the_state_is_a_cursor_and_nothing_is_checkpointed_unless_asked(tmp_path: Path) -> None:
    graph = build_graph()
    assert graph.checkpointer is None
    async with seat(tmp_path) as taken:
        states = [state async for state in graph.astream({"turn": 0}, context=taken, stream_mode="values")]
    assert states[-1] == {"turn": TURNS}
    assert all(set(state) == {"turn"} for state in states)


async def test_an_interrupt_before_the_tools_lets_nothing_happen_until_it_is_resumed(tmp_path: Path) -> None:
    graph = build_graph(checkpointer=InMemorySaver(), interrupt_before=["tools"])
    async with seat(tmp_path) as taken:
        state: Any = {"turn": 0}
        for turn in range(1, TURNS):
            await graph.ainvoke(state, THREAD, context=taken, durability="exit")
            state = None
            assert (await graph.aget_state(THREAD)).next == ("tools",)
            assert len(taken.journal.environment.steps) == turn - 1
            assert [call.tool for call in taken.journal.pending]
        await graph.ainvoke(None, THREAD, context=taken, durability="exit")
        interrupted = (taken.journal.turns, taken.journal.stop)
    assert (await graph.aget_state(THREAD)).next == ()
    assert interrupted == await played(tmp_path)


async def test_what_a_checkpoint_holds_does_not_grow_with_the_transcript(tmp_path: Path) -> None:
    saver = InMemorySaver()
    graph = build_graph(checkpointer=saver)
    async with seat(tmp_path) as taken:
        await graph.ainvoke({"turn": 0}, THREAD, context=taken)
    saved = [checkpoint.checkpoint["channel_values"] async for checkpoint in saver.alist(THREAD)]
    assert len(saved) > TURNS
    assert {name for values in saved for name in values} <= {"turn", "__start__", "branch:to:model", "branch:to:tools"}


async def test_a_limit_of_turns_ends_the_graph(tmp_path: Path) -> None:
    async with seat(tmp_path, limits=Limits(turns=2)) as taken:
        stop = await play(taken.player, taken.journal)
    assert (stop.reason, len(taken.journal.turns)) == ("max_turns", 2)


async def test_many_turns_do_not_meet_a_limit_of_the_graph_s_own(tmp_path: Path) -> None:
    class Restless:
        async def think(self, journal: Journal) -> Any:
            from simtrain.values.types import Action, Message

            return Message(calls=(Action(f"call_{len(journal.turns)}", "cakes.list", {}),))

    async with seat(tmp_path, limits=Limits(turns=300, calls=1000)) as taken:
        stop = await play(Restless(), taken.journal)
    assert (stop.reason, len(taken.journal.turns)) == ("max_turns", 300)
