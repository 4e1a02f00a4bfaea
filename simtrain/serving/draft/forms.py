"""How names, values and texts are written: SQL identifiers and literals, JSON layouts, moments."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import cast

from simtrain.types import JsonObject, JsonValue, encode

_COMPACT, _SPACED = (",", ":"), (", ", ": ")

LAYOUTS: Mapping[str, Callable[[JsonValue], str]] = {
    "tojson": partial(json.dumps, separators=_COMPACT, ensure_ascii=False),
    "tojson(indent=2)": partial(json.dumps, indent=2, ensure_ascii=False),
    "tojson(spaced=true)": partial(json.dumps, separators=_SPACED, ensure_ascii=False),
    "tojson(indent=4)": partial(json.dumps, indent=4, ensure_ascii=False),
    "tojson(ascii=true)": partial(json.dumps, separators=_COMPACT),
    "tojson(indent=2, ascii=true)": partial(json.dumps, indent=2),
    "tojson(spaced=true, ascii=true)": partial(json.dumps, separators=_SPACED),
    "tojson(indent=4, ascii=true)": partial(json.dumps, indent=4),
}
"""Filters of templates that write JSON -> functions that do the same."""

LINE = 110

# The words that SQLite does not take for names everywhere.
_KEYWORDS = """
add all alter and as asc autoincrement begin between case cast check collate commit constraint create cross current_date
current_time current_timestamp default deferrable delete distinct drop else end escape except exists false foreign from full glob
group having if in index inner insert intersect into is isnull join left like limit match natural not nothing notnull null nulls on
or order outer primary raise references regexp returning right rowid select set table then to transaction true union unique update
using values when where
"""
_WORDS = frozenset(_KEYWORDS.split())
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OTHER = re.compile(r"[^a-z0-9]")
_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}(?P<gap>[T ])\d{2}:\d{2}:\d{2}(?P<part>\.\d{1,9})?(?P<zone>Z|[+-]00:?00)?")


def plain(name: str) -> str:
    """A name without case and separators: `projectId` and `project_id` are one."""
    return _OTHER.sub("", name.lower())


def is_bindable(name: str) -> bool:
    """Whether an argument's name can stand behind a colon in SQL, and in a template."""
    return _IDENTIFIER.fullmatch(name) is not None


def identifier(name: str) -> str:
    """A name as SQL writes it: quoted where it has to be."""
    if _IDENTIFIER.fullmatch(name) and name.lower() not in _WORDS:
        return name
    return '"' + name.replace('"', '""') + '"'


def literal(value: JsonValue) -> str:
    """A JSON value as SQL writes it; lists and objects are JSON text."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, int | float):
        return repr(value)
    text = value if isinstance(value, str) else encode(cast(object, value))
    return "'" + text.replace("'", "''") + "'"


def wrapped(parts: Sequence[str], *, joint: str = ", ", indent: str = "  ") -> str:
    """Parts joined, in lines of readable length; all but the first line are indented."""
    lines = [""]
    for index, part in enumerate(parts):
        piece = part + (joint.rstrip() if index < len(parts) - 1 else "")
        if lines[-1] and len(lines[-1]) + len(piece) > LINE:
            lines.append(indent + piece)
        else:
            lines[-1] += (" " if lines[-1] else "") + piece
    return "\n".join(lines)


def layout_of(value: JsonValue, text: str) -> str | None:
    """The filter that writes this value as this text; None where none does."""
    return next((name for name, written in LAYOUTS.items() if written(value) == text), None)


def moment_sql(values: Iterable[JsonValue]) -> str | None:
    """SQL that writes the present as these moments are written; None where they are no moments, or of several forms."""
    found: set[str] = set()
    for value in values:
        match = _MOMENT.fullmatch(value) if isinstance(value, str) else None
        if match is None:
            return None
        digits = len(match["part"] or ".") - 1
        if match["gap"] == "T" and match["zone"] == "Z" and not digits:
            found.add(":now")
            continue
        # SQLite writes milliseconds; further digits are zeros.
        seconds = "%f" + "0" * max(0, digits - 3) if digits >= 3 else "%S" + (f".{'0' * digits}" if digits else "")
        found.add(f"strftime('%Y-%m-%d{match['gap']}%H:%M:{seconds}{match['zone'] or ''}', :now)")
    # A whole second is written without its fraction by some; the longer form is the rule.
    return max(found, key=len) if found and len({len(sql) for sql in found}) <= 2 else None


def shown_text(value: JsonValue) -> str | None:
    """A value as a sentence shows it; None for what has no place in one."""
    if value is None or isinstance(value, bool):
        return None
    if isinstance(value, str):
        return value or None
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list) and value and all(isinstance(item, str) for item in cast("list[JsonValue]", value)):
        return ", ".join(cast("list[str]", value))
    return None


def escaped(text: str) -> str:
    """A text as it stands in a template."""
    return re.sub(r"\{(?=[{%#])", "{{ '{' }}", text)


def list_of(value: JsonValue) -> list[JsonValue] | None:
    """The value where it is a list."""
    return cast("list[JsonValue]", value) if isinstance(value, list) else None


def object_of(value: JsonValue) -> JsonObject:
    """The value where it is an object, else an empty one."""
    return cast(JsonObject, value) if isinstance(value, dict) else {}
