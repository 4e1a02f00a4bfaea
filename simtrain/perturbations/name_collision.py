"""Two tools with the same name."""

from dataclasses import replace
from typing import ClassVar

from pydantic import Field

from simtrain.contracts.perturbation import Call, Traits
from simtrain.contracts.request import Answer
from simtrain.contracts.tool_globs import named_by
from simtrain.perturbations.catalogued import Catalogued
from simtrain.values.seeding import Stream
from simtrain.values.types import Observation, ToolSpec

OTHERS = {
    "archive": "the archive, which holds closed records of past years only",
    "staging": "the staging system, whose records are made up for tests",
    "legacy": "the system that was replaced, which gets no new records",
    "training": "the training system for new colleagues",
}
"""Second system -> the sentence about it in its tools' descriptions."""


class NameCollision(Catalogued):
    """Tools have a namesake on another server, with other records; only the descriptions differ.

    Source: MSB, RoTBench. An agent should read whose tool it calls, and use the other one if it chose wrongly. It acts
    on the list of tools; its trigger is ignored. Clients and models refuse identical names, so these cannot be offered.
    """

    traits: ClassVar[Traits] = Traits(side="manifest", layer="P", recoverable_by=("switch",))

    tools: str | list[str] | None = Field(
        default=None,
        description="Glob, or list of globs, over the tools that get a namesake; unset, drawn: a share of them by severity.",
    )

    def offer(self, tools: tuple[ToolSpec, ...], rng: Stream) -> tuple[ToolSpec, ...]:
        """Return the tools, with each namesake before its original."""
        other = rng.choose(tuple(OTHERS))
        drawn = rng.sample(tools, max(1, round(len(tools) * self.severity))) if self.tools is None else ()
        chosen = {tool.name for tool in drawn} if self.tools is None else named_by(self.tools, tools)
        taken = {tool.name for tool in tools}
        found: list[ToolSpec] = []
        for tool in tools:
            twin = _twin(tool, other)
            # Namesake first: an agent that takes the first match must not be right by chance.
            found += [twin, tool] if tool.name in chosen and twin.name not in taken else [tool]
        return tuple(found)

    async def serve(self, call: Call, proceed: Answer) -> Observation:
        """Answer that the other system has no such record."""
        other = call.request.tool.server.rpartition("_")[2]
        return self.refusal(call, "not_found", f"There is no such record in {OTHERS.get(other, other)}.")


def _twin(tool: ToolSpec, other: str) -> ToolSpec:
    server, _, plain = tool.name.rpartition(".")
    name = f"{server}_{other}.{plain}" if server else f"{other}.{plain}"
    return replace(tool, name=name, description=f"{tool.description} Works on {OTHERS[other]}.".strip())
