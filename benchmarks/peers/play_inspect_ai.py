"""The episode with inspect_ai: a task of one tool with the solver `generate`, which calls tools until the model answers.

The progress display, its control servers and the log of raw requests are off; the log of samples is written, as it always is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from tempfile import TemporaryDirectory
from typing import Any

from inspect_ai import Task, eval_async
from inspect_ai.dataset import Sample
from inspect_ai.log import EvalLog
from inspect_ai.model import ChatMessageAssistant, Model, ModelOutput, ModelUsage, get_model
from inspect_ai.solver import generate, use_tools
from inspect_ai.tool import Tool, tool
from measure import CONCURRENCY, Episode, Played, main


def offered(episode: Episode) -> Tool:
    """The one tool."""

    @tool(name=episode.tool)
    def items_search() -> Tool:
        async def execute(text: str) -> str:
            """Items by a part of their name, with their prices.

            Args:
                text: A part of the name.
            """
            return episode.reply

        return execute

    return items_search()


async def play(episode: Episode, episodes: int, model: Model) -> Iterable[Played]:
    samples = [Sample(input=episode.prompt, id=number) for number in range(episodes)]
    task = Task(dataset=samples, solver=[use_tools(offered(episode)), generate(tool_calls="loop")])
    folder = TemporaryDirectory()
    [log] = await eval_async(
        task,
        model,
        log_dir=folder.name,
        log_realtime=False,
        log_model_api=False,
        acp_server=False,
        ctl_server=False,
        score=False,
        max_samples=CONCURRENCY,
        max_connections=CONCURRENCY,
    )
    return _read(log, folder)


def _read(log: EvalLog, folder: TemporaryDirectory[str]) -> Iterator[Played]:
    """How each sample went; the log reads its samples when it is asked for them."""
    with folder:
        assert log.status == "success", log.error and log.error.message
        for sample in log.samples or ():
            yield sum(1 for message in sample.messages if message.role == "tool"), sample.messages[-1].text


async def http(episode: Episode, episodes: int) -> Iterable[Played]:
    given: Any = {"responses_api": False}
    return await play(
        episode, episodes, get_model(f"openai/{episode.model}", base_url=episode.url, api_key="none", **given)
    )


async def in_process(episode: Episode, episodes: int) -> Iterable[Played]:
    def reply(messages: Sequence[Any], *_: Any) -> ModelOutput:
        turn = sum(1 for message in messages if isinstance(message, ChatMessageAssistant))
        if turn < episode.calls:
            said = ModelOutput.for_tool_call("mockllm", episode.tool, dict(episode.arguments))
        else:
            said = ModelOutput.from_content("mockllm", episode.answer)
        # Without usage the mock would count tokens, with a vocabulary from the network.
        said.usage = ModelUsage(input_tokens=100, output_tokens=10, total_tokens=110)
        return said

    return await play(episode, episodes, get_model("mockllm/model", custom_outputs=reply, memoize=False))


if __name__ == "__main__":
    main(["inspect_ai", "openai"], http=http, in_process=in_process)
