"""All together: a text, a cursor, a selection."""

from inkwell.buffer import Buffer, InkwellError
from inkwell.edits import Edit
from inkwell.history import History
from inkwell.indent import commented, dedented, indented, next_indent
from inkwell.marks import Marks
from inkwell.motions import MOTIONS, left, matching, right
from inkwell.places import Place, Span
from inkwell.rings import Ring
from inkwell.search import Finder


class Editor:
    """What a frontend calls. `wanted` is the column that moving up and down goes back to."""

    def __init__(self, text: str = "") -> None:
        self.buffer = Buffer(text)
        self.history = History(self.buffer)
        self.marks = Marks(self.buffer)
        self.ring = Ring()
        self.cursor = Place(0, 0)
        self.anchor: Place | None = None
        self._wanted: int | None = None
        self._cut_last = False

    @property
    def text(self) -> str:
        """All of the text."""
        return self.buffer.text

    @property
    def selection(self) -> Span:
        """What is selected; an empty span at the cursor if nothing is."""
        return Span.between(self.anchor or self.cursor, self.cursor)

    @property
    def selected(self) -> str:
        """The text that is selected."""
        return self.buffer.slice(self.selection)

    def go(self, place: Place, *, select: bool = False) -> None:
        """Put the cursor somewhere; `select` keeps the other end of the selection."""
        if not select:
            self.anchor = None
        elif self.anchor is None:
            self.anchor = self.cursor
        self.cursor = self.buffer.clamp(place)
        self._wanted = None
        self._cut_last = False
        self.history.seal()

    def move(self, motion: str, count: int = 1, *, select: bool = False) -> Place:
        """Move the cursor by the name of a motion."""
        if motion not in MOTIONS:
            raise InkwellError(f"there is no motion {motion!r}")
        place = self.cursor
        for _ in range(count):
            place = MOTIONS[motion](self.buffer, place)
        self.go(place, select=select)
        return self.cursor

    def move_rows(self, count: int, *, select: bool = False) -> Place:
        """Move the cursor down, or up; shorter lines on the way do not change its column."""
        wanted = self.cursor.column if self._wanted is None else self._wanted
        row = max(0, min(self.cursor.row + count, self.buffer.rows - 1))
        self.go(Place(row, wanted), select=select)
        self._wanted = wanted
        return self.cursor

    def move_to_match(self) -> bool:
        """Move the cursor to the matching bracket; return whether there is one."""
        place = matching(self.buffer, self.cursor)
        if place is not None:
            self.go(place)
        return place is not None

    def select_all(self) -> None:
        """Select everything."""
        self.go(Place(0, 0))
        self.go(self.buffer.end, select=True)

    def _change(self, span: Span, text: str, *, typed: bool = False) -> None:
        edit = Edit(span, text)
        self.history.apply(edit, self.cursor, typed=typed)
        self.cursor = edit.new_end
        self.anchor = None
        self._wanted = None

    def insert(self, text: str) -> None:
        """Write a text over what is selected."""
        self._cut_last = False
        self._change(self.selection, text, typed=len(text) == 1 and self.selection.is_empty)

    def newline(self) -> None:
        """Break the line, and indent the next one like a programmer would."""
        before = self.buffer.line(self.selection.start.row)[: self.selection.start.column]
        self.insert("\n" + next_indent(before))

    def backspace(self) -> None:
        """Remove what is selected, else the letter before."""
        self._cut_last = False
        span = self.selection
        if span.is_empty:
            span = Span(left(self.buffer, self.cursor), self.cursor)
        if not span.is_empty:
            self._change(span, "")

    def delete(self) -> None:
        """Remove what is selected, else the letter behind."""
        self._cut_last = False
        span = self.selection
        if span.is_empty:
            span = Span(self.cursor, right(self.buffer, self.cursor))
        if not span.is_empty:
            self._change(span, "")

    def cut(self) -> str:
        """Cut what is selected."""
        text = self.selected
        if text:
            self.ring.push(text)
            self._change(self.selection, "")
        self._cut_last = False
        return text

    def cut_line_end(self) -> str:
        """Cut to the end of the line, at its end the break; what is cut in a row is one text."""
        end = Place(self.cursor.row, len(self.buffer.line(self.cursor.row)))
        span = Span(self.cursor, end if end > self.cursor else right(self.buffer, self.cursor))
        text = self.buffer.slice(span)
        if text:
            if self._cut_last:
                self.ring.extend(text)
            else:
                self.ring.push(text)
            self._change(span, "")
            self._cut_last = True
        return text

    def paste(self) -> None:
        """Write what was cut last."""
        self.insert(self.ring.top())

    def undo(self) -> bool:
        """Take the last change back; return whether there was one."""
        return self._went(self.history.undo())

    def redo(self) -> bool:
        """Do again what was taken back."""
        return self._went(self.history.redo())

    def _went(self, place: Place | None) -> bool:
        if place is None:
            return False
        self.go(place)
        return True

    def replace_all(self, wanted: str, new: str, *, regex: bool = False) -> int:
        """Replace in the selection, else everywhere, as one change; return how often."""
        within = None if self.selection.is_empty else self.selection
        edits = Finder(self.buffer, wanted, regex=regex).edits(new, within)
        self.history.begin(self.cursor)
        for edit in edits:
            self._change(edit.span, edit.text)
        self.history.end()
        return len(edits)

    def find(self, wanted: str, *, backwards: bool = False) -> bool:
        """Select the next one; return whether there is any."""
        finder = Finder(self.buffer, wanted)
        start = self.selection.start
        span = finder.before(start) if backwards else finder.following(start)
        if span is None:
            return False
        self.go(span.start)
        self.go(span.end, select=True)
        return True

    def indent(self) -> None:
        """Indent the selected lines."""
        self._lines(indented)

    def dedent(self) -> None:
        """Take the indentation of the selected lines back."""
        self._lines(dedented)

    def comment(self) -> None:
        """Turn the selected lines into comments, or back."""
        self._lines(commented)

    def _lines(self, change) -> None:
        rows = self.selection.rows()
        before = [self.buffer.line(row) for row in rows]
        span = Span(Place(rows[0], 0), Place(rows[-1], len(before[-1])))
        after = change(before)
        if after != before:
            column = self.cursor.column + len(after[0]) - len(before[0])
            row = self.cursor.row
            self._change(span, "\n".join(after))
            self.cursor = self.buffer.clamp(Place(row, max(0, column)))

    def swap_lines(self, down: bool = True) -> bool:
        """Change places with the line below or above; return whether there is one."""
        row = self.cursor.row
        other = row + 1 if down else row - 1
        if not 0 <= other < self.buffer.rows:
            return False
        first, column = min(row, other), self.cursor.column
        upper, lower = self.buffer.line(first), self.buffer.line(first + 1)
        self._change(Span(Place(first, 0), Place(first + 1, len(lower))), f"{lower}\n{upper}")
        self.cursor = Place(other, column)
        return True
