"""Middleware that gives a LangChain agent the tools of the running episode."""

from collections.abc import Awaitable, Callable
from typing import Any

from simtrain.agents.langchain_tools import episode_tools

try:
    from langchain.agents.middleware import AgentMiddleware
except ImportError as error:
    raise ImportError("LangChain agents need the extra: pip install 'simtrain[langchain]'", name="langchain") from error


class EpisodeTools(AgentMiddleware[Any, Any]):
    """For an agent that is built once and plays many episodes: `create_agent(model, middleware=[EpisodeTools()])`."""

    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """Offer the model the tools of the episode, in addition to those that the agent was built with."""
        # Added per call: the agent was built before any episode had tools.
        return await handler(request.override(tools=[*request.tools, *episode_tools()]))

    async def awrap_tool_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """Route a call that names a tool of the episode to that tool."""
        name = request.tool_call["name"]
        tool = next((tool for tool in episode_tools() if tool.name == name), request.tool)
        return await handler(request.override(tool=tool))
