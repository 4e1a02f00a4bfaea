"""Which lines are on the screen."""

from inkwell.buffer import InkwellError


class View:
    """A screen of some rows over a text. `margin` rows are kept free above and below the cursor."""

    def __init__(self, height: int, *, margin: int = 2) -> None:
        if height < 1:
            raise InkwellError(f"a screen of {height} rows shows nothing")
        self.height = height
        self.margin = min(margin, (height - 1) // 2)
        self.top = 0

    def follow(self, row: int, rows: int) -> int:
        """Scroll no further than needed to show the cursor's row; return the first row."""
        if row < self.top + self.margin:
            self.top = row - self.margin
        elif row > self.top + self.height - 1 - self.margin:
            self.top = row - self.height + 1 + self.margin
        return self._settle(rows)

    def scroll(self, count: int, rows: int) -> int:
        """Scroll by rows; negative is up."""
        self.top += count
        return self._settle(rows)

    def page(self, direction: int, rows: int) -> int:
        """Scroll by a screen; two rows stay."""
        return self.scroll(direction * max(1, self.height - 2), rows)

    def center(self, row: int, rows: int) -> int:
        """Bring a row to the middle."""
        self.top = row - self.height // 2
        return self._settle(rows)

    def _settle(self, rows: int) -> int:
        self.top = max(0, min(self.top, rows - self.height))
        return self.top

    def shown(self, rows: int) -> range:
        """Return the rows on the screen."""
        return range(self.top, min(self.top + self.height, rows))

    def bar(self, rows: int) -> tuple[int, int]:
        """Return where the handle of a scroll bar begins, and how long it is."""
        if rows <= self.height:
            return 0, self.height
        length = max(1, round(self.height * self.height / rows))
        room = self.height - length
        return round(room * self.top / (rows - self.height)), length
