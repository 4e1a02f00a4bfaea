"""The forms in which the shell of SQLite writes rows (sqlite.org/cli.html)."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

Cell: TypeAlias = str | int | float | bytes | None

MODES = (
    "list",
    "csv",
    "column",
    "json",
    "line",
    "markdown",
    "table",
    "box",
    "quote",
    "insert",
    "tabs",
    "ascii",
    "html",
)


@dataclass(slots=True)
class Look:
    """How rows are written."""

    mode: str = "list"
    headers: bool = False
    headers_set: bool = False
    separator: str = "|"
    null: str = ""
    table: str = "table"
    row_end: str = "\n"


def plain(cell: Cell, null: str = "") -> str:
    """Return a value as text; a float with at most 15 digits."""
    if cell is None:
        return null
    if isinstance(cell, bytes):
        return cell.decode("utf-8", "replace")
    return number(cell) if isinstance(cell, float) else str(cell)


def number(value: float) -> str:
    """Return a float as SQLite writes it."""
    if value != value or value in (float("inf"), float("-inf")):
        return {"inf": "Inf", "-inf": "-Inf"}.get(str(value), "")
    text = f"{value:.15g}"
    if "e" in text:
        digits, _, power = text.partition("e")
        return f"{digits if '.' in digits else digits + '.0'}e{power}"
    return text if "." in text else f"{text}.0"


def literal(cell: Cell) -> str:
    """Return a value as SQL."""
    if cell is None:
        return "NULL"
    if isinstance(cell, bytes):
        return f"X'{cell.hex()}'"
    if isinstance(cell, str):
        quoted = cell.replace("'", "''")
        if "\n" in quoted or "\r" in quoted:
            inner = quoted.replace("\n", "\\n").replace("\r", "\\r")
            return (
                f"replace('{inner}','\\n',char(10))"
                if "\r" not in cell
                else f"replace(replace('{inner}','\\n',char(10)),'\\r',char(13))"
            )
        return f"'{quoted}'"
    return plain(cell)


def written(names: Sequence[str], rows: Sequence[Sequence[Cell]], look: Look) -> str:
    """Return rows in the mode of a look."""
    if look.mode in _WRITERS:
        return _WRITERS[look.mode](names, rows, look)
    separator = {"csv": ",", "tabs": "\t", "ascii": "\x1f"}.get(look.mode, look.separator)
    if look.mode == "csv":
        comma = look.separator if look.separator != "|" else ","
        cells = [*([list(names)] if look.headers else []), *rows]
        return "".join(comma.join(_in_csv(cell, comma, look.null) for cell in row) + look.row_end for row in cells)
    lines = [[plain(cell, look.null) for cell in row] for row in rows]
    if look.headers:
        lines.insert(0, list(names))
    return "".join(separator.join(line) + "\n" for line in lines)


def _in_csv(cell: Cell, comma: str, null: str) -> str:
    """Return a cell as the shell of SQLite writes it: in quotes also where it is empty, or has a space."""
    text = plain(cell, null)
    if cell is None:
        return text
    needs = not text or comma in text or any(not "!" <= letter <= "~" or letter in "\"'" for letter in text)
    return '"' + text.replace('"', '""') + '"' if needs else text


def _json(names: Sequence[str], rows: Sequence[Sequence[Cell]], look: Look) -> str:
    def value(cell: Cell) -> str:
        if isinstance(cell, float):
            return number(cell)
        if isinstance(cell, bytes):
            return json.dumps(cell.decode("latin-1"))
        return json.dumps(cell, ensure_ascii=False)

    if not rows:
        return ""
    texts = [
        "{" + ",".join(f"{json.dumps(name)}:{value(cell)}" for name, cell in zip(names, row, strict=True)) + "}"
        for row in rows
    ]
    return "[" + ",\n".join(texts) + "]\n"


def _line(names: Sequence[str], rows: Sequence[Sequence[Cell]], look: Look) -> str:
    wide = max([5, *(len(name) for name in names)])
    texts = [
        "".join(f"{name.rjust(wide)} = {plain(cell, look.null)}\n" for name, cell in zip(names, row, strict=True))
        for row in rows
    ]
    return "\n".join(texts)


def _cells(names: Sequence[str], rows: Sequence[Sequence[Cell]], look: Look) -> tuple[list[list[str]], list[int]]:
    cells = [[plain(cell, look.null).replace("\n", " ") for cell in row] for row in rows]
    widths = [max(len(line[place]) for line in [list(names), *cells]) for place in range(len(names))]
    return cells, widths


def _centred(text: str, wide: int) -> str:
    left = (wide - len(text)) // 2
    return " " * left + text + " " * (wide - len(text) - left)


def _column(names: Sequence[str], rows: Sequence[Sequence[Cell]], look: Look) -> str:
    if not rows:
        return ""
    cells, widths = _cells(names, rows, look)
    headed = look.headers or not look.headers_set
    if not headed:
        widths = [max(len(line[place]) for line in cells) for place in range(len(names))]
    lines = [list(names), ["-" * wide for wide in widths], *cells] if headed else cells
    return "".join(
        "  ".join(cell.ljust(wide) for cell, wide in zip(line, widths, strict=True)) + "\n" for line in lines
    )


def _ruled(
    corners: Sequence[str], bar: str, dash: str, *, frame: bool
) -> Callable[[Sequence[str], Sequence[Sequence[Cell]], Look], str]:
    def write(names: Sequence[str], rows: Sequence[Sequence[Cell]], look: Look) -> str:
        if not rows:
            return ""
        cells, widths = _cells(names, rows, look)

        def rule(left: str, middle: str, right: str) -> str:
            return left + middle.join(dash * (wide + 2) for wide in widths) + right + "\n"

        head = (
            bar + bar.join(f" {_centred(name, wide)} " for name, wide in zip(names, widths, strict=True)) + bar + "\n"
        )
        lines = [
            bar + bar.join(f" {cell.ljust(wide)} " for cell, wide in zip(line, widths, strict=True)) + bar + "\n"
            for line in cells
        ]
        top, between, bottom = (rule(*corners[place : place + 3]) for place in (0, 3, 6))
        return (top if frame else "") + head + between + "".join(lines) + (bottom if frame else "")

    return write


def _quote(names: Sequence[str], rows: Sequence[Sequence[Cell]], look: Look) -> str:
    head = ",".join(literal(name) for name in names) + "\n" if look.headers else ""
    return head + "".join(",".join(literal(cell) for cell in row) + "\n" for row in rows)


def _insert(names: Sequence[str], rows: Sequence[Sequence[Cell]], look: Look) -> str:
    listed = f"({','.join(names)})" if look.headers else ""
    return "".join(
        f"INSERT INTO {look.table}{listed} VALUES({','.join(literal(cell) for cell in row)});\n" for row in rows
    )


def _html(names: Sequence[str], rows: Sequence[Sequence[Cell]], look: Look) -> str:
    def escaped(text: str) -> str:
        return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")

    head = "<TR>" + "".join(f"<TH>{escaped(name)}</TH>\n" for name in names) + "</TR>\n" if look.headers else ""
    return head + "".join(
        "<TR>" + "".join(f"<TD>{escaped(plain(cell, look.null))}</TD>\n" for cell in row) + "</TR>\n" for row in rows
    )


_WRITERS: dict[str, Callable[[Sequence[str], Sequence[Sequence[Cell]], Look], str]] = {
    "json": _json,
    "line": _line,
    "column": _column,
    "markdown": _ruled("|||||||||", "|", "-", frame=False),
    "table": _ruled("+++++++++", "|", "-", frame=True),
    "box": _ruled("┌┬┐├┼┤└┴┘", "│", "─", frame=True),
    "quote": _quote,
    "insert": _insert,
    "html": _html,
}
