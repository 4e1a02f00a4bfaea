"""The episode with LangChain's create_agent, and ChatOpenAI over HTTP."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from measure import Episode, Played, each, main


class Ready(BaseChatModel):
    """A model in this process, whose replies are LangChain's own objects."""

    episode: Any

    @property
    def _llm_type(self) -> str:
        return "ready"

    def bind_tools(self, tools: Any, **_: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        turn = sum(1 for message in messages if isinstance(message, AIMessage))
        call = {"name": self.episode.tool, "args": self.episode.arguments, "id": f"call_{turn}"}
        said = AIMessage("", tool_calls=[call]) if turn < self.episode.calls else AIMessage(self.episode.answer)
        return ChatResult(generations=[ChatGeneration(message=said)])

    async def _agenerate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        return self._generate(messages)


async def play(episode: Episode, episodes: int, model: BaseChatModel) -> Sequence[Played]:
    @tool(episode.tool, description=episode.description)
    async def items_search(text: str) -> str:
        return episode.reply

    agent = create_agent(model, [items_search])
    given = {"messages": [{"role": "user", "content": episode.prompt}]}
    return await each(lambda: _one(agent.ainvoke, given, 2 * episode.calls + 5), episodes)


async def _one(invoke: Callable[..., Any], given: dict[str, Any], limit: int) -> Played:
    messages = (await invoke(given, {"recursion_limit": limit}))["messages"]
    return sum(1 for message in messages if isinstance(message, ToolMessage)), str(messages[-1].content)


async def http(episode: Episode, episodes: int) -> Sequence[Played]:
    return await play(episode, episodes, ChatOpenAI(model=episode.model, base_url=episode.url, api_key="none"))


async def in_process(episode: Episode, episodes: int) -> Sequence[Played]:
    return await play(episode, episodes, Ready(episode=episode))


if __name__ == "__main__":
    main(["langchain", "langchain-openai", "langgraph", "openai"], http=http, in_process=in_process)
