"""Undo and redo, in groups."""

from dataclasses import dataclass, field

from inkwell.buffer import Buffer
from inkwell.edits import Edit
from inkwell.places import Place


@dataclass
class _Group:
    before: Place
    after: Place
    inverses: list[Edit] = field(default_factory=list)
    typed: bool = False


class History:
    """What was done to a buffer. Letters typed one after the other are undone together."""

    def __init__(self, buffer: Buffer, *, most: int = 500) -> None:
        self._buffer = buffer
        self._most = most
        self._done: list[_Group] = []
        self._undone: list[_Group] = []
        self._depth = 0
        self._saved: int | None = 0

    @property
    def is_modified(self) -> bool:
        """Whether the text differs from what was saved last."""
        return self._saved != len(self._done)

    def saved(self) -> None:
        """Note that the text is saved as it is."""
        self._saved = len(self._done)
        self.seal()

    def seal(self) -> None:
        """Let the next letter begin a new group."""
        if self._done:
            self._done[-1].typed = False

    def begin(self, cursor: Place) -> None:
        """Begin a group; groups within it belong to it."""
        if self._depth == 0:
            self._done.append(_Group(cursor, cursor))
        self._depth += 1

    def end(self) -> None:
        """End a group; one in which nothing happened leaves no trace."""
        self._depth -= 1
        if self._depth == 0 and not self._done[-1].inverses:
            self._done.pop()

    def apply(self, edit: Edit, cursor: Place, *, typed: bool = False) -> None:
        """Carry a change out and remember it; `typed` joins it to the letter before."""
        if self._saved is not None and self._saved > len(self._done):
            self._saved = None
        self._undone.clear()
        inverse = self._buffer.apply(edit)
        if self._depth == 0 and not (typed and self._continues(edit)):
            self._done.append(_Group(cursor, cursor, typed=typed))
        self._done[-1].inverses.append(inverse)
        self._done[-1].after = edit.new_end
        self._trim()

    def _continues(self, edit: Edit) -> bool:
        if not self._done or not self._done[-1].typed or self._saved == len(self._done):
            return False
        last = self._done[-1].inverses[-1]
        return "\n" not in edit.text and last.span.end == edit.span.start

    def _trim(self) -> None:
        extra = len(self._done) - self._most
        if extra > 0:
            del self._done[:extra]
            if self._saved is not None:
                self._saved = self._saved - extra if self._saved >= extra else None

    def undo(self) -> Place | None:
        """Take the last group back; return where the cursor was, None if there is nothing."""
        group = self._replay(self._done, self._undone)
        return group.before if group else None

    def redo(self) -> Place | None:
        """Do again what was taken back last; return where the cursor belongs."""
        group = self._replay(self._undone, self._done)
        return group.after if group else None

    def _replay(self, source: list[_Group], target: list[_Group]) -> _Group | None:
        if not source:
            return None
        group = source.pop()
        inverses = [self._buffer.apply(edit) for edit in reversed(group.inverses)]
        target.append(_Group(group.before, group.after, inverses))
        return group
