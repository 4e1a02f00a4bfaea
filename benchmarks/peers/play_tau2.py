"""The episode with tau2-bench: its Orchestrator and LLMAgent on threads, a user who asks once and leaves after the answer."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import packages_distributions
from typing import Any

from loguru import logger
from measure import CONCURRENCY, Episode, Played, each, main
from tau2.agent.llm_agent import LLMAgent
from tau2.data_model.message import AssistantMessage, ToolCall, UserMessage
from tau2.data_model.tasks import InitialState, Task, UserScenario
from tau2.environment.environment import Environment
from tau2.environment.toolkit import ToolKitBase, ToolType, is_tool
from tau2.orchestrator.orchestrator import Orchestrator
from tau2.user.user_simulator import DummyUser

POLICY = "Use the tools."


class User(DummyUser):
    """Has asked already, and leaves once answered."""

    def generate_next_message(self, message: Any, state: Any) -> tuple[UserMessage, Any]:
        return UserMessage(role="user", content="###STOP###"), state


class Ready(LLMAgent):
    """An agent whose model is in this process, with replies that are tau2's own objects."""

    def __init__(self, episode: Episode, tools: Sequence[Any]) -> None:
        super().__init__(tools=list(tools), domain_policy=POLICY)
        self.episode = episode

    def generate_next_message(self, message: Any, state: Any) -> tuple[AssistantMessage, Any]:
        state.messages.append(message)
        turn = sum(1 for said in state.messages if said.role == "assistant")
        if turn < self.episode.calls:
            call = ToolCall(id=f"call_{turn}", name=self.episode.tool, arguments=dict(self.episode.arguments))
            said = AssistantMessage(role="assistant", tool_calls=[call], cost=0.0)
        else:
            said = AssistantMessage(role="assistant", content=self.episode.answer, cost=0.0)
        state.messages.append(said)
        return said, state


def environment(episode: Episode) -> Environment:
    """One with the one tool."""

    class Tools(ToolKitBase):
        @is_tool(ToolType.READ)
        def items_search(self, text: str) -> str:
            """Items by a part of their name, with their prices.

            Args:
                text: A part of the name.
            """
            return episode.reply

    return Environment("depot", POLICY, Tools())


def play_one(episode: Episode, agent: Callable[[Sequence[Any]], LLMAgent]) -> Played:
    world = environment(episode)
    asked = [UserMessage(role="user", content=episode.prompt)]
    task = Task(
        id="items", user_scenario=UserScenario(instructions="Ask."), initial_state=InitialState(message_history=asked)
    )
    user = User(instructions="Ask.", llm="none")
    run = Orchestrator("depot", agent(world.get_tools()), user, world, task).run()
    *earlier, answer, _ = run.messages
    return sum(1 for message in earlier if message.role == "tool"), str(answer.content)


async def play(episode: Episode, episodes: int, agent: Callable[[Sequence[Any]], LLMAgent]) -> Iterable[Played]:
    loop = asyncio.get_running_loop()
    with ThreadPoolExecutor(CONCURRENCY) as threads:
        return await each(lambda: loop.run_in_executor(threads, play_one, episode, agent), episodes)


async def http(episode: Episode, episodes: int) -> Iterable[Played]:
    given = {"api_base": episode.url, "api_key": "none"}
    return await play(
        episode, episodes, lambda tools: LLMAgent(list(tools), POLICY, llm=f"openai/{episode.model}", llm_args=given)
    )


async def in_process(episode: Episode, episodes: int) -> Iterable[Played]:
    return await play(episode, episodes, lambda tools: Ready(episode, tools))


if __name__ == "__main__":
    logger.remove()
    logging.disable()
    # It has been packaged under other names.
    main([packages_distributions()["tau2"][0], "litellm"], http=http, in_process=in_process)
