"""Parsers for answers of more than one value: a set, a table, JSON."""

import csv
import io
import re
from collections.abc import Sequence

import orjson

from simtrain.values.types import JsonValue, is_list, is_object

MAX_TEXT = 100_000
MAX_ITEMS = 5_000

_BULLET = re.compile(r"(?:[-*•–]|\d{1,4}[.)])[ \t]+")
_NOTHING = frozenset({"none", "nothing", "empty", "n/a"})
# A comma that does not divide thousands: not followed by exactly three digits.
_GROUPING_COMMA = r",(?!\d{3}(?!\d))"
_RULE = re.compile(r":?-+:?")
_FENCED = re.compile(r"^(?:```|~~~)\w*\n(.*?)\n(?:```|~~~)[ \t]*$", re.MULTILINE | re.DOTALL)
# A cell of a Markdown table may hold an escaped pipe.
_PIPE = re.compile(r"(?<!\\)\|")


class Unreadable(ValueError):
    """An answer that is not in the requested form; the message says why."""


def read_json(text: str) -> JsonValue:
    """Return the JSON value in a text, with or without a code fence around it. Raises Unreadable."""
    try:
        return orjson.loads(_bare(text))
    except orjson.JSONDecodeError as error:
        raise Unreadable(f"not JSON: {error}") from None


def read_items(text: str, *, apart: str = ",;", grouped: bool = False) -> list[JsonValue]:
    """Return the items of a set: a JSON list, or text split at line ends and the characters in `apart`. `none` and `[]` are the empty set.

    `grouped` keeps a comma that divides thousands inside its number. Raises Unreadable.
    """
    bare = _bare(text)
    if bare.startswith("["):
        return _json_list(bare)
    marks = [re.escape(mark) for mark in apart if mark != "," or not grouped]
    marks += [_GROUPING_COMMA] if grouped and "," in apart else []
    parts = re.split("|".join([r"\n", *marks]), bare)
    items = [_BULLET.sub("", part.strip(), count=1).strip() for part in parts]
    found = [item for item in items if item]
    if not found:
        raise Unreadable("the answer is empty")
    if len(found) == 1 and found[0].casefold().rstrip(".") in _NOTHING:
        return []
    return _limited(found)


def _json_list(text: str) -> list[JsonValue]:
    value = read_json(text)
    if not is_list(value):
        raise Unreadable("not a list")
    return _limited(_scalars(value))


def _scalars(values: list[JsonValue]) -> list[JsonValue]:
    if any(isinstance(value, dict | list) for value in values):
        raise Unreadable("a list or an object where a single value is due")
    return values


def read_table(text: str, columns: Sequence[str]) -> list[list[JsonValue]]:
    """Return the rows of a Markdown table, CSV, or a JSON list of objects (or of lists), cells in the order of `columns`.

    Columns are found by name, ignoring case, spaces and underscores; further columns are left out. A table with the right number of
    columns under other names, or CSV without a heading, is read by position. Raises Unreadable.
    """
    bare = _bare(text)
    if not bare:
        raise Unreadable("the answer is empty")
    if bare[0] in "[{":
        value = read_json(bare)
        rows = _limited(value if is_list(value) else [value])
        return [_json_row(row, columns, number) for number, row in enumerate(rows, start=1)]
    if bare.casefold().rstrip(".") in _NOTHING:
        return []
    lines = bare.splitlines()
    # A table is known by the rule under its heading, so that prose around it may contain dashes and pipes.
    rules = [index for index, line in enumerate(lines) if "-" in line and all(map(_RULE.fullmatch, _cells(line)))]
    if rules and rules[0] > 0 and "|" in lines[rules[0] - 1]:
        return _markdown(lines, rules, columns)
    return _csv(bare, columns)


