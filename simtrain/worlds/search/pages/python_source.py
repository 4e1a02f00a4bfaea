"""Python source under construction: lines, fresh names, and pending text with its position on the page."""

from typing import NamedTuple


class Note(NamedTuple):
    """A statement in the next text of a page: the variable that collects it, and the row it is about."""

    mentions: str
    row: str
    attribute: int
    text: str
    shift: str
    """The variable that holds the number of characters of a link before the text; empty: none."""


class SourceLines:
    """Lines of a function body. In the generated code `a` appends a text to the page, and `o` is the length so far."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._depth: int = 2
        self._count = 0
        self._pending: list[tuple[bool, str]] = []
        self._notes: dict[int, list[Note]] = {}
        self._counted = 0

    def _line(self, text: str) -> None:
        self._lines.append(" " * self._depth + text)

    def _new(self, letter: str) -> str:
        self._count += 1
        return f"{letter}{self._count}"

    def _note(self, note: Note) -> None:
        """Note what the next pending text states."""
        self._notes.setdefault(len(self._pending), []).append(note)

    def _advance(self) -> None:
        """Advance `o` to the position of the next part, and write the notes of the parts before it."""
        # Lengths are added step by step: a sum over everything before would take quadratic time. Consecutive notes about the same
        # row are added in one expression, which takes half the time.
        step = _Step()
        notes: list[tuple[tuple[str, str], str]] = []
        for place in range(self._counted, len(self._pending) + 1):
            for note in self._notes.pop(place, ()):
                begin = step.taken() + (f" + {note.shift}" if note.shift else "")
                text = packed_source(note.attribute, begin, note.text)
                target = note.mentions, note.row
                if notes and notes[-1][0] == target:
                    notes[-1] = target, notes[-1][1] + text
                else:
                    notes.append((target, text))
            if place < len(self._pending):
                step.over(*self._pending[place])
        for target, text in notes:
            self._line(added(*target, text))
        if step.ahead:
            self._line(f"o += {step.ahead}")
        self._counted = len(self._pending)

    def _joined(self) -> str:
        inner = "".join(_escaped(text) if fixed else f"{{{text}}}" for fixed, text in self._pending)
        return f"f'{inner}'"

    def _flush(self) -> None:
        if self._pending:
            self._advance()
            self._line(f"a({self._joined()})")
            self._clear()

    def _clear(self) -> None:
        self._pending, self._counted = [], 0


class _Step:
    """The distance between `o` and the present position."""

    def __init__(self) -> None:
        self._literal = 0
        self._names: list[str] = []

    def over(self, fixed: bool, text: str) -> None:
        """Move over a fixed text, or over the text in a variable."""
        if fixed:
            self._literal += len(text)
        else:
            self._names.append(text)

    @property
    def ahead(self) -> str:
        """The expression for the distance still to add; empty if `o` is up to date."""
        return " + ".join([*([str(self._literal)] if self._literal else []), *(f"len({name})" for name in self._names)])

    def taken(self) -> str:
        """Return an expression that advances `o` to the present position and has its value."""
        ahead = self.ahead
        self._literal, self._names = 0, []
        return f"(o := o + {ahead})" if ahead else "o"


def packed_source(attribute: int, start: str, text: str) -> str:
    """Return the f-string source of a packed statement (see mentions.py); `start` is an expression, `text` a variable."""
    return f"{_escaped(chr(attribute))}{{P[{start}]}}{{L[len({text})]}}"


def added(mentions: str, row: str, text: str) -> str:
    """Return the line that adds the value of an f-string to the statements about a row."""
    return f"{mentions}[{row}] = f'{{{mentions}.get({row}, \"\")}}{text}'"


def _escaped(text: str) -> str:
    """Return a text escaped for an f-string, so that nothing in it can become code."""
    plain = text.encode("unicode_escape").decode("ascii")
    return plain.replace("'", "\\'").replace("{", "{{").replace("}", "}}")
