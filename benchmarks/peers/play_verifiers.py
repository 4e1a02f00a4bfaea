"""The episode with verifiers: a ToolEnv with one function, and a reward for the right answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

import verifiers as vf
from datasets import Dataset
from measure import CONCURRENCY, Episode, Played, main
from verifiers.clients import Client, resolve_client
from verifiers.types import ClientConfig, Response, ResponseMessage, ToolCall, Usage


class Ready(Client[Any, Any, Any, Any]):
    """A model in this process, whose replies are verifiers' own objects."""

    def __init__(self, episode: Episode) -> None:
        super().__init__(None)
        self.episode = episode

    async def get_response(self, prompt: Any, model: str, sampling_args: Any, tools: Any = None, **_: Any) -> Response:
        turn = sum(1 for message in prompt if message.role == "assistant")
        calling = turn < self.episode.calls
        call = ToolCall(id=f"call_{turn}", name=self.episode.tool, arguments='{"text": "an"}')
        message = ResponseMessage(
            content=None if calling else self.episode.answer,
            tool_calls=[call] if calling else None,
            finish_reason="tool_calls" if calling else "stop",
            is_truncated=False,
        )
        usage = Usage(prompt_tokens=100, reasoning_tokens=0, completion_tokens=10, total_tokens=110)
        return Response(id=f"{turn}", created=0, model=model, usage=usage, message=message)

    def setup_client(self, config: Any) -> Any: ...
    async def to_native_tool(self, tool: Any) -> Any: ...
    async def to_native_prompt(self, messages: Any) -> Any: ...
    async def get_native_response(self, *_: Any, **__: Any) -> Any: ...
    async def raise_from_native_response(self, response: Any) -> None: ...
    async def from_native_response(self, response: Any) -> Any: ...
    async def close(self) -> None: ...


def environment(episode: Episode) -> vf.ToolEnv:
    """An environment with the one tool."""

    def items_search(text: str) -> str:
        """Items by a part of their name, with their prices."""
        return episode.reply

    def answered(completion: Any) -> float:
        return float(completion[-1].content == episode.answer)

    dataset = Dataset.from_list([{"prompt": [{"role": "user", "content": episode.prompt}], "answer": ""}])
    rubric = vf.Rubric(funcs=[answered])
    return vf.ToolEnv(tools=[items_search], max_turns=episode.calls + 1, eval_dataset=dataset, rubric=rubric)


async def play(episode: Episode, episodes: int, model: Client[Any, Any, Any, Any]) -> Iterable[Played]:
    found = await environment(episode).evaluate(
        model,
        model=episode.model,
        rollouts_per_example=episodes,
        max_concurrent=CONCURRENCY,
        independent_scoring=True,
        on_start=lambda *_: None,
        on_progress=lambda *_: None,
        on_log=lambda *_: None,
    )
    return (_played(output["completion"]) for output in found["outputs"])


def _played(completion: Sequence[Any]) -> Played:
    return sum(1 for message in completion if message["role"] == "tool"), str(completion[-1]["content"])


@cache
def client(url: str) -> Client[Any, Any, Any, Any]:
    """One for all rounds, as the other peers keep theirs."""
    return resolve_client(ClientConfig(api_base_url=url, api_key_var="OPENAI_API_KEY"))


async def http(episode: Episode, episodes: int) -> Iterable[Played]:
    return await play(episode, episodes, client(episode.url))


async def in_process(episode: Episode, episodes: int) -> Iterable[Played]:
    return await play(episode, episodes, Ready(episode))


if __name__ == "__main__":
    main(["verifiers", "openai"], http=http, in_process=in_process)
