"""The same quantities, in another unit."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import ClassVar, cast

from pydantic import Field

from simtrain.perturbation import Call, Effect, Layer, Perturbation, Recovery, Side
from simtrain.reply_edits import content_of, retold
from simtrain.request import Answer
from simtrain.schema_edits import or_list, widened, without_bounds
from simtrain.seeding import Stream
from simtrain.types import JsonObject, JsonValue, Observation, ToolSpec

MONEY = ("*price*", "*amount*", "*total*", "*cost*", "*fee*", "*balance*", "*salary*", "*fare*", "*budget*", "*refund*")


class UnitDrift(Perturbation):
    """The server has moved on: quantities come in another unit (cents for units of money) under the names that they had.

    Source: ToolMaze, ToolMisuseBench. Nothing says so: an agent should notice that the figures do not go with what it knows, and
    check them by another tool. With `as_lists` single records come as lists of one as well.
    """

    side: ClassVar[Side] = "reply"
    layer: ClassVar[Layer] = "P"
    effect: ClassVar[Effect] = "after"
    visible: ClassVar[bool] = False
    permanent: ClassVar[bool] = True
    recoverable_by: ClassVar[tuple[Recovery, ...]] = ("cross-check",)

    fields: list[str] | None = Field(
        default=None,
        min_length=1,
        description="Globs over the names of the fields; unset, fractional figures under names of sums of money.",
    )
    factor: float = Field(default=100, gt=0, description="What the figures are multiplied by.")
    as_lists: bool = Field(default=False, description="Write the records inside a reply as lists of one.")

    def offer(self, tools: tuple[ToolSpec, ...], rng: Stream) -> tuple[ToolSpec, ...]:
        """The tools, with output schemas that set no bounds and, with `as_lists`, allow for lists of records."""
        tools = widened(tools, without_bounds)
        return widened(tools, or_list) if self.as_lists else tools

    async def apply(self, call: Call, proceed: Answer) -> Observation:
        """Pass the call on and convert its reply; errors, and replies that are no JSON, arrive as they are."""
        observation = await proceed(call.request)
        content = content_of(observation)
        if observation.is_error or content is None:
            return observation
        drifted = self._converted(content)
        if drifted == content:
            return observation
        return (
            retold(observation, drifted, tool=call.request.tool, world=call.world, source="unit_drift") or observation
        )

    def _converted(self, value: JsonValue) -> JsonValue:
        if isinstance(value, list):
            return [self._converted(item) for item in cast("list[JsonValue]", value)]
        if not isinstance(value, dict):
            return value
        return {name: self._member(name, item) for name, item in cast(JsonObject, value).items()}

    def _member(self, name: str, value: JsonValue) -> JsonValue:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return self._quantity(value) if self._drifts(name, value) else value
        converted = self._converted(value)
        return [converted] if self.as_lists and isinstance(converted, dict) else converted

    def _drifts(self, name: str, value: float) -> bool:
        if self.fields is None and not isinstance(value, float):
            return False
        return any(fnmatchcase(name, glob) for glob in (MONEY if self.fields is None else self.fields))

    def _quantity(self, value: float) -> float:
        converted = round(value * self.factor, 6)
        return int(converted) if converted == int(converted) else converted
