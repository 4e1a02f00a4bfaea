"""Compare the answer with one computed from the initial world."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import ClassVar, Literal, TypeAlias

import orjson
from pydantic import Field, model_validator

from simtrain.contracts.grader import Grader, score
from simtrain.contracts.trajectory import Reward, Trajectory
from simtrain.contracts.world import FinishedWorld, World
from simtrain.files.templates import Value
from simtrain.grading.answer_forms import Unreadable, read_items, read_json, read_table
from simtrain.grading.stated_values import stated_items, stated_number, states
from simtrain.values.comparing import (
    Overlap,
    distinct,
    is_number,
    overlap_of_rows,
    overlap_of_sets,
    same_json,
    same_number,
    shown,
    text_of,
)
from simtrain.values.errors import InputError, nearest
from simtrain.values.normal_text import normal_text
from simtrain.values.numerals import read_number
from simtrain.values.types import JsonObject, JsonValue, is_list, is_object
from simtrain.worlds.sql_checks import try_columns, try_rows

Form: TypeAlias = Literal["exact", "text", "number", "set", "table", "json"]


class Answer(Grader):
    """1 if the agent answered and the answer is right, else 0 (with `partial`, F1 for sets and tables).

    The right answer comes from SQL over the initial world or from a template over the case. It must be unique: one row
    with one column, for a set one column, for a table at least one row.
    """

    example: ClassVar[JsonObject] = {"with": {"sql": "select id from cakes where name = :cake"}}

    sql: str | None = Field(None, description="A SELECT over the initial world that gives the right answer.")
    value: JsonValue = Field(
        None, description="A template over the case that gives the right answer, instead of `sql`."
    )
    form: Form = Field(
        "text", alias="as", description="How to read and compare: exact, text, number, set, table or json."
    )
    tolerance: float = Field(0.005, ge=0, allow_inf_nan=False, description="How far numbers may be apart, absolute.")
    partial: bool = Field(False, description="Give F1 instead of 1 or 0, for `as: set` and `as: table`.")

    @model_validator(mode="after")
    def _fits_together(self) -> Answer:
        if (self.sql is None) == (self.value is None):
            raise ValueError("answer needs either `sql` or `value`")
        if self.partial and self.form not in ("set", "table"):
            raise ValueError("`partial` needs `as: set` or `as: table`")
        if "tolerance" in self.model_fields_set and self.form in ("exact", "text"):
            raise ValueError("`tolerance` needs numbers: `as: number`, set, table or json")
        return self

    @cached_property
    def _template(self) -> Value:
        return Value(self.value)

    def check(self, world: World, case: Mapping[str, JsonValue]) -> None:
        if self.sql is not None:
            columns = try_columns(world, self.sql, case, place="sql")
            # Found from the columns alone: a case without rows would hide it.
            if self.form not in ("table", "json") and len(columns) > 1:
                raise InputError(f"`as: {self.form}` needs one column, not {', '.join(columns)}", place="sql")
        self.gold(world, case)

    def gold(self, world: World, case: Mapping[str, JsonValue]) -> JsonValue:
        """Return the right answer: a scalar, a list for a set, a list of objects for a table, any value for JSON. Raises InputError."""
        place = "value" if self.sql is None else "sql"
        try:
            if self.sql is not None:
                return self._computed(try_rows(world, self.sql, case, place=place))
            for name in sorted(self._template.names - set(case)):
                raise InputError(f"the template names {name!r}, which no case has", remedy=nearest(name, case))
            return self._stated(self._template.evaluate(case))
        except InputError as error:
            raise error.at(place=place) from None

    def _computed(self, rows: list[JsonObject]) -> JsonValue:
        if self.form == "table":
            return _rows(rows)
        # With several right answers a right agent could be graded wrong.
        if len(rows) != 1 and self.form != "set":
            raise InputError(f"the gold is not unique: the SQL gave {len(rows)} rows", remedy="make it give one")
        if self.form == "json" and len(rows[0]) > 1:
            return rows[0]
        if any(len(row) > 1 for row in rows):
            raise InputError(f"the gold is not unique: the SQL gave {len(rows[0])} columns", remedy="select one")
        cells = [next(iter(row.values())) for row in rows]
        if self.form == "set":
            return _items(cells)
        return _json(cells[0]) if self.form == "json" else self._scalar(cells[0])

    def _stated(self, value: JsonValue) -> JsonValue:
        if self.form == "json":
            return _json(value)
        if self.form in ("exact", "text", "number"):
            return self._scalar(value)
        items = _json(value)
        if not is_list(items):
            raise InputError(f"`as: {self.form}` needs a list")
        return _rows(items) if self.form == "table" else _items(items)

    def _scalar(self, value: JsonValue) -> JsonValue:
        # An empty gold would be matched by an empty answer.
        if value in (None, "") or not _is_scalar(value):
            raise InputError(f"the gold is {shown(value, limit=40) or 'empty text'}, not a single value")
        if self.form != "number" or is_number(value):
            return value
        number = read_number(text_of(value))
        if number is None:
            raise InputError(f"the gold {shown(value, limit=40)!r} is not a number")
        return number

    async def grade(self, trajectory: Trajectory, world: FinishedWorld) -> Reward:
        if trajectory.stop.reason != "answered" or trajectory.answer is None:
            return score(0.0, reason=f"no answer: the episode ended with {trajectory.stop.reason}")
        gold = self.gold(world.initial, trajectory.case)
        expected, found = shown(gold), shown(trajectory.answer)
        try:
            value = self._mark(gold, trajectory.answer, prompt=trajectory.prompt)
        except Unreadable as error:
            return score(0.0, expected=expected, found=found, reason=f"unreadable: {shown(str(error))}")
        return score(value, expected=expected, found=found)

    def _mark(self, gold: JsonValue, answer: str, *, prompt: str) -> float:
        """Return the value of an answer, bare or in a plain sentence. Raises Unreadable."""
        match self.form:
            case "exact":
                due = text_of(gold).strip()
                return float(answer.strip() == due or states(answer, due, prompt=prompt, exact=True))
            case "text":
                due = text_of(gold)
                return float(normal_text(answer) == normal_text(due) or states(answer, due, prompt=prompt))
            case "number":
                number = stated_number(answer, prompt=prompt)
                if number is None:
                    raise Unreadable("not exactly one number")
                return float(same_number(gold, number, tolerance=self.tolerance))
            case "json":
                return float(same_json(gold, read_json(answer), tolerance=self.tolerance))
            case "set":
                return self._share(self._overlap_of_items(gold, answer))
            case "table":
                return self._share(self._overlap_of_table(gold, answer))

    def _overlap_of_items(self, gold: list[JsonValue], answer: str) -> Overlap:
        # A mark that is part of a right item does not separate items; only a gold with large numbers has thousands separators.
        apart = "".join(mark for mark in ",;" if not any(isinstance(item, str) and mark in item for item in gold))
        grouped = any(is_number(item) and abs(item) >= 1000 for item in gold)
        # The bare reading first. A sentence is read as a list only if that gives more, so that a plain list never loses by it.
        bare = overlap_of_sets(gold, read_items(answer, apart=apart, grouped=grouped), tolerance=self.tolerance)
        listed = None if bare.whole else stated_items(answer, gold)
        if listed is None:
            return bare
        stated = overlap_of_sets(gold, read_items(listed, apart=apart, grouped=grouped), tolerance=self.tolerance)
        return stated if stated.f1 > bare.f1 else bare

    def _overlap_of_table(self, gold: list[JsonObject], answer: str) -> Overlap:
        expected = [list(row.values()) for row in gold]
        return overlap_of_rows(expected, read_table(answer, list(gold[0])), tolerance=self.tolerance)

    def _share(self, overlap: Overlap) -> float:
        return overlap.f1 if self.partial else float(overlap.whole)


def _json(value: JsonValue) -> JsonValue:
    """Return a value, parsed where it is JSON text."""
    if not isinstance(value, str):
        return value
    try:
        return orjson.loads(value)
    except orjson.JSONDecodeError:
        return value


def _is_scalar(value: JsonValue) -> bool:
    return not isinstance(value, dict | list)


def _items(values: list[JsonValue]) -> list[JsonValue]:
    """Return the items of a set, each once. Raises InputError for one that is null, empty or not a single value."""
    if any(value is None or value == "" or not _is_scalar(value) for value in values):
        raise InputError("an item of the gold is null, empty or not a single value", remedy="leave it out in the SQL")
    return distinct(values)


def _rows(values: list[JsonValue]) -> list[JsonObject]:
    """Return the rows of a table. Raises InputError if there are none, or if they are not flat objects with the same keys."""
    if not values:
        raise InputError("the gold is an empty table", remedy="choose cases for which there are rows")
    if not all(is_object(value) for value in values):
        raise InputError("the rows of a table must be objects")
    if any(list(row) != list(values[0]) for row in values):
        raise InputError("the rows of a table must have the same keys in the same order")
    if not all(_is_scalar(cell) for row in values for cell in row.values()):
        raise InputError("the cells of a table must be single values")
    return values
