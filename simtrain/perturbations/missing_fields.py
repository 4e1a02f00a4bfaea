"""Fields of a reply are missing."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from simtrain.contracts.perturbation import Call, Perturbation, Traits
from simtrain.contracts.request import Answer
from simtrain.perturbations.reply_edits import content_of, leaves, retold
from simtrain.perturbations.schema_edits import or_less, widened
from simtrain.values.seeding import Stream
from simtrain.values.types import JsonObject, JsonValue, Observation, ToolSpec, is_list, is_object


class MissingFields(Perturbation):
    """Some fields do not arrive, in any record of the reply: they are left out, or null.

    Source: ToolMaze, AgentDisruptBench, ToolBench-X. An agent should get them from another tool or ask, and not make them up.
    """

    traits: ClassVar[Traits] = Traits(
        side="reply", layer="P", effect="after", recoverable_by=("switch", "retry", "ask")
    )

    fields: list[str] | None = Field(
        default=None, min_length=1, description="Which; unset, drawn: a share of them as large as the severity."
    )
    left: Literal["out", "null"] | None = Field(default=None, description="Left `out`, or `null`; unset, drawn.")

    def offer(self, tools: tuple[ToolSpec, ...], rng: Stream) -> tuple[ToolSpec, ...]:
        """Return the tools, with output schemas that allow for less."""
        return widened(tools, or_less)

    async def apply(self, call: Call, proceed: Answer) -> Observation:
        """Pass the call on and thin out its reply; errors, and replies that are no JSON, arrive as they are."""
        observation = await proceed(call.request)
        content = content_of(observation)
        if observation.is_error or content is None:
            return observation
        missing = frozenset(self._drawn(content, call.rng) if self.fields is None else self.fields)
        left = self.left or call.rng.choose(("out", "null"))
        thinned = _thinned(content, missing, null=left == "null")
        if thinned == content:
            return observation
        return (
            retold(observation, thinned, tool=call.request.tool, world=call.world, source="missing_fields")
            or observation
        )

    def _drawn(self, content: JsonValue, rng: Stream) -> list[str]:
        """Return at least one of the fields, and not all."""
        names = sorted({path[-1] for path, _ in leaves(content) if path and isinstance(path[-1], str)})
        if len(names) < 2:
            return []
        return rng.sample(names, min(max(1, round(len(names) * self.severity)), len(names) - 1))


def _thinned(value: JsonValue, missing: frozenset[str], *, null: bool) -> JsonValue:
    if is_list(value):
        return [_thinned(item, missing, null=null) for item in value]
    if not is_object(value):
        return value
    thinned: JsonObject = {}
    for name, item in value.items():
        if name not in missing:
            thinned[name] = _thinned(item, missing, null=null)
        elif null:
            thinned[name] = None
    return thinned
