"""The account lacks the right."""

from __future__ import annotations

from typing import ClassVar

from simtrain.perturbation import Call, Effect, Follows, Layer, Perturbation, Recovery, Side
from simtrain.request import Answer
from simtrain.surfaces import refusal
from simtrain.tool_words import tool_words
from simtrain.types import Observation, ToolSpec


class PermissionDenied(Perturbation):
    """The account may not use a tool: it is refused from the first time on which this fires to the end of the episode.

    Source: AgentDisruptBench, ToolMisuseBench, ToolBench-X. An agent should not try again; it should find another way that the
    account is allowed, ask for the right, or say that the task cannot be done.
    """

    side: ClassVar[Side] = "call"
    layer: ClassVar[Layer] = "D"
    effect: ClassVar[Effect] = "before"
    permanent: ClassVar[bool] = True
    recoverable_by: ClassVar[tuple[Recovery, ...]] = ("switch", "ask", "abstain")
    follows: ClassVar[Follows] = "fired"

    async def apply(self, call: Call, proceed: Answer) -> Observation:
        """Refuse, and remember the tool."""
        call.memory[call.request.tool.name] = True
        return await self.follow(call, proceed)

    async def follow(self, call: Call, proceed: Answer) -> Observation:
        """Refuse the tools that were refused before."""
        if call.request.tool.name not in call.memory:
            return await proceed(call.request)
        detail = f"This account does not have the right {_right(call.request.tool)}."
        return refusal(call, "forbidden", by="permission_denied", detail=detail)


def _right(tool: ToolSpec) -> str:
    words = tool_words(tool.name)
    return f"{tool.server or words.noun or tool.name}:{words.intent or ('write' if tool.writes else 'read')}"
