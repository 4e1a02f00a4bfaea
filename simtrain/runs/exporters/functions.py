"""The tools of a trajectory as OpenAI-style function definitions, under names that the API allows."""

from simtrain.contracts.trajectory import Trajectory
from simtrain.llm.conversation import names_of as names_of
from simtrain.llm.tool_names import definition
from simtrain.values.types import JsonObject


def definitions(trajectory: Trajectory, names: dict[str, str]) -> list[JsonObject]:
    """Return the offered tools as function definitions."""
    return [definition(tool, names[tool.name]) for tool in trajectory.tools]
