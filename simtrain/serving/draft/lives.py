"""The lives of rows: what was seen of each through the recordings, when it came and when it went."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from simtrain.serving.draft.forms import plain
from simtrain.types import JsonObject, JsonValue

ColumnType: TypeAlias = Literal["integer", "real", "numeric", "text", "boolean", "json"]

COUNTERS = "counters"
"""The table of the ids that were given last, where ids are never given again."""

UNKNOWN = object()
"""A value that was not seen."""


@dataclass(eq=False)
class Life:
    """One row in one recording. `born` is the number of the call that made it (None: it was there), `died` of the one that took it."""

    id: str | int
    course: int
    born: int | None
    died: int | None = None
    sightings: list[tuple[int, JsonObject]] = field(default_factory=list[tuple[int, JsonObject]])

    def lives_before(self, number: int) -> bool:
        """Whether it stood when a call began."""
        return (self.born is None or self.born < number) and (self.died is None or self.died >= number)

    def lives_after(self, number: int) -> bool:
        """Whether it stood when a call had ended."""
        return (self.born is None or self.born <= number) and (self.died is None or self.died > number)

    def value(self, column: str, *, after: int) -> JsonValue:
        """What a column held after a call: as it was seen last, else as it was seen first; UNKNOWN where it never was."""
        before = [fields[column] for number, fields in self.sightings if number <= after and column in fields]
        if before:
            return before[-1]
        return next(
            (fields[column] for number, fields in self.sightings if number > after and column in fields), UNKNOWN
        )

    def first(self, column: str) -> JsonValue:
        """The value first seen in a column; UNKNOWN where there is none."""
        return next((fields[column] for _, fields in self.sightings if column in fields), UNKNOWN)


@dataclass(eq=False)
class Table:
    """A table to be drafted. Columns map the key in replies to a type; `id` is the column by which rows are known."""

    kind: str
    name: str
    id: str
    columns: dict[str, ColumnType] = field(default_factory=dict[str, ColumnType])
    lives: list[Life] = field(default_factory=list[Life])
    parent: Table | None = None
    parent_column: str | None = None
    notes: list[str] = field(default_factory=list[str])

    def standing(self, course: int, number: int, *, after: bool) -> list[Life]:
        """The rows that stood when a call began, or when it had ended, in the order in which they came."""
        found = [life for life in self.lives if life.course == course]
        return [life for life in found if (life.lives_after(number) if after else life.lives_before(number))]

    def one(self, identity: JsonValue, course: int, number: int, *, after: bool) -> Life | None:
        """The row with an id at a moment; "7" is also 7 where ids are numbers."""
        standing = self.standing(course, number, after=after)
        return next((life for life in standing if str(life.id) == str(identity)), None)

    def initial(self) -> list[Life]:
        """The rows of the initial state: seen before anything made them, and made in no recording."""
        made = {str(life.id) for life in self.lives if life.born is not None}
        found: dict[str, Life] = {}
        for life in self.lives:
            if life.born is None and str(life.id) not in made:
                found.setdefault(str(life.id), life)
        return list(found.values())

    def column_like(self, name: str) -> str | None:
        """The column that a name means: the same without case and separators, or with the kind in front."""
        forms = {plain(column): column for column in self.columns}
        lists = {form: column for form, column in forms.items() if self.columns[column] == "json"}
        kind, wanted = plain(self.kind), plain(name)
        # A `label` is one of the `labels`; a `new_title` is a title, and so is an `issue_title` of an issue.
        found = [forms.get(wanted), lists.get(f"{wanted}s"), forms.get(wanted.removeprefix("new").removesuffix("new"))]
        bare = wanted.removeprefix(kind)
        found += [forms.get(kind + wanted), forms.get(bare) if bare else None]
        return next((column for column in found if column is not None), None)


def type_of(values: list[JsonValue]) -> ColumnType:
    """The type of a column that held these values."""
    held = [value for value in values if value is not None]
    if any(isinstance(value, list | dict) for value in held):
        return "json"
    if held and all(isinstance(value, bool) for value in held):
        return "boolean"
    if held and all(isinstance(value, int) and not isinstance(value, bool) for value in held):
        return "integer"
    if held and all(isinstance(value, int | float) and not isinstance(value, bool) for value in held):
        return "numeric"
    return "text"
