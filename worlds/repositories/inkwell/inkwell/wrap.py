"""Long lines on a narrow screen; tabs; letters that are two columns wide."""

from unicodedata import east_asian_width

from inkwell.buffer import Buffer, InkwellError
from inkwell.edits import Edit
from inkwell.places import Place


def width_of(text: str, tab: int = 8, start: int = 0) -> int:
    """Return the columns of the screen that a text takes, beginning at a column."""
    columns = start
    for letter in text:
        if letter == "\t":
            columns += tab - columns % tab
        else:
            columns += 2 if east_asian_width(letter) in "WF" else 1
    return columns - start


def column_of(text: str, wanted: int, tab: int = 8) -> int:
    """Return the letter of a text that is at a column of the screen; its length beyond it."""
    columns = 0
    for place, letter in enumerate(text):
        columns += width_of(letter, tab, columns)
        if columns > wanted:
            return place
    return len(text)


class Wrapping:
    """The lines of a buffer as rows of a screen, broken at spaces where that is possible."""

    def __init__(self, buffer: Buffer, columns: int, tab: int = 8) -> None:
        if columns < 2:
            raise InkwellError(f"a screen of {columns} columns is too narrow")
        self._buffer = buffer
        self._columns = columns
        self._tab = tab
        self._breaks: dict[int, list[int]] = {}
        buffer.listen(self._forget)

    def _forget(self, edit: Edit) -> None:
        self._breaks.clear()

    def breaks(self, row: int) -> list[int]:
        """Return the columns of a line at which rows of the screen begin."""
        if row not in self._breaks:
            self._breaks[row] = self._broken(self._buffer.line(row))
        return list(self._breaks[row])

    def _broken(self, line: str) -> list[int]:
        starts, start, space, used = [0], 0, 0, 0
        for place, letter in enumerate(line):
            size = width_of(letter, self._tab, used)
            if used + size > self._columns:
                start = space if space > start else place
                starts.append(start)
                used = width_of(line[start:place], self._tab)
                size = width_of(letter, self._tab, used)
            used += size
            if letter.isspace():
                space = place + 1
        return starts

    def rows(self) -> int:
        """Return how many rows of the screen the text takes."""
        return sum(len(self.breaks(row)) for row in range(self._buffer.rows))

    def screen(self, place: Place) -> tuple[int, int]:
        """Return the row and column of the screen of a place."""
        above = sum(len(self.breaks(row)) for row in range(place.row))
        starts = self.breaks(place.row)
        number = max(index for index, start in enumerate(starts) if start <= place.column)
        part = self._buffer.line(place.row)[starts[number] : place.column]
        return above + number, width_of(part, self._tab)

    def place(self, row: int, column: int) -> Place:
        """Return the place at a row and column of the screen, or the nearest before."""
        left = row
        for line in range(self._buffer.rows):
            starts = self.breaks(line)
            if left < len(starts):
                text = self._buffer.line(line)
                is_last = left == len(starts) - 1
                end = len(text) if is_last else starts[left + 1] - 1
                inner = column_of(text[starts[left] : end], column, self._tab)
                return Place(line, starts[left] + inner)
            left -= len(starts)
        return self._buffer.end
