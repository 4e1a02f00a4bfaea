"""Numbers arrive as text."""

from __future__ import annotations

from typing import ClassVar, cast

from pydantic import Field

from simtrain.perturbations.rewritten_values import RewrittenValues
from simtrain.reply_edits import leaves
from simtrain.seeding import Stream
from simtrain.types import JsonObject, JsonValue, encode


class TypeCoercion(RewrittenValues):
    """Numbers and truth values of the reply are written as text: "12.5" for 12.5, "true" for true.

    Source: ToolMaze, AgentNoiseBench, RobustBench-TC. Nothing is lost: an agent should read them as what they are, above all before
    it compares or adds them.
    """

    name: ClassVar[str] = "type_coercion"

    fields: list[str] | None = Field(
        default=None, min_length=1, description="Which; unset, drawn: a share of them as large as the severity."
    )

    def rewritten(self, content: JsonValue, rng: Stream) -> JsonValue:
        """Numbers as text."""
        fields = self._drawn(content, rng) if self.fields is None else self.fields
        return _coerced(content, frozenset(fields))

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
