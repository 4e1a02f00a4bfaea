"""A place in a text, and a span between two."""

from typing import NamedTuple


class Place(NamedTuple):
    """A row and a column, from 0."""

    row: int
    column: int

    def after(self, text: str) -> "Place":
        """Return the place behind a text that is written here."""
        rows = text.count("\n")
        if not rows:
            return Place(self.row, self.column + len(text))
        return Place(self.row + rows, len(text) - text.rindex("\n") - 1)


class Span(NamedTuple):
    """From one place until before another."""

    start: Place
    end: Place

    @classmethod
    def between(cls, first: Place, second: Place) -> "Span":
        """Return the span of two places in either order."""
        return cls(min(first, second), max(first, second))

    @property
    def is_empty(self) -> bool:
        """Whether nothing lies in it."""
        return self.start == self.end

    def contains(self, place: Place) -> bool:
        """Return whether a place lies in it."""
        return self.start <= place < self.end

    def rows(self) -> range:
        """Return the rows that it touches; a last row of which it has nothing is left out."""
        last = self.end.row
        if self.end.column == 0 and last > self.start.row:
            last -= 1
        return range(self.start.row, last + 1)
