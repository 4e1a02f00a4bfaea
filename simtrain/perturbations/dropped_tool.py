"""Tools are missing from the list."""

from typing import ClassVar

from pydantic import Field

from simtrain.contracts.perturbation import Perturbation, Traits
from simtrain.contracts.tool_globs import named_by
from simtrain.values.seeding import Stream
from simtrain.values.types import JsonObject, ToolSpec


class DroppedTool(Perturbation):
    """Tools that the task seems to need are missing for the whole episode; calling one is calling an unknown tool.

    Source: ToolMaze, RoTBench. An agent should find another way, or say that there is none. It acts on the list of
    tools; its trigger is ignored.
    """

    traits: ClassVar[Traits] = Traits(side="manifest", layer="P", recoverable_by=("switch", "abstain"))
    example: ClassVar[JsonObject] = {"with": {"tools": ["orders.list"]}}

    tools: str | list[str] = Field(description="Glob, or list of globs, over the names of the tools to leave out.")

    def offer(self, tools: tuple[ToolSpec, ...], rng: Stream) -> tuple[ToolSpec, ...]:
        """Return the tools without the dropped ones."""
        dropped = named_by(self.tools, tools)
        return tuple(tool for tool in tools if tool.name not in dropped)
