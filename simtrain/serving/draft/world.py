"""A draft put together: errors, tables, rows and tools of a service world, as YAML text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from os.path import relpath
from pathlib import Path
from typing import cast

from simtrain.clock import DEFAULT_START
from simtrain.free_play import native_name
from simtrain.schemas import is_schema
from simtrain.serving.draft.errors import error_block
from simtrain.serving.draft.forms import identifier
from simtrain.serving.draft.history import History
from simtrain.serving.draft.lives import COUNTERS, UNKNOWN, Life, Table
from simtrain.serving.draft.page import block, comment, entry, flow
from simtrain.serving.draft.tools import ToolDraft
from simtrain.types import JsonObject, JsonValue, encode

_TYPES = {"boolean": "integer", "json": "text"}
_REFUSED = re.compile(r"[^A-Za-z0-9_]+")


@dataclass(frozen=True, eq=False)
class Draft:
    """A drafted world. `tools` stand in the server's own order."""

    history: History
    tools: tuple[ToolDraft, ...]
    name: str

    @property
    def tables(self) -> list[Table]:
        """The tables, those that others refer to first."""
        found: list[Table] = []
        for table in self.history.tables.values():
            _append(table, found)
        return found

    @property
    def bound(self) -> list[ToolDraft]:
        """The tools that SQL answers."""
        return [tool for tool in self.tools if tool.binding is not None]


def world_name(name: str) -> str:
    """A name that a world may have."""
    plain = _REFUSED.sub("_", name).strip("_").lower()
    return plain if plain[:1].isalpha() else f"w_{plain}"


def draft_text(draft: Draft, *, manifest: str) -> str:
    """The YAML of a draft; `manifest` is the path of the captured manifest, as the file names it."""
    observed = draft.history.observed
    server = observed.manifest.name
    lines = comment(
        [
            f"A draft of the server {server}, made from what was captured and recorded of it. Read it, correct it, go on with it."
        ]
    )
    lines += [
        f"# {len(draft.bound)} of {len(draft.tools)} tools are bound to SQL; the others say that they are not supported.",
        "",
    ]
    lines += [*block("kind", "service"), *block("name", draft.name)]
    lines += block("description", f"A draft of the server {server}.")
    lines += ["# What clients are shown of the server comes from here, word for word.", *block("manifest", manifest)]
    lines += block("clock", {"start": DEFAULT_START, "per_step": "20s"})
    lines += error_block(observed)
    lines += ["", *_schema(draft), *_rows(draft), "", "tools:"]
    for tool in draft.tools:
        lines += [*_tool(draft, tool), ""]
    return "\n".join(lines[:-1]) + "\n"


def _append(table: Table, found: list[Table]) -> None:
    if table in found:
        return
    if table.parent is not None and table.parent is not table and table.parent.parent is not table:
        _append(table.parent, found)
    if table not in found:
        found.append(table)


def _counters(draft: Draft) -> dict[str, int]:
    return {name: value for tool in draft.bound if tool.binding for name, value in tool.binding.counters.items()}


def schema_text(draft: Draft) -> str:
    """The DDL of a draft."""
    lines = [line for table in draft.tables for line in _create(table)]
    if _counters(draft):
        lines += [
            "-- Ids that are never given again.",
            f"create table {COUNTERS} (name text primary key, value integer not null);",
        ]
    return "\n".join(lines)


def _schema(draft: Draft) -> list[str]:
    text = schema_text(draft)
    return ["schema: |", *(f"  {line}" for line in text.splitlines())] if text else ['schema: ""']


def _create(table: Table) -> list[str]:
    shown: list[str] = []
    for index, (name, kind) in enumerate(table.columns.items(), start=1):
        column = f"{identifier(name)} {_TYPES.get(kind, kind)}"
        if name == table.id:
            column += " primary key" + ("" if kind == "integer" else " not null")
        remark = {"boolean": "1 or 0", "json": "JSON"}.get(kind, "")
        if table.parent is not None and name == table.parent_column:
            remark = f"a row of {table.parent.name}"
        shown.append(f"  {column}{',' if index < len(table.columns) else ''}{f' -- {remark}' if remark else ''}")
    notes = [f"-- {note}" for note in dict.fromkeys(table.notes)]
    return [*notes, f"create table {identifier(table.name)} (", *shown, ");"]


def _rows(draft: Draft) -> list[str]:
    lines: list[str] = []
    for table in draft.tables:
        initial = table.initial()
        if initial:
            lines += [f"  {table.name}:", *(f"    - {flow(_row(table, life))}" for life in initial)]
    counters = _counters(draft)
    if counters:
        lines.append(f"  {COUNTERS}:")
        lines += [line for name, value in counters.items() for line in entry({"name": name, "value": value}, 4)]
    if not lines:
        return ["", "# The server was empty when it was recorded."]
    return [
        "",
        "# The rows that stood before the recordings changed anything, with the values that were seen first.",
        "rows:",
        *lines,
    ]


def _row(table: Table, life: Life) -> JsonObject:
    cells: JsonObject = {}
    for column, kind in table.columns.items():
        value: JsonValue = life.id if column == table.id else life.first(column)
        if value is UNKNOWN or value is None or _overflows(value):
            continue
        cells[column] = encode(cast(object, value)) if kind == "json" else value
    return cells


def _overflows(value: JsonValue) -> bool:
    """Whether a number is beyond what a cell holds."""
    return isinstance(value, int | float) and not abs(value) < 2**63


def _tool(draft: Draft, tool: ToolDraft) -> list[str]:
    observed = draft.history.observed
    raw = observed.tools[tool.name]
    native = native_name(observed.manifest.name, tool.name)
    lines = [f"  - name: {native}"]
    lines += block("description", " ".join(str(raw.get("description") or tool.name).split()), 4)
    if native.rpartition(".")[2] != tool.name:
        lines += block("descriptor", {"name": tool.name}, 4)
    lines += block("input", _input(raw.get("inputSchema")), 4)
    if is_schema(raw.get("outputSchema")):
        lines += block("output", raw["outputSchema"], 4)
    lines += comment([f"Note: {note}." for note in tool.notes], 4)
    if tool.binding is None:
        lines += comment([f"Left to be filled in: {tool.reason}."], 4)
        reads = cast(JsonObject, raw.get("annotations") or {}).get("readOnlyHint") is True
        return [*lines, "    unbound: true", f"    writes: {'false' if reads else 'true'}"]
    for key, value in tool.binding.entry.items():
        lines += block(key, value, 4)
    return lines


def _input(schema: JsonValue) -> JsonObject:
    return {"type": "object", "properties": {}, **(cast(JsonObject, schema) if is_schema(schema) else {})}


def relative(manifest: Path, out: Path) -> str:
    """The path of the manifest as the world file names it."""
    return Path(relpath(manifest.resolve(), out.resolve().parent)).as_posix()
