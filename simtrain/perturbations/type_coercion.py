"""Numbers arrive as text."""

from __future__ import annotations

from typing import ClassVar, cast

from pydantic import Field

from simtrain.perturbation import Call, Effect, Layer, Perturbation, Recovery, Side
from simtrain.reply_edits import content_of, leaves, retold
from simtrain.request import Answer
from simtrain.schema_edits import or_otherwise, widened
from simtrain.seeding import Stream
from simtrain.types import JsonObject, JsonValue, Observation, ToolSpec, encode


class TypeCoercion(Perturbation):
    """Numbers and truth values of the reply are written as text: "12.5" for 12.5, "true" for true.

    Source: ToolMaze, AgentNoiseBench, RobustBench-TC. Nothing is lost: an agent should read them as what they are, above all before
    it compares or adds them.
    """

    side: ClassVar[Side] = "reply"
    layer: ClassVar[Layer] = "P"
    effect: ClassVar[Effect] = "after"
    recoverable_by: ClassVar[tuple[Recovery, ...]] = ("cross-check",)

    fields: list[str] | None = Field(
        default=None, min_length=1, description="Which; unset, drawn: a share of them as large as the severity."
    )

    def offer(self, tools: tuple[ToolSpec, ...], rng: Stream) -> tuple[ToolSpec, ...]:
        """The tools, with output schemas that allow for text in the place of numbers."""
        return widened(tools, or_otherwise)

    async def apply(self, call: Call, proceed: Answer) -> Observation:
        """Pass the call on and rewrite its reply; errors, and replies that are no JSON, arrive as they are."""
        observation = await proceed(call.request)
        content = content_of(observation)
        if observation.is_error or content is None:
            return observation
        fields = frozenset(self._drawn(content, call.rng) if self.fields is None else self.fields)
        coerced = _coerced(content, fields)
        if coerced == content:
            return observation
        return (
            retold(observation, coerced, tool=call.request.tool, world=call.world, source="type_coercion")
            or observation
        )

    def _drawn(self, content: JsonValue, rng: Stream) -> list[str]:
        found = {path[-1] for path, value in leaves(content) if path and isinstance(value, bool | int | float)}
        names = sorted(name for name in found if isinstance(name, str))
        return rng.sample(names, max(1, round(len(names) * self.severity)))


def _coerced(value: JsonValue, fields: frozenset[str]) -> JsonValue:
    if isinstance(value, list):
        return [_coerced(item, fields) for item in cast("list[JsonValue]", value)]
    if not isinstance(value, dict):
        return value
    return {
        name: encode(item) if name in fields and isinstance(item, bool | int | float) else _coerced(item, fields)
        for name, item in cast(JsonObject, value).items()
    }
