"""What a domain draws of a call: parts that every page can show, so that a domain brings no HTML."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import orjson

from simtrain.values.types import JsonValue, is_list, is_object

MOST_ROWS = 200
"""Rows of a table that are drawn."""


@dataclass(frozen=True, slots=True)
class TextDrawing:
    """A text in a fixed-width type, such as a terminal's screen."""

    text: str


@dataclass(frozen=True, slots=True)
class DiffDrawing:
    """What changed in files, as `diff -u` and git write it; lines that came or went are marked."""

    text: str

    @property
    def lines(self) -> Sequence[tuple[str, str]]:
        """Return the lines, each with its look: `good` for a new one, `bad` for one that is gone, `soft` for the heads."""
        return [(line, _look(line)) for line in self.text.splitlines()]


@dataclass(frozen=True, slots=True)
class FieldsDrawing:
    """Names and their values."""

    fields: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class TableDrawing:
    """Records, one per row; `more` are those left out. `marks` names the look of a cell, by row and column: `good` or `bad`."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    more: int = 0
    marks: Mapping[tuple[int, int], str] | None = None


@dataclass(frozen=True, slots=True)
class PageDrawing:
    """A page of a web: title, address, and content in Markdown."""

    title: str
    url: str
    markdown: str


Part: TypeAlias = TextDrawing | DiffDrawing | FieldsDrawing | TableDrawing | PageDrawing
Drawing: TypeAlias = Sequence[Part]


def _look(line: str) -> str:
    if line.startswith(("+++ ", "--- ", "@@ ", "diff ", "index ")):
        return "soft"
    return {"+": "good", "-": "bad"}.get(line[:1], "")


def draw_json(value: JsonValue) -> Drawing:
    """Return JSON as fields and tables: a list of records becomes a table, whatever is deeper stays JSON."""
    if not is_object(value):
        return [TextDrawing(_word(value))]
    tables = {name: rows for name, rows in value.items() if _records(rows)}
    fields = {name: _word(one) for name, one in value.items() if name not in tables}
    return [*(_table(name, rows) for name, rows in tables.items()), *([FieldsDrawing(fields)] if fields else [])]


def _records(value: JsonValue) -> bool:
    return is_list(value) and bool(value) and all(is_object(row) for row in value)


def _table(title: str, rows: Sequence[Mapping[str, JsonValue]]) -> TableDrawing:
    columns = list(dict.fromkeys(name for row in rows for name in row))
    shown = [[_word(row.get(name, "")) for name in columns] for row in rows[:MOST_ROWS]]
    return TableDrawing(title, columns, shown, more=max(0, len(rows) - MOST_ROWS))


def _word(value: JsonValue) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()
