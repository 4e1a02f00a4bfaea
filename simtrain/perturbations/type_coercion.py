"""Values arrive as another type: numbers as text, booleans as digits, an instant as seconds, a single item in place of a list."""

import re
from datetime import datetime
from typing import Literal, TypeAlias

from pydantic import Field

from simtrain.contracts.perturbation import Call
from simtrain.files.json_schemas import may_hold
from simtrain.perturbations.rewritten_values import RewrittenValues
from simtrain.perturbations.schema_edits import or_confused, widened
from simtrain.values.json_walk import each_object, objects_in
from simtrain.values.seeding import Stream
from simtrain.values.types import JsonObject, JsonValue, ToolSpec, encode, is_list

Kind: TypeAlias = Literal["numbers", "truth", "null", "single", "instants"]

_INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d)?Z")
_TRUTH: tuple[tuple[JsonValue, JsonValue], ...] = (("false", "true"), (0, 1), ("no", "yes"))
_NULL = ("null", "")


class TypeCoercion(RewrittenValues):
    """Fields have another type, without loss: "12.5" for 12.5, "yes" for true, one item for a list of one.

    Source: ToolMaze, AgentNoiseBench, RobustBench-TC. An agent should convert them back, above all before it compares
    or adds them. True may also be "true" or 1, null may be "", and an instant of UTC may be seconds since
    1970.
    """

    fields: list[str] | None = Field(
        default=None, min_length=1, description="Which; unset, drawn: a share of them as large as the severity."
    )
    kinds: list[Kind] = Field(
        default=["numbers", "truth", "null", "single", "instants"],
        min_length=1,
        description="Which values may be taken for another type.",
    )

    def reaches(self, tool: ToolSpec) -> bool:
        """True if a tool may return such a value, or declares no output."""
        return may_hold(tool.output_schema, "number", "integer", "boolean", "null", "array", "string")

    def offer(self, tools: tuple[ToolSpec, ...], rng: Stream) -> tuple[ToolSpec, ...]:
        """Return the tools, with output schemas that allow the other types."""
        return widened(tools, or_confused)

    def changed_content(self, call: Call, content: JsonValue) -> JsonValue:
        """Return the fields as another type."""
        members = (member for held in objects_in(content) for member in held.items())
        found = sorted({name for name, item in members if "cursor" not in name and self._kind(item) is not None})
        fields = (
            call.rng.sample(found, max(1, round(len(found) * self.severity))) if self.fields is None else self.fields
        )
        # One form per field for the whole reply: real services confuse types in a field, not at random.
        truth = {name: call.rng.choose(_TRUTH) for name in sorted(fields)}
        null = {name: call.rng.choose(_NULL) for name in sorted(fields)}

        def coerced(held: JsonObject) -> JsonObject:
            return {
                name: _as_kind(self._kind(item), item, truth[name], null[name]) if name in truth else item
                for name, item in held.items()
            }

        return each_object(content, coerced)

    def _kind(self, value: JsonValue) -> Kind | None:
        kind = _kind_of(value)
        return kind if kind in self.kinds else None


def _kind_of(value: JsonValue) -> Kind | None:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "truth"
    if isinstance(value, int | float):
        return "numbers"
    if isinstance(value, str):
        return "instants" if _INSTANT.fullmatch(value) and _seconds(value) is not None else None
    # A list of one list would be taken for a longer one.
    items = value if is_list(value) else []
    return "single" if len(items) == 1 and not isinstance(items[0], list | None) else None


def _as_kind(kind: Kind | None, value: JsonValue, truth: tuple[JsonValue, JsonValue], null: str) -> JsonValue:
    """Return a value of a kind as another type."""
    match kind:
        case "truth":
            return truth[bool(value)]
        case "null":
            return null
        case "single":
            return value[0]
        case "numbers":
            return encode(value)
        case "instants":
            return _seconds(value)
        case None:
            return value


def _seconds(text: str) -> int | None:
    """Return the seconds since 1970 for an instant, if nothing is lost; None for other texts."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return int(moment.timestamp())
