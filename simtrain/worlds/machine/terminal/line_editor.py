"""The line that is being typed at a prompt: the keys of readline in its emacs mode, and the history.

Keys and their effects: readline(3), "DEFAULT KEY BINDINGS", emacs standard bindings.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from copy import copy
from typing import Literal, TypeAlias

from simtrain.worlds.machine.terminal import keys
from simtrain.worlds.machine.terminal.screen import COLUMNS, TerminalScreen, width

Typed: TypeAlias = Literal["", "line", "interrupt", "end", "complete"]
"""What a key asks of the terminal: nothing more, to run the line, to give it up, to end the shell, or to complete a word."""

_WORD = re.compile(r"[^\W_]+")


class LineEditor:
    """A line under edit on a screen. `place` is where the cursor stands in `text`."""

    __slots__ = (
        "_draft",
        "_found",
        "_kept",
        "_killing",
        "_older",
        "_prompt",
        "_sought",
        "_start",
        "history",
        "place",
        "screen",
        "text",
    )

    def __init__(self, screen: TerminalScreen) -> None:
        self.screen = screen
        self.history: list[str] = []
        self._kept = ""
        self.begin_quietly("")

    def begin_quietly(self, prompt: str) -> None:
        """Begin a new line without drawing its prompt."""
        self.text, self.place = "", 0
        self._prompt, self._draft, self._older = prompt, "", 0
        self._killing = False
        self._sought: str | None = None
        self._found = ""
        self._start = self.screen.scrolled + self.screen.cursor[0]

    def begin(self, prompt: str) -> None:
        """Show a prompt and begin a new line."""
        self.begin_quietly(prompt)
        self.screen.feed(prompt)

    def copy(self, screen: TerminalScreen) -> LineEditor:
        """Return an independent copy on another screen."""
        other = copy(self)
        other.screen, other.history = screen, list(self.history)
        return other

    def remember(self, line: str) -> None:
        """Add a line to the history, unless it repeats the last one, is empty or begins with a blank."""
        if line.strip() and not line.startswith(" ") and self.history[-1:] != [line]:
            self.history.append(line)

    def type(self, text: str) -> None:
        """Insert text at the cursor."""
        at_end = self.place == len(self.text)
        self.text = self.text[: self.place] + text + self.text[self.place :]
        self.place += len(text)
        if at_end and text.isprintable() and self._sought is None:
            self.screen.feed(text)
            self._wrap()
        else:
            self.draw()

    def key(self, key: str) -> Typed:
        """Take one key."""
        if self._sought is not None:
            return self._search_key(key)
        if key in ("\r", "\n"):
            self.leave()
            return "line"
        if key == keys.INTERRUPT:
            self.leave("^C")
            return "interrupt"
        if key == keys.END_OF_FILE and not self.text:
            return "end"
        if key == keys.TAB:
            return "complete"
        action = _ACTIONS.get(key)
        if action is None:
            if key.isprintable():
                self._killing = False
                self.type(key)
            return ""
        killed = action(self)
        self._killing = killed is not None
        self.draw()
        return ""

    def replace(self, text: str, place: int | None = None) -> None:
        """Put another text into the line."""
        self.text, self.place = text, len(text) if place is None else place
        self.draw()

    def draw(self) -> None:
        """Draw prompt and line anew, from where the prompt began."""
        prompt = self._prompt if self._sought is None else f"(reverse-i-search)`{self._sought}': "
        shown = _shown(self.text)
        self.screen.move(self._start - self.screen.scrolled, 0)
        self.screen.erase_below()
        self.screen.feed(prompt + shown)
        self._wrap()
        row, column = _position(prompt + _shown(self.text[: self.place]))
        self.screen.move(self._start - self.screen.scrolled + row, column)

    def _wrap(self) -> None:
        # readline goes to the next line as soon as one is full.
        if self.screen.cursor[1] >= COLUMNS:
            self.screen.feed("\n")

    @property
    def is_searching(self) -> bool:
        """Return whether the history is being searched."""
        return self._sought is not None

    def leave(self, mark: str = "") -> None:
        """Put the cursor below the line."""
        place, self.place = self.place, len(self.text)
        if place != self.place or self._sought is not None:
            self.draw()
        full = width(self._prompt + self.text) % COLUMNS == 0 and self.text.isprintable() and not mark
        # A full line has taken the cursor to the next one already.
        self.screen.feed("" if full else f"{mark}\n")
        self.place = place

    def redraw_on_empty_screen(self) -> None:
        """Clear the screen and show the line at its top."""
        self.screen.clear()
        self._start = self.screen.scrolled
        self.draw()

    def redraw_below(self) -> None:
        """Show prompt and line anew where the cursor is now."""
        self._start = self.screen.scrolled + self.screen.cursor[0]
        self.draw()

    def kill(self, begin: int, end: int) -> str:
        """Cut a part of the line out and keep it; parts cut one after the other are kept together."""
        part = self.text[begin:end]
        before = begin < self.place
        kept = self._kept if self._killing else ""
        self._kept = part + kept if before else kept + part
        self.text, self.place = self.text[:begin] + self.text[end:], begin
        return part

    def yank(self) -> None:
        """Insert what was cut out last."""
        self.text = self.text[: self.place] + self._kept + self.text[self.place :]
        self.place += len(self._kept)

    def older(self, by: int) -> None:
        """Go back in the history, or forward if `by` is negative."""
        at = self._older + by
        if not 0 <= at <= len(self.history):
            return
        if self._older == 0:
            self._draft = self.text
        self._older = at
        self.text = self.history[-at] if at else self._draft
        self.place = len(self.text)

    def insert_last_word(self) -> None:
        """Insert the last word of the line before."""
        words = self.history[-1].split() if self.history else []
        if words:
            self.text = self.text[: self.place] + words[-1] + self.text[self.place :]
            self.place += len(words[-1])

    def word_before(self) -> int:
        """Return where the word before the cursor begins."""
        found = [match.start() for match in _WORD.finditer(self.text) if match.start() < self.place]
        return found[-1] if found else 0

    def word_after(self) -> int:
        """Return where the word at or after the cursor ends."""
        return next((match.end() for match in _WORD.finditer(self.text) if match.end() > self.place), len(self.text))

    def blank_before(self) -> int:
        """Return where the text without blanks before the cursor begins."""
        return self.text[: self.place].rstrip().rfind(" ") + 1

    def swap(self) -> None:
        """Exchange the letters around the cursor."""
        if self.place == 0 or len(self.text) < 2:
            return
        at = min(self.place, len(self.text) - 1)
        self.text = self.text[: at - 1] + self.text[at] + self.text[at - 1] + self.text[at + 1 :]
        self.place = at + 1

    def search(self) -> None:
        """Begin to search the history backwards."""
        self._sought, self._draft, self._found = "", self.text, ""
        self._older = 0

    def _search_key(self, key: str) -> Typed:
        sought = self._sought or ""
        if key == "\x12":
            self._seek(sought, self._older + 1)
        elif key in (keys.ERASE, "\x08"):
            self._seek(sought[:-1], 1)
        elif key in ("\x07", keys.INTERRUPT):
            self._sought, self.text, self._older = None, self._draft, 0
            self.place = len(self.text)
            self.draw()
            return self.key(key) if key == keys.INTERRUPT else ""
        elif key.isprintable():
            self._seek(sought + key, max(1, self._older))
        else:
            self._sought = None
            self.draw()
            return "" if key == keys.ESCAPE else self.key(key)
        self.draw()
        return ""

    def _seek(self, sought: str, at: int) -> None:
        self._sought = sought
        if not sought:
            return
        for number in range(at, len(self.history) + 1):
            line = self.history[-number]
            if sought in line:
                self._older, self.text, self.place = number, line, line.rfind(sought)
                return


def _shown(text: str) -> str:
    """Return text as readline shows it: control characters as ^X."""
    if text.isprintable():
        return text
    return "".join(
        f"^{chr(ord(letter) ^ 64)}" if (letter < " " and letter not in "\n\t") or letter == keys.ERASE else letter
        for letter in text
    )


def _position(text: str) -> tuple[int, int]:
    """Return row and column behind a text that begins at a left edge."""
    row = 0
    *lines, last = text.expandtabs().split("\n")
    for line in lines:
        row += width(line) // COLUMNS + 1
    return row + width(last) // COLUMNS, width(last) % COLUMNS


def _to(find: Callable[[LineEditor], int]) -> Callable[[LineEditor], str | None]:
    def move(line: LineEditor) -> None:
        line.place = find(line)

    return move


def _plainly(act: Callable[[LineEditor], None]) -> Callable[[LineEditor], str | None]:
    def run(line: LineEditor) -> None:
        act(line)

    return run


def _erase(line: LineEditor) -> None:
    if line.place:
        line.text = line.text[: line.place - 1] + line.text[line.place :]
        line.place -= 1


def _delete(line: LineEditor) -> None:
    line.text = line.text[: line.place] + line.text[line.place + 1 :]


_MOVES: dict[Callable[[LineEditor], int], tuple[str, ...]] = {
    lambda line: 0: ("\x01", keys.HOME, "\x1b[H", "\x1bOH"),
    lambda line: len(line.text): ("\x05", keys.END, "\x1b[F", "\x1bOF"),
    lambda line: max(0, line.place - 1): ("\x02", keys.LEFT, "\x1bOD"),
    lambda line: min(len(line.text), line.place + 1): ("\x06", keys.RIGHT, "\x1bOC"),
    lambda line: line.word_before(): ("\x1bb", "\x1b[1;5D"),
    lambda line: line.word_after(): ("\x1bf", "\x1b[1;5C"),
}
_DEEDS: dict[Callable[[LineEditor], None], tuple[str, ...]] = {
    _erase: (keys.ERASE, "\x08"),
    _delete: (keys.END_OF_FILE, keys.DELETE),
    LineEditor.yank: ("\x19",),
    LineEditor.swap: ("\x14",),
    LineEditor.insert_last_word: ("\x1b.", "\x1b_"),
    LineEditor.search: ("\x12",),
    LineEditor.redraw_on_empty_screen: ("\x0c",),
    lambda line: line.older(1): (keys.UP, "\x1bOA", "\x10"),
    lambda line: line.older(-1): (keys.DOWN, "\x1bOB", "\x0e"),
    lambda line: line.older(len(line.history) - line._older): ("\x1b<",),  # pyright: ignore[reportPrivateUsage]
    lambda line: line.older(-line._older): ("\x1b>",),  # pyright: ignore[reportPrivateUsage]
}
_KILLS: dict[Callable[[LineEditor], str], tuple[str, ...]] = {
    lambda line: line.kill(line.place, len(line.text)): ("\x0b",),
    lambda line: line.kill(0, line.place): ("\x15",),
    lambda line: line.kill(line.blank_before(), line.place): ("\x17",),
    lambda line: line.kill(line.word_before(), line.place): ("\x1b\x7f", "\x1b\x08"),
    lambda line: line.kill(line.place, line.word_after()): ("\x1bd",),
}
_ACTIONS: dict[str, Callable[[LineEditor], str | None]] = {
    **{key: _to(find) for find, names in _MOVES.items() for key in names},
    **{key: _plainly(act) for act, names in _DEEDS.items() for key in names},
    **{key: act for act, names in _KILLS.items() for key in names},
}
