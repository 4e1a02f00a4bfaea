"""The tools of an episode as LangChain tools.

An agent that is a factory `(tools) -> graph` is given them. A graph that is compiled once for all episodes asks for those of the
running episode instead:

    from simtrain.agents.langchain_tools import episode_tools

    async def model(state):
        return {"messages": [await llm.bind_tools(episode_tools()).ainvoke(state["messages"])]}

    async def tools(state):
        return await ToolNode(episode_tools()).ainvoke(state)

A context variable holds them, so episodes that run concurrently never see each other's tools.
"""

import asyncio
from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from langchain_core.tools import BaseTool, ToolException
from pydantic import PrivateAttr

from simtrain.contracts.agent import StepFunction
from simtrain.llm.tool_names import wire_names
from simtrain.values.types import ToolSpec


@dataclass
class Notice:
    """Records whether the descriptions of an episode's tools were read, as binding them to a model does."""

    taken: bool = False


_READ_TO_BIND = frozenset({"description", "tool_call_schema", "args"})
"""The attributes that binding a tool to a model reads. A ToolNode, which only carries out calls, reads none of them."""


class EnvironmentTool(BaseTool):
    """One tool of an episode. Its arguments are described by JSON Schema and checked by the environment.

    An error reply is a tool message with the status `error`, never an exception.
    """

    native: str
    """The tool's name in the scenario; `name` is what chat servers accept."""
    notice: Any = None
    """A Notice that the tools of an episode share."""
    handle_tool_error: Any = True

    _step: StepFunction = PrivateAttr()
    _loop: asyncio.AbstractEventLoop = PrivateAttr()

    def __getattribute__(self, name: str) -> Any:
        if name in _READ_TO_BIND and (notice := super().__getattribute__("__dict__").get("notice")) is not None:
            notice.taken = True
        return super().__getattribute__(name)

    # Arguments may have any name, so `self` is positional-only and no other parameter is named.
    async def _arun(self, /, **arguments: Any) -> str:
        observation = await self._step(self.native, arguments)
        if observation.is_error:
            raise ToolException(observation.text)
        return observation.text

    def _run(self, /, **arguments: Any) -> str:
        """Make the call from a thread: LangGraph runs nodes that are not coroutines there."""
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            # The episode belongs to one event loop; the thread waits until the call was made there.
            return asyncio.run_coroutine_threadsafe(self._arun(**arguments), self._loop).result()
        # Waiting here would block the loop that has to carry the call out.
        raise RuntimeError(f"{self.name} was invoked inside the event loop; await its `ainvoke`")


def langchain_tools(tools: Sequence[ToolSpec], step: StepFunction, notice: Notice | None = None) -> list[BaseTool]:
    """Return the tools of one episode, under names that chat servers accept; call it inside the running event loop."""
    names = wire_names(tool.name for tool in tools)
    return [_tool(names[tool.name], tool, step, notice) for tool in tools]


def _tool(name: str, spec: ToolSpec, step: StepFunction, notice: Notice | None) -> BaseTool:
    # LangChain names a function by the title of its schema.
    schema = {**spec.input_schema, "title": name}
    tool = EnvironmentTool(name=name, native=spec.name, description=spec.description, args_schema=schema)
    # Set last: constructing the tool reads its description.
    tool.notice = notice
    tool._step = step  # pyright: ignore[reportPrivateUsage]
    tool._loop = asyncio.get_running_loop()  # pyright: ignore[reportPrivateUsage]
    return tool


_EPISODE: ContextVar[tuple[BaseTool, ...]] = ContextVar("simtrain_episode_tools")


def episode_tools() -> list[BaseTool]:
    """Return the tools of the episode that is being played. Raises LookupError outside one."""
    try:
        return list(_EPISODE.get())
    except LookupError:
        raise LookupError("no episode is being played here: episode_tools() belongs inside a node") from None


def offer(tools: Sequence[BaseTool]) -> None:
    """Make these the tools of the episode, for the current asyncio task and all tasks that it starts."""
    _EPISODE.set(tuple(tools))
