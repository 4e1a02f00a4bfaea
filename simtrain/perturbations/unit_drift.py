"""The same quantities, in another unit."""

from fnmatch import fnmatchcase
from typing import ClassVar

from pydantic import Field

from simtrain.contracts.perturbation import Call, Traits
from simtrain.files.json_schemas import declared_names
from simtrain.perturbations.catalogued import ContentPerturbation
from simtrain.perturbations.schema_edits import or_list, widened, without_bounds
from simtrain.perturbations.units import drifted, may_drift, other_unit, respelt, speaks_of_money, times
from simtrain.values.seeding import Stream
from simtrain.values.types import JsonObject, JsonValue, ToolSpec, is_list, is_object

_UNIT, _VALUE = ("unit", "units", "uom"), ("value", "amount", "quantity", "size", "figure", "measurement")


class UnitDrift(ContentPerturbation):
    """Quantities come in another unit (cents, seconds, metres) under their old names.

    Source: ToolMaze, ToolMisuseBench. Nothing says so, except that a unit beside its figure changes too. An agent
    should notice that the figures do not fit what it knows, and check them with another tool. With `as_lists`, single
    records also come as lists of one.
    """

    traits: ClassVar[Traits] = Traits(side="reply", layer="P", visible=False, recoverable_by=("cross-check",))

    fields: list[str] | None = Field(
        default=None,
        min_length=1,
        description="Globs over the names of the fields; unset, those that are named like a quantity: money, durations, distances, ...",
    )
    factor: float | None = Field(
        default=None,
        gt=0,
        description="What the figures are multiplied by; unset, what leads to the next unit (100 for money).",
    )
    as_lists: bool = Field(default=False, description="Write the records inside a reply as lists of one.")

    def reaches(self, tool: ToolSpec) -> bool:
        """True if a tool declares a field with such a name, or declares no output."""
        figures = declared_names(tool.output_schema, "number", "integer", "array")
        texts = declared_names(tool.output_schema, "string")
        if figures is None or texts is None or self.as_lists:
            return True
        if self.fields is not None:
            return any(self._is_named(name) for name in figures | texts)
        return any(may_drift(name) for name in figures) or any(_is_measured(name) for name in texts)

    def offer(self, tools: tuple[ToolSpec, ...], rng: Stream) -> tuple[ToolSpec, ...]:
        """Return the tools, with output schemas without bounds and, with `as_lists`, with lists of records."""
        tools = widened(tools, without_bounds)
        return widened(tools, or_list) if self.as_lists else tools

    def changed_content(self, call: Call, content: JsonValue) -> JsonValue:
        """Return the content with its quantities in other units."""
        return self._converted(content, money=speaks_of_money(call.request.tool.name))

    def _converted(self, value: JsonValue, *, money: bool = False) -> JsonValue:
        if is_list(value):
            return [self._converted(item, money=money) for item in value]
        if not is_object(value):
            return value
        if self.fields is None and (measure := _measure(value)) is not None:
            return {**value, **measure}
        # A currency beside a figure marks it as money, as `total` alone does not.
        currency = any(name.lower() == "currency" for name in value)
        return {name: self._member(name, item, money=money, currency=currency) for name, item in value.items()}

    def _member(self, name: str, value: JsonValue, *, money: bool, currency: bool) -> JsonValue:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return self._figure(name, value, money=money, currency=currency)
        # By type and not isinstance: True is an int, and a list of flags is no list of quantities.
        if is_list(value) and value and all(type(item) in (int, float) for item in value):
            return [self._figure(name, figure, money=money, currency=currency) for figure in value]
        if isinstance(value, str):
            return self._text(name, value)
        converted = self._converted(value, money=money or speaks_of_money(name))
        return [converted] if self.as_lists and is_object(converted) else converted

    def _figure(self, name: str, value: float, *, money: bool, currency: bool) -> float:
        if self.fields is None:
            other = drifted(name, value, money=money, currency=currency)
            return value if other is None else other if self.factor is None else times(value, self.factor)
        if not self._is_named(name):
            return value
        if self.factor is not None:
            return times(value, self.factor)
        other = drifted(name, value, money=money, currency=currency)
        # The author named the field, so it drifts even if nothing about its name says how.
        return times(value, 100) if other is None else other

    def _text(self, name: str, value: str) -> str:
        """Return a quantity written with its unit in another one, if the field's name says that it is a quantity."""
        if self._is_named(name) if self.fields is not None else _is_measured(name):
            return respelt(value) or value
        return value

    def _is_named(self, name: str) -> bool:
        return self.fields is not None and any(fnmatchcase(name, glob) for glob in self.fields)


def _is_measured(name: str) -> bool:
    """Return True if a text field of that name may be a quantity with its unit, or the unit of one beside it."""
    return name.lower() in (*_UNIT, *_VALUE) or may_drift(name, moments=False)


def _measure(record: JsonObject) -> JsonObject | None:
    """Return the changes to a record that is a figure with its unit beside it; None for other records."""
    unit = next((name for name in record if name.lower() in _UNIT), None)
    named: JsonValue = None if unit is None else record[unit]
    other = other_unit(named) if isinstance(named, str) else None
    figures = {name: value for name, value in record.items() if name.lower() in _VALUE and type(value) in (int, float)}
    if unit is None or other is None or not figures:
        return None
    return {**{name: times(value, other[0]) for name, value in figures.items()}, unit: other[1]}
