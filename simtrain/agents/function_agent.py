"""An async function as an agent."""

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, TypeAlias

from pydantic import Field

from simtrain.agents.answers import spoken
from simtrain.agents.plan import answering, declining
from simtrain.contracts.agent import Abstain, Briefing, Loop, StepFunction
from simtrain.values.errors import AgentFault
from simtrain.values.types import Message

# This is user code: its declared return type proves nothing, so the value itself is checked.
AgentFunction: TypeAlias = Callable[..., Awaitable[Any]]


class FunctionAgent(Loop):
    """An async function `(prompt, tools, step) -> answer`.

    `prompt` is the task, `tools` the ToolSpecs, and `await step(name, arguments)` makes a call and returns its Observation. A
    keyword-only parameter `system` gets the system prompt. The answer is a text (which may use the marks ANSWER: and CANNOT:),
    `Abstain(reason)`, a Message, or any other JSON value.
    """

    function: AgentFunction = Field(description="The function.")

    async def run(self, briefing: Briefing, step: StepFunction) -> Message:
        """Await the function. Raises AgentFault for an answer that is not a JSON value."""
        extra = {"system": briefing.system} if wants_system(self.function) else {}
        return _final(await self.function(briefing.prompt, briefing.tools, step, **extra))


def wants_system(function: AgentFunction) -> bool:
    """True if the function has a keyword-only parameter `system`."""
    parameter = inspect.signature(function).parameters.get("system")
    return parameter is not None and parameter.kind is inspect.Parameter.KEYWORD_ONLY


def _final(answer: object) -> Message:
    if isinstance(answer, Message):
        # A final message has no calls; calls in it would be recorded and never carried out.
        return replace(answer, calls=())
    if isinstance(answer, Abstain):
        return declining(answer.reason)
    if isinstance(answer, str):
        return spoken(answer)
    try:
        return answering(answer)
    except TypeError as error:
        raise AgentFault(f"the agent's answer is not a JSON value: {error}") from None
