"""Fields of a reply are missing."""

from typing import ClassVar, Literal

from pydantic import Field

from simtrain.contracts.perturbation import Call, Traits
from simtrain.perturbations.catalogued import ContentPerturbation
from simtrain.perturbations.reply_edits import leaves
from simtrain.perturbations.schema_edits import or_less, widened
from simtrain.values.json_walk import each_object
from simtrain.values.seeding import Stream
from simtrain.values.types import JsonObject, JsonValue, ToolSpec


class MissingFields(ContentPerturbation):
    """Some fields are missing from every record of the reply: left out, or null.

    Source: ToolMaze, AgentDisruptBench, ToolBench-X. An agent should get them from another tool or ask, and not make
    them up.
    """

    traits: ClassVar[Traits] = Traits(side="reply", layer="P", recoverable_by=("switch", "retry", "ask"))

    fields: list[str] | None = Field(
        default=None, min_length=1, description="Which; unset, drawn: a share of them as large as the severity."
    )
    left: Literal["out", "null"] | None = Field(default=None, description="Left `out`, or `null`; unset, drawn.")

    def offer(self, tools: tuple[ToolSpec, ...], rng: Stream) -> tuple[ToolSpec, ...]:
        """Return the tools, with output schemas that allow missing fields."""
        return widened(tools, or_less)

    def changed_content(self, call: Call, content: JsonValue) -> JsonValue:
        """Return the content without some of its fields."""
        missing = frozenset(self._drawn(content, call.rng) if self.fields is None else self.fields)
        null = (self.left or call.rng.choose(("out", "null"))) == "null"

        def thinned(held: JsonObject) -> JsonObject:
            return {name: None if name in missing else held[name] for name in held if null or name not in missing}

        return each_object(content, thinned)

    def _drawn(self, content: JsonValue, rng: Stream) -> list[str]:
        """Return at least one of the fields, and not all."""
        # Sorted, since the order of a set of texts changes with each process.
        names = sorted({path[-1] for path, _ in leaves(content) if path and isinstance(path[-1], str)})
        if len(names) < 2:
            return []
        return rng.sample(names, min(max(1, round(len(names) * self.severity)), len(names) - 1))
