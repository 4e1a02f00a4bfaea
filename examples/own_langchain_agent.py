"""A LangChain agent in a simulated environment, in both forms. Needs the extra: pip install 'simtrain[langchain]'.

    python examples/own_langchain_agent.py

A model with fixed messages takes the place of yours, so the example runs without a key. Yours would be `init_chat_model("openai:...")`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.tools import BaseTool

from simtrain import as_agent, load_scenario, rollout
from simtrain.agents.langchain_middleware import EpisodeTools
from simtrain.contracts.trajectory import Trajectory


class ScriptedModel(GenericFakeChatModel):
    """A chat model that returns the given messages in order, whatever its input."""

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:
        return self


def repeating(played: Trajectory) -> BaseChatModel:
    """Return a model that repeats an episode: one message with a tool call per step, then the answer."""
    messages: list[AIMessage] = [
        AIMessage("", tool_calls=[{"name": tool.replace(".", "_"), "args": arguments, "id": id, "type": "tool_call"}])
        for tool, arguments, id in ((step.action.tool, step.action.arguments, step.action.id) for step in played.steps)
    ]
    return ScriptedModel(messages=iter([*messages, AIMessage(f"That was it.\nANSWER: {played.answer}")]))


def show(form: str, trajectory: Trajectory) -> None:
    calls = ", ".join(step.action.tool for step in trajectory.steps)
    print(f"{form}: {calls} -> {trajectory.answer!r}, {trajectory.stop.reason}, reward {trajectory.reward}")


async def main() -> None:
    scenario = load_scenario("helpdesk/refund")
    played = await rollout(scenario, "oracle")

    # A factory is called for every episode, with its tools.
    def factory(tools: list[BaseTool]) -> Any:
        return create_agent(repeating(played), tools)

    show("factory", await rollout(scenario, as_agent(factory)))

    # An agent made once gets the tools of each episode from middleware.
    agent = create_agent(repeating(played), middleware=[EpisodeTools()])
    show("middleware", await rollout(scenario, as_agent(agent)))


if __name__ == "__main__":
    asyncio.run(main())
