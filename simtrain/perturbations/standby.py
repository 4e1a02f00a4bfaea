"""Standby tools: the same tools on a second server, described as such, over the same records."""

from collections.abc import Callable
from dataclasses import replace

from simtrain.contracts.perturbation import Call
from simtrain.contracts.request import Answer
from simtrain.values.errors import SimulatorFault
from simtrain.values.types import Observation, ToolSpec

PASSING = "passing"
"""Key in a call's memory: the call comes from a standby tool and must pass."""


def with_stand_ins(
    tools: tuple[ToolSpec, ...], suffix: str, note: str, *, of: Callable[[ToolSpec], bool] = lambda _: True
) -> tuple[ToolSpec, ...]:
    """Return the tools, followed by one standby tool for each that `of` selects, with `note` added to its description."""
    taken = {tool.name for tool in tools}
    further = (
        replace(tool, name=_name(tool, suffix), description=f"{tool.description} {note}".strip())
        for tool in tools
        if of(tool)
    )
    return (*tools, *(tool for tool in further if tool.name not in taken))


async def stand_in(call: Call, proceed: Answer, suffix: str) -> Observation:
    """Answer with the tool that a standby tool stands for, without the perturbation that closed it."""
    name = call.request.tool.name
    tool = next((tool for tool in call.given if _name(tool, suffix) == name), None)
    if tool is None:
        raise SimulatorFault(f"no tool stands behind {name}")
    call.memory[PASSING] = True
    try:
        return await proceed(replace(call.request, tool=tool))
    finally:
        # Not kept beyond this call, or the closed tool would open again.
        del call.memory[PASSING]


def _name(tool: ToolSpec, suffix: str) -> str:
    server, _, plain = tool.name.rpartition(".")
    return f"{server}_{suffix}.{plain}" if server else f"{plain}_{suffix}"
