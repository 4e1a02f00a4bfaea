"""Look-alike tools among the true ones."""

from dataclasses import replace
from math import ceil
from typing import ClassVar, cast

from pydantic import Field

from simtrain.contracts.perturbation import Call, Traits
from simtrain.contracts.request import Answer
from simtrain.perturbations.catalogued import Catalogued
from simtrain.perturbations.error_wordings import Kind
from simtrain.perturbations.pools import pool
from simtrain.values.seeding import Stream
from simtrain.values.types import JsonObject, Observation, ToolSpec


class DistractorTools(Catalogued):
    """Tools are added that look like real ones but are useless: retired, archived, for testing, out of reach.

    Source: RoTBench, BENCH2ROBUST, MSB. An agent should choose by description. A wrong choice is answered as such a
    tool would answer, changes nothing and costs a call. They are there for the whole episode; the trigger is ignored.
    """

    traits: ClassVar[Traits] = Traits(side="manifest", layer="P", recoverable_by=("switch",))

    count: int | None = Field(
        default=None, ge=1, description="Tools added; unset, the severity's share of the true ones."
    )

    def offer(self, tools: tuple[ToolSpec, ...], rng: Stream) -> tuple[ToolSpec, ...]:
        """Return the tools, each look-alike directly before or after the tool that it resembles."""
        count = ceil(len(tools) * self.severity) if self.count is None else self.count
        taken = {tool.name for tool in tools}
        shown = list(tools)
        for original in rng.sample(tools, count):
            made = self._look_alike(original, rng)
            if made.name not in taken:
                shown.insert(shown.index(original) + rng.integer(0, 1), made)
        return tuple(shown)

    async def serve(self, call: Call, proceed: Answer) -> Observation:
        """Return the reply of such a tool: a refusal, or an empty result."""
        kind = _kind_of(call.request.tool.name)
        if kind["refuses"]:
            return self.refusal(call, cast(Kind, kind["refuses"]), str(kind["reply"]))
        return self.reply(str(kind["reply"]))

    def _look_alike(self, original: ToolSpec, rng: Stream) -> ToolSpec:
        kind = rng.choose(_kinds())
        description = str(kind["description"]).format(description=original.description)
        # Such a tool answers in prose; with an output schema, MCP clients raise on a reply without structured content.
        return replace(original, name=f"{original.name}{kind['suffix']}", description=description, output_schema=None)


def _kinds() -> list[JsonObject]:
    return pool("distractor_tools")["kinds"]


def _kind_of(tool: str) -> JsonObject:
    return next(kind for kind in _kinds() if tool.endswith(str(kind["suffix"])))
