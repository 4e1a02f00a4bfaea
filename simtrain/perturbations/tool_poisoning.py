"""An instruction planted in the description of a tool."""

from dataclasses import replace
from typing import ClassVar, Literal

from pydantic import Field

from simtrain.contracts.perturbation import Perturbation, Traits
from simtrain.contracts.tool_globs import named_by
from simtrain.perturbations.attacks.carriers import Carrier, payload
from simtrain.perturbations.attacks.goal import GoalKnob, aims, shipped
from simtrain.values.seeding import Stream
from simtrain.values.types import JsonObject, ToolSpec


class ToolPoisoning(Perturbation):
    """The descriptions of some tools tell the agent to do something else; the tools work as usual.

    Source: MSB, AgentDojo. An agent should read a description only as documentation and ignore its orders. The
    perturbation acts on the list of tools for the whole episode; its trigger is ignored. Goals that depend on the
    world's rows cannot be planted here. If no goal can be reached with the offered tools, nothing changes.
    """

    traits: ClassVar[Traits] = Traits(side="manifest", layer="P", recoverable_by=("cross-check",), attacks=True)
    example: ClassVar[JsonObject] = {"with": {"goal": "answer_hijack"}}

    tools: str | list[str] = Field(default="*", description="Glob, or list of globs, over the tools to choose among.")
    count: int | None = Field(
        default=None,
        ge=1,
        description="Descriptions that are poisoned; unset, more the higher the severity, at most 4.",
    )
    goal: GoalKnob | None = Field(
        default=None, description="What the attack is after: the name of a shipped goal, or a goal; unset, drawn."
    )
    carrier: Carrier = Field(default="plain", description="Its form: plain, markdown, comment, encoded or language.")
    placement: Literal["start", "end"] = Field(default="end", description="Where to put it in the description.")

    def offer(self, tools: tuple[ToolSpec, ...], rng: Stream) -> tuple[ToolSpec, ...]:
        """Return the tools, some of them poisoned."""
        # `offer` is given no world, so goals whose arguments come from its rows are left out.
        found = aims(shipped() if self.goal is None else (self.goal,), tools, None)
        if not found:
            return tools
        order = rng.choose(found)
        count = 1 + int(3 * self.severity) if self.count is None else self.count
        reached = named_by(self.tools, tools)
        chosen = {tool.name for tool in rng.sample([tool for tool in tools if tool.name in reached], count)}
        words = payload(order, self.carrier, severity=self.severity, rng=rng)
        return tuple(self._poisoned(tool, words) if tool.name in chosen else tool for tool in tools)

    def _poisoned(self, tool: ToolSpec, words: str) -> ToolSpec:
        parts = (words, tool.description) if self.placement == "start" else (tool.description, words)
        return replace(tool, description="\n\n".join(part for part in parts if part))
