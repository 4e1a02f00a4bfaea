"""Writes JSON content as CSV, XML, lines, a Markdown table or prose, without losing any key or value."""

import csv
import re
from collections.abc import Callable
from io import StringIO
from typing import Literal, TypeAlias
from xml.sax.saxutils import escape, quoteattr

from simtrain.values.types import JsonObject, JsonValue, encode, is_list, is_object

Notation: TypeAlias = Literal["csv", "xml", "lines", "markdown", "prose"]
NOTATIONS: tuple[Notation, ...] = ("csv", "xml", "lines", "markdown", "prose")

_TAG = re.compile(r"[A-Za-z_][\w.\-]*")


def written_as(content: JsonObject, notation: Notation) -> str:
    """Return the content in a notation."""
    match notation:
        case "csv":
            return _tables(content, _csv_table)
        case "markdown":
            return _tables(content, _markdown_table)
        case "xml":
            return "\n".join(_xml("response", content, 0))
        case "lines":
            return "\n".join(_lines(content, 0))
        case "prose":
            return " ".join(_sentences("The reply", content))


def _plain(value: JsonValue) -> str:
    """Return a value in one cell."""
    if isinstance(value, str):
        return value
    return "" if value is None else encode(value)


def _rows(value: JsonValue) -> list[JsonObject] | None:
    """Return the value if it is a list of objects, and thus a table; else None."""
    if not is_list(value) or not value:
        return None
    return value if all(is_object(item) for item in value) else None


def _tables(content: JsonObject, table: Callable[[list[JsonObject]], str]) -> str:
    """Return every list of objects as a table under its key, and the rest as a table of one row."""
    listed = {name: rows for name, value in content.items() if (rows := _rows(value)) is not None}
    single = {name: value for name, value in content.items() if name not in listed}
    parts = [table([single])] if single else []
    return "\n\n".join([*parts, *(f"{name}\n{table(rows)}" for name, rows in listed.items())])


def _csv_table(rows: list[JsonObject]) -> str:
    written = StringIO()
    writer = csv.DictWriter(written, _columns(rows), lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _plain(value) for name, value in row.items()} for row in rows)
    return written.getvalue().rstrip("\n")


def _markdown_table(rows: list[JsonObject]) -> str:
    columns = _columns(rows)
    cells = [columns, ["---"] * len(columns), *([_cell(row.get(name)) for name in columns] for row in rows)]
    return "\n".join(f"| {' | '.join(row)} |" for row in cells)


def _cell(value: JsonValue) -> str:
    # A bar or a line break inside a cell would end it.
    return _plain(value).replace("|", r"\|").replace("\n", "<br>")


def _columns(rows: list[JsonObject]) -> list[str]:
    # In order of first appearance over all rows: optional fields may be missing from the first.
    return list(dict.fromkeys(name for row in rows for name in row))


def _xml(name: str, value: JsonValue, depth: int) -> list[str]:
    indent = "  " * depth
    # XML names have no spaces and do not begin with a digit; other keys become an attribute.
    tag = name if _TAG.fullmatch(name) else "entry"
    head = tag if tag == name else f"{tag} name={quoteattr(name)}"
    if is_object(value):
        inner = [line for key, item in value.items() for line in _xml(key, item, depth + 1)]
        return [f"{indent}<{head}>", *inner, f"{indent}</{tag}>"]
    if is_list(value):
        items = [line for item in value for line in _xml("item", item, depth + 1)]
        return [f"{indent}<{head}>", *items, f"{indent}</{tag}>"]
    return [f"{indent}<{head}/>" if value is None else f"{indent}<{head}>{escape(_plain(value))}</{tag}>"]


def _lines(value: JsonValue, depth: int) -> list[str]:
    indent = "  " * depth
    if is_object(value):
        return [line for key, item in value.items() for line in _entry(f"{indent}{key}:", item, depth)]
    if is_list(value):
        return [line for item in value for line in _entry(f"{indent}-", item, depth)]
    return [f"{indent}{_plain(value)}"]


def _entry(head: str, value: JsonValue, depth: int) -> list[str]:
    if isinstance(value, dict | list) and value:
        return [head, *_lines(value, depth + 1)]
    return [f"{head} {_plain(value)}".rstrip()]


def _sentences(subject: str, value: JsonObject) -> list[str]:
    """Return a sentence about the plain values, then some about each list and object."""
    single = [f"{name} {_quoted(item)}" for name, item in value.items() if not isinstance(item, dict | list)]
    sentences = [f"{subject} has {_joined(single)}."] if single else []
    for name, item in value.items():
        if is_object(item):
            sentences += _sentences(f"Its {name}", item)
        elif is_list(item):
            sentences += _of_list(name, item)
    return sentences


def _of_list(name: str, items: list[JsonValue]) -> list[str]:
    if not items:
        return [f"There is nothing under {name}."]
    sentences = [f"Under {name} there are {len(items)}."]
    plain = [_quoted(item) for item in items if not is_object(item)]
    if plain:
        sentences.append(f"They are {_joined(plain)}.")
    for number, item in enumerate(items, 1):
        if is_object(item):
            sentences += _sentences(f"Number {number} of {name}", item)
    return sentences


def _quoted(value: JsonValue) -> str:
    return "none" if value is None else f'"{value}"' if isinstance(value, str) else encode(value)


def _joined(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
