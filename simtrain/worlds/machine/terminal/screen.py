"""The screen of a terminal, by pyte: text with control characters in, lines as a person sees them out."""

from __future__ import annotations

from copy import copy
from functools import lru_cache

from pyte import Screen, Stream
from pyte import modes as pyte_modes
from pyte.screens import Char, Cursor, StaticDefaultDict
from wcwidth import wcswidth

COLUMNS, ROWS = 160, 40
"""Size of a terminal, as benchmarks of terminal agents set up tmux."""
MOST_LINES = 3 * ROWS
"""Lines of plain text beyond which only the last are drawn: the others have left the screen by then."""


@lru_cache(maxsize=256)
def _cells(attributes: Char) -> dict[str, Char]:
    """Return the cells of all letters of plain text with the same attributes."""
    return {chr(code): attributes._replace(data=chr(code)) for code in range(32, 127)}


class _Grid(Screen):
    """A screen of pyte that draws plain text by the line, which is most of what terminals show, and counts how far it has scrolled."""

    scrolled = 0

    def draw(self, data: str) -> None:
        if not data.isascii() or not data.isprintable() or self.charset or pyte_modes.IRM in self.mode:
            super().draw(data)
            return
        cursor = self.cursor
        cells = _cells(cursor.attrs)
        at = 0
        while at < len(data):
            if cursor.x >= self.columns:
                self.carriage_return()
                self.linefeed()
            piece = data[at : at + self.columns - cursor.x]
            places = range(cursor.x, cursor.x + len(piece))
            self.buffer[cursor.y].update(zip(places, map(cells.__getitem__, piece), strict=True))
            cursor.x += len(piece)
            at += len(piece)

    def index(self) -> None:
        if self.cursor.y == (self.margins.bottom if self.margins else self.lines - 1):
            self.scrolled += 1
        super().index()


class TerminalScreen:
    """A screen of COLUMNS by ROWS. A newline also returns to the first column, as the driver of a terminal sees to."""

    __slots__ = ("_aside", "_grid", "_stream")

    def __init__(self, grid: _Grid | None = None) -> None:
        if grid is None:
            grid = _Grid(COLUMNS, ROWS)
            grid.set_mode(pyte_modes.LNM)
        self._grid = grid
        self._stream = Stream(grid)
        self._aside: _Grid | None = None

    def copy(self) -> TerminalScreen:
        """Return an independent copy."""
        other = TerminalScreen(_copied(self._grid))
        other._aside = self._aside
        return other

    def feed(self, text: str) -> None:
        """Draw text, with the control sequences that are in it."""
        if text.count("\n") > MOST_LINES and "\x1b" not in text:
            text = "\n" * ROWS + "".join(text.splitlines(keepends=True)[-MOST_LINES:])
        self._stream.feed(text)

    @property
    def cursor(self) -> tuple[int, int]:
        """Return row and column of the cursor, counted from 0; the column is COLUMNS behind a full line."""
        return self._grid.cursor.y, self._grid.cursor.x

    @property
    def scrolled(self) -> int:
        """Return by how many lines the screen has scrolled since it began."""
        return self._grid.scrolled

    def move(self, row: int, column: int) -> None:
        """Put the cursor somewhere."""
        self._grid.cursor_position(max(0, min(row, ROWS - 1)) + 1, min(column, COLUMNS - 1) + 1)

    def erase_below(self) -> None:
        """Erase from the cursor to the end of the screen."""
        self._grid.erase_in_display(0)

    def clear(self) -> None:
        """Erase everything, and put the cursor into the upper left corner."""
        self._grid.erase_in_display(2)
        self._grid.cursor_position()

    def set_aside(self) -> None:
        """Begin an empty screen, as programs do that fill it: what was there comes back with `bring_back`."""
        if self._aside is None:
            self._aside = _copied(self._grid)
        self.clear()

    def bring_back(self) -> None:
        """Return to the screen that was set aside."""
        if self._aside is not None:
            scrolled = self._grid.scrolled
            self._grid, self._aside = self._aside, None
            self._grid.scrolled = scrolled
            self._stream = Stream(self._grid)

    def lines(self) -> list[str]:
        """Return all lines, without the blanks at their ends."""
        buffer = self._grid.buffer
        return [_text(buffer[row]) if row in buffer else "" for row in range(ROWS)]

    def text(self) -> str:
        """Return the lines down to the last that is not empty."""
        return "\n".join(self.lines()).rstrip("\n")


def width(text: str) -> int:
    """Return how many columns a text takes."""
    return len(text) if text.isascii() else max(0, wcswidth(text))


def _text(row: StaticDefaultDict[int, Char]) -> str:
    if not row:
        return ""
    return "".join([row[column].data for column in range(max(row) + 1)]).rstrip(" ")


def _copied(grid: _Grid) -> _Grid:
    other = copy(grid)
    other.buffer = copy(grid.buffer)
    other.buffer.clear()
    for row, cells in grid.buffer.items():
        kept = other.buffer[row] = StaticDefaultDict[int, Char](cells.default)
        kept.update(cells)
    other.cursor = Cursor(grid.cursor.x, grid.cursor.y, grid.cursor.attrs)
    other.cursor.hidden = grid.cursor.hidden
    other.mode, other.dirty = set(grid.mode), set()
    other.savepoints = list(grid.savepoints)
    return other
