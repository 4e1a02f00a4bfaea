"""The tools of a trajectory as OpenAI-style function definitions, under names that the wire allows."""

from __future__ import annotations

from simtrain.contracts.trajectory import Trajectory
from simtrain.llm.tool_names import definition, wire_names
from simtrain.values.types import JsonObject


def names_of(trajectory: Trajectory) -> dict[str, str]:
    """Return tool name to wire-safe name, for the tools that were offered and then for those that were only called."""
    offered = [tool.name for tool in trajectory.tools]
    return wire_names(list(dict.fromkeys([*offered, *(step.action.tool for step in trajectory.steps)])))


def definitions(trajectory: Trajectory, names: dict[str, str]) -> list[JsonObject]:
    """Return the tools that were offered, as function definitions."""
    return [definition(tool, names[tool.name]) for tool in trajectory.tools]
