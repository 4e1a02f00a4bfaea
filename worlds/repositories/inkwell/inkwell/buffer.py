"""The lines of a text, and the only function that changes them."""

from collections.abc import Callable

from inkwell.edits import Edit
from inkwell.places import Place, Span


class InkwellError(Exception):
    """Something that is not in the text was asked for."""


class Buffer:
    """Lines without their breaks."""

    def __init__(self, text: str = "") -> None:
        self._lines = text.replace("\r\n", "\n").split("\n")
        self._starts: list[int] | None = None
        self._listeners: list[Callable[[Edit], None]] = []

    @property
    def text(self) -> str:
        """All of it."""
        return "\n".join(self._lines)

    @property
    def rows(self) -> int:
        """How many lines there are."""
        return len(self._lines)

    @property
    def end(self) -> Place:
        """The place behind the last letter."""
        return Place(self.rows - 1, len(self._lines[-1]))

    def line(self, row: int) -> str:
        """Return a line."""
        if not 0 <= row < self.rows:
            raise InkwellError(f"there is no row {row}")
        return self._lines[row]

    def clamp(self, place: Place) -> Place:
        """Return the nearest place that is in the text."""
        if place.row < 0:
            return Place(0, 0)
        if place.row >= self.rows:
            return self.end
        return Place(place.row, max(0, min(place.column, len(self._lines[place.row]))))

    def check(self, place: Place) -> None:
        """Raise InkwellError for a place that is not in the text."""
        if self.clamp(place) != place:
            raise InkwellError(f"row {place.row}, column {place.column} is not in the text")

    def slice(self, span: Span) -> str:
        """Return what lies in a span."""
        self.check(span.start)
        self.check(span.end)
        first, last = span.start.row, span.end.row
        if first == last:
            return self._lines[first][span.start.column : span.end.column]
        lines = [self._lines[first][span.start.column :], *self._lines[first + 1 : last]]
        return "\n".join([*lines, self._lines[last][: span.end.column]])

    def apply(self, edit: Edit) -> Edit:
        """Carry a change out, tell whoever listens, and return its inverse."""
        removed = self.slice(edit.span)
        start, end = edit.span
        head = self._lines[start.row][: start.column]
        tail = self._lines[end.row][end.column :]
        self._lines[start.row : end.row + 1] = (head + edit.text + tail).split("\n")
        self._starts = None
        for listener in self._listeners:
            listener(edit)
        return edit.inverse(removed)

    def listen(self, listener: Callable[[Edit], None]) -> None:
        """Call somebody at each change."""
        self._listeners.append(listener)

    def offset(self, place: Place) -> int:
        """Return how many letters, line breaks included, lie before a place."""
        self.check(place)
        return self._line_starts()[place.row] + place.column

    def place(self, offset: int) -> Place:
        """Return the place with so many letters before it."""
        starts = self._line_starts()
        if not 0 <= offset <= starts[-1] + len(self._lines[-1]):
            raise InkwellError(f"there is no letter {offset}")
        low, high = 0, len(starts) - 1
        while low < high:
            middle = (low + high + 1) // 2
            if starts[middle] <= offset:
                low = middle
            else:
                high = middle - 1
        return Place(low, offset - starts[low])

    def _line_starts(self) -> list[int]:
        if self._starts is None:
            self._starts = [0]
            for line in self._lines[:-1]:
                self._starts.append(self._starts[-1] + len(line) + 1)
        return self._starts