def _markdown(lines: list[str], rules: list[int], columns: Sequence[str]) -> list[list[JsonValue]]:
    # Choosing one of several tables would be a guess in the agent's favour.
    if len(rules) > 1:
        raise Unreadable("more than one table")
    heading = _cells(lines[rules[0] - 1])
    rows: list[list[str]] = []
    for line in lines[rules[0] + 1 :]:
        if "|" not in line:
            break
        rows.append(_cells(line))
    places = _places(heading, columns)
    if places is None and len(heading) != len(columns):
        raise Unreadable(f"the table has the columns {', '.join(heading)}")
    return _arranged(rows, range(len(columns)) if places is None else places, len(heading))


def _cells(line: str) -> list[str]:
    inner = line.strip().removeprefix("|")
    if inner.endswith("|") and not inner.endswith("\\|"):
        inner = inner[:-1]
    return [cell.replace("\\|", "|").strip() for cell in _PIPE.split(inner)]


def _csv(text: str, columns: Sequence[str]) -> list[list[JsonValue]]:
    first = text.partition("\n")[0]
    # Spreadsheets write all three. csv.Sniffer is not used: it guesses other characters in short answers.
    delimiter = "\t" if "\t" in first else ";" if ";" in first and "," not in first else ","
    try:
        rows = [row for row in csv.reader(io.StringIO(text), delimiter=delimiter, skipinitialspace=True) if row]
    except csv.Error as error:
        raise Unreadable(f"not CSV: {error}") from None
    if not rows:
        raise Unreadable("the answer is empty")
    places = _places(rows[0], columns)
    if places is not None:
        return _arranged(rows[1:], places, len(rows[0]))
    if len(rows[0]) != len(columns):
        raise Unreadable("neither a Markdown table nor CSV with these columns nor a JSON list")
    return _arranged(rows, range(len(columns)), len(columns))


def _places(heading: Sequence[str], columns: Sequence[str]) -> list[int] | None:
    """Return the position of each column in a heading; None if one is missing."""
    names = [_name(cell) for cell in heading]
    wanted = [_name(column) for column in columns]
    if not all(names.count(name) == 1 for name in wanted):
        return None
    return [names.index(name) for name in wanted]


def _arranged(rows: list[list[str]], places: Sequence[int], width: int) -> list[list[JsonValue]]:
    for number, row in enumerate(rows, start=1):
        if len(row) > width:
            raise Unreadable(f"row {number} has {len(row)} cells, the heading {width}")
    padded = [row + [""] * (width - len(row)) for row in rows]
    return [[row[place].strip() for place in places] for row in _limited(padded)]


def _json_row(row: JsonValue, columns: Sequence[str], number: int) -> list[JsonValue]:
    if is_list(row) and len(row) == len(columns):
        return _scalars(row)
    if not is_object(row):
        raise Unreadable(f"row {number} is not an object")
    named = {_name(key): value for key, value in row.items()}
    wanted = [_name(column) for column in columns]
    if not any(name in named for name in wanted):
        raise Unreadable(f"row {number} has none of the columns {', '.join(columns)}")
    return _scalars([named.get(name) for name in wanted])


def _name(text: str) -> str:
    return re.sub(r"[\s_]+", " ", text.strip(" \t*`'\"")).casefold()


def _bare(text: str) -> str:
    if len(text) > MAX_TEXT:
        raise Unreadable(f"longer than {MAX_TEXT} characters")
    bare = text.strip()
    for fence in ("```", "~~~"):
        first, _, rest = bare.partition("\n")
        if first.startswith(fence) and rest.endswith(fence):
            return rest.removesuffix(fence).strip()
    # The text in the only fence is the answer; the text around it is talk about it.
    fenced = _FENCED.findall(bare)
    return fenced[0].strip() if len(fenced) == 1 else bare


def _limited(rows: list[JsonValue]) -> list[JsonValue]:
    if len(rows) > MAX_ITEMS:
        raise Unreadable(f"more than {MAX_ITEMS} items")
    return rows
