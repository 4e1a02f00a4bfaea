"""Reads the Markdown tables in a response, so that nothing in a cell can break them."""

import re
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass
from typing import Final

from simtrain.questions.widesearch.words import folded

MAX_TEXT: Final = 2_000_000
"""Characters. The rest of a longer response is ignored."""
# A response is untrusted: its size must not decide how long scoring takes.
MAX_ROWS: Final = 20_000
MAX_CELLS: Final = 200
"""Most cells of a row; the rest is ignored."""

_RULE = re.compile(r":?-+:?")
# A pipe ends a cell unless a backslash escapes it, which may be escaped itself.
_PIPE = re.compile(r"(?<!\\)(?:\\\\)*\|")


@dataclass(frozen=True, slots=True)
class WrittenTable:
    """A table as written: its heading, and its rows, which may be shorter or longer than the heading."""

    heading: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def read_tables(text: str, names: Iterable[str] = ()) -> list[WrittenTable]:
    """Return all tables of a response, in order, whether fenced, quoted or plain.

    A table is a run of lines with pipes. The line above its first rule (`|---|`) is its heading; without a rule, the first line.
    A further rule begins another table if the line above it shares a cell with the first heading or with `names`; otherwise it is
    decoration.
    """
    found: list[WrittenTable] = []
    left = MAX_ROWS
    known = {folded(name) for name in names}
    for run in _runs(text[:MAX_TEXT]):
        for heading, rows in _parts(run, known):
            found.append(WrittenTable(heading, tuple(rows[:left])))
            # One budget for all tables, or many small ones would pass the limit.
            left -= len(found[-1].rows)
    return found


def fitted(cells: tuple[str, ...], width: int) -> list[tuple[str, ...]]:
    """Return the ways to read a row as `width` cells: a short row is padded; in a long one, neighbours are joined by their pipes."""
    surplus = len(cells) - width
    if surplus <= 0:
        return [cells + ("",) * -surplus]
    if all(not cell for cell in cells[width:]):
        return [cells[:width]]
    return [
        (*cells[:place], "|".join(cells[place : place + surplus + 1]), *cells[place + surplus + 1 :])
        for place in range(width)
    ]


def _runs(text: str) -> Iterator[list[tuple[str, ...]]]:
    run: list[tuple[str, ...]] = []
    for line in map(_unquoted, text.splitlines()):
        if "|" in line and not line.lstrip().startswith("```"):
            run.append(_cells(line))
        elif run:
            yield run
            run = []
    if run:
        yield run


def _unquoted(line: str) -> str:
    """Return a line without quotation marks (`>`) and byte order mark."""
    return line.lstrip("\ufeff> \t")


def _parts(run: list[tuple[str, ...]], names: Set[str]) -> Iterator[tuple[tuple[str, ...], list[tuple[str, ...]]]]:
    """Yield the tables of a run of lines: one for each rule that has a heading above it."""
    rules = [index for index, cells in enumerate(run) if index and _is_rule(cells) and not _is_rule(run[index - 1])]
    if not rules:
        rows = _rows(run)
        if len(rows) > 1:
            yield rows[0], rows[1:]
        return
    known = names | _words(run[rules[0] - 1])
    rules = [rules[0], *(rule for rule in rules[1:] if known & _words(run[rule - 1]))]
    for index, after in zip(rules, [*rules[1:], len(run) + 1], strict=True):
        yield run[index - 1], _rows(run[index + 1 : after - 1])


def _rows(lines: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    return [cells for cells in lines if any(cells) and not _is_rule(cells)]


def _words(cells: tuple[str, ...]) -> set[str]:
    return {folded(cell) for cell in cells} - {""}


def _is_rule(cells: tuple[str, ...]) -> bool:
    return any(cells) and all(_RULE.fullmatch(cell) for cell in cells if cell)


def _cells(line: str) -> tuple[str, ...]:
    inner = line.strip()
    inner = inner[1:] if inner.startswith("|") else inner
    cells: list[str] = []
    start = 0
    for pipe in _PIPE.finditer(inner):
        if len(cells) == MAX_CELLS:
            return tuple(cells)
        cells.append(inner[start : pipe.end() - 1])
        start = pipe.end()
    if inner[start:].strip() or not cells:
        cells.append(inner[start:])
    return tuple(cell.replace("\\|", "|").strip() for cell in cells)
