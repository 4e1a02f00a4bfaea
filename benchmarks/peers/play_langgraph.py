"""The episode with a bare LangGraph of two nodes, and plain posts with aiohttp: the least that a graph and a request cost."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from operator import add
from typing import Annotated, Any, Literal, TypedDict

import aiohttp
from langgraph.graph import START, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import Command
from measure import Episode, Played, each, main

Message = dict[str, Any]


class State(TypedDict):
    messages: Annotated[list[Message], add]


@dataclass(frozen=True)
class Context:
    episode: Episode
    ask: Callable[[list[Message]], Awaitable[Message]]


async def model(state: State, runtime: Runtime[Context]) -> Command[Literal["tools", "__end__"]]:
    said = await runtime.context.ask(state["messages"])
    return Command(update={"messages": [said]}, goto="tools" if said.get("tool_calls") else "__end__")


async def tools(state: State, runtime: Runtime[Context]) -> Command[Literal["model"]]:
    reply = runtime.context.episode.reply
    calls = state["messages"][-1]["tool_calls"]
    heard = [{"role": "tool", "tool_call_id": call["id"], "content": reply} for call in calls]
    return Command(update={"messages": heard}, goto="model")


def graph() -> Any:
    made: Any = StateGraph(State, context_schema=Context)
    made.add_node("model", model)
    made.add_node("tools", tools)
    made.add_edge(START, "model")
    return made.compile()


async def play(episode: Episode, episodes: int, ask: Callable[[list[Message]], Awaitable[Message]]) -> Sequence[Played]:
    context, made = Context(episode, ask), graph()

    async def one() -> Played:
        given = {"messages": [{"role": "user", "content": episode.prompt}]}
        ended = await made.ainvoke(given, {"recursion_limit": 2 * episode.calls + 5}, context=context)
        messages = ended["messages"]
        return sum(1 for message in messages if message["role"] == "tool"), messages[-1]["content"]

    return await each(one, episodes)


async def http(episode: Episode, episodes: int) -> Sequence[Played]:
    schema = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    function = {"name": episode.tool, "description": episode.description, "parameters": schema}
    offered = {"model": episode.model, "tools": [{"type": "function", "function": function}]}
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector) as session:

        async def ask(messages: list[Message]) -> Message:
            async with session.post(f"{episode.url}/chat/completions", json={**offered, "messages": messages}) as got:
                return json.loads(await got.read())["choices"][0]["message"]

        return await play(episode, episodes, ask)


async def in_process(episode: Episode, episodes: int) -> Sequence[Played]:
    function = {"name": episode.tool, "arguments": json.dumps(episode.arguments)}

    async def ask(messages: list[Message]) -> Message:
        turn = sum(1 for message in messages if message["role"] == "assistant")
        if turn == episode.calls:
            return {"role": "assistant", "content": episode.answer}
        call = {"id": f"call_{turn}", "type": "function", "function": function}
        return {"role": "assistant", "content": None, "tool_calls": [call]}

    return await play(episode, episodes, ask)


if __name__ == "__main__":
    main(["langgraph", "aiohttp"], http=http, in_process=in_process)
