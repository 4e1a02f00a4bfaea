"""What nothing built on them can go below: the bare LangGraph graph of the loop's shape, and bare posts to a chat server."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, TypedDict

import aiohttp
import orjson
from langgraph.graph import START, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import Command
from report import Figure, cpu_of_tasks


class _State(TypedDict):
    turn: int


@dataclass
class _Count:
    left: int


async def _model(state: _State, runtime: Runtime[_Count]) -> Command[Literal["tools", "__end__"]]:
    runtime.context.left -= 1
    return Command(update={"turn": state["turn"] + 1}, goto="tools" if runtime.context.left >= 0 else "__end__")


async def _tools(state: _State, runtime: Runtime[_Count]) -> Command[Literal["model"]]:
    return Command(goto="model")


def graph_floor(*, episodes: int, calls: int, concurrency: int, rounds: int) -> Figure:
    """CPU of one step of the bare graph, in episodes of so many calls."""
    playing = partial(_play_bare, _bare_graph(), episodes=episodes, calls=calls, concurrency=concurrency)
    spent = cpu_of_tasks(playing, rounds=rounds)
    return Figure("bare LangGraph, two nodes that do nothing, per step", spent * 1000 / (episodes * calls), "ms")


def _bare_graph() -> Any:
    """Two nodes that do nothing, routed by Command: one superstep each a turn."""
    graph: Any = StateGraph(_State, context_schema=_Count)
    graph.add_node("model", _model)
    graph.add_node("tools", _tools)
    graph.add_edge(START, "model")
    return graph.compile()


async def _play_bare(graph: Any, *, episodes: int, calls: int, concurrency: int) -> None:
    """So many runs of so many turns each."""
    left = iter(range(episodes))

    async def worker() -> None:
        for _ in left:
            await graph.ainvoke({"turn": 0}, {"recursion_limit": 2 * calls + 5}, context=_Count(calls))

    await asyncio.gather(*(worker() for _ in range(concurrency)))


async def bare_posts(url: str, *, count: int, concurrency: int) -> None:
    """So many chat calls of one short message, the reply parsed and dropped."""
    left = iter(range(count))
    body = orjson.dumps({"model": "fake", "messages": [{"role": "user", "content": "Say ok."}]})

    async def worker(session: aiohttp.ClientSession) -> None:
        for _ in left:
            async with session.post(f"{url}/chat/completions", data=body) as response:
                orjson.loads(await response.read())

    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector) as session:
        await asyncio.gather(*(worker(session) for _ in range(concurrency)))
