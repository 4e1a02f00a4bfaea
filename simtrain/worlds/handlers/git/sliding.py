"""Where a differing stretch comes to stand when it could slide up or down: next to a stretch on the other side, else by indentation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

# The weights were fitted to what people prefer: https://github.com/mhagger/diff-slider-tools
_START, _END = 1, 21
_BLANK, _BLANK_AFTER = -30, 6
_INDENT, _INDENT_AFTER_BLANK = -4, 10
_OUTDENT, _OUTDENT_AFTER_BLANK = 24, 17
_DEDENT, _DEDENT_AFTER_BLANK = 23, 17
_INDENT_WEIGHT = 60
_MOST_SLIDING = 100
_MOST_INDENT = 200
_MOST_BLANKS = 20


@dataclass(slots=True)
class _Group:
    """A stretch of changed lines, from `start` to before `end`; empty between two unchanged lines."""

    start: int
    end: int


class _Groups:
    """The groups of one text, walked through; an empty one stands between every two unchanged lines."""

    def __init__(self, changed: list[bool]) -> None:
        self.changed = changed
        self.at = _Group(0, 0)
        self._grow_down()

    def _grow_down(self) -> None:
        while self.at.end < len(self.changed) and self.changed[self.at.end]:
            self.at.end += 1

    def next(self) -> bool:
        if self.at.end == len(self.changed):
            return False
        self.at.start = self.at.end = self.at.end + 1
        self._grow_down()
        return True

    def previous(self) -> bool:
        if self.at.start == 0:
            return False
        self.at.start = self.at.end = self.at.start - 1
        while self.at.start > 0 and self.changed[self.at.start - 1]:
            self.at.start -= 1
        return True

    def slide_up(self, lines: Sequence[bytes]) -> bool:
        """Move one line up, and swallow the group that is met there."""
        group = self.at
        if group.start == 0 or lines[group.start - 1] != lines[group.end - 1]:
            return False
        group.start -= 1
        group.end -= 1
        self.changed[group.start], self.changed[group.end] = True, False
        while group.start > 0 and self.changed[group.start - 1]:
            group.start -= 1
        return True

    def slide_down(self, lines: Sequence[bytes]) -> bool:
        """Move one line down, and swallow the group that is met there."""
        group = self.at
        if group.end == len(self.changed) or lines[group.start] != lines[group.end]:
            return False
        self.changed[group.start], self.changed[group.end] = False, True
        group.start += 1
        group.end += 1
        self._grow_down()
        return True


def settle(lines: Sequence[bytes], changed: list[bool], other: list[bool]) -> None:
    """Move the changed stretches of one text to where git shows them; `other` are the marks of the other text."""
    here, there = _Groups(changed), _Groups(other)
    while True:
        if here.at.end > here.at.start:
            _place(lines, here, there)
        if not here.next():
            return
        there.next()


def _place(lines: Sequence[bytes], here: _Groups, there: _Groups) -> None:
    while True:
        size = here.at.end - here.at.start
        beside = -1
        while here.slide_up(lines):
            there.previous()
        earliest = here.at.end
        if there.at.end > there.at.start:
            beside = here.at.end
        while here.slide_down(lines):
            there.next()
            if there.at.end > there.at.start:
                beside = here.at.end
        if size == here.at.end - here.at.start:
            break
    if here.at.end == earliest:
        return
    if beside != -1:
        while there.at.end == there.at.start:
            here.slide_up(lines)
            there.previous()
        return
    best = _best_end(lines, here.at, earliest)
    while here.at.end > best:
        here.slide_up(lines)
        there.previous()


def _best_end(lines: Sequence[bytes], group: _Group, earliest: int) -> int:
    size = group.end - group.start
    first = max(earliest, group.end - size - 1, group.end - _MOST_SLIDING)
    best, best_score = -1, (0, 0)
    for end in range(first, group.end + 1):
        upper, lower = _score(_Split(lines, end)), _score(_Split(lines, end - size))
        score = (upper[0] + lower[0], upper[1] + lower[1])
        if best == -1 or _compared(score, best_score) <= 0:
            best, best_score = end, score
    return best


def _compared(score: tuple[int, int], other: tuple[int, int]) -> int:
    """Below zero where the first score (indentation, penalty) is the better one."""
    indents = (score[0] > other[0]) - (score[0] < other[0])
    return _INDENT_WEIGHT * indents + score[1] - other[1]


class _Split:
    """What the surroundings of a border between two lines look like."""

    def __init__(self, lines: Sequence[bytes], border: int) -> None:
        self.at_end = border >= len(lines)
        self.indent = -1 if self.at_end else _indent(lines[border])
        self.blanks_before, self.indent_before = _beyond(lines, range(border - 1, -1, -1))
        self.blanks_after, self.indent_after = _beyond(lines, range(border + 1, len(lines)))


def _beyond(lines: Sequence[bytes], places: range) -> tuple[int, int]:
    """Return how many blank lines come first, and the indentation of the line after them (-1 where there is none)."""
    blanks = 0
    for place in places:
        indent = _indent(lines[place])
        if indent != -1:
            return blanks, indent
        blanks += 1
        if blanks == _MOST_BLANKS:
            return blanks, 0
    return blanks, -1


def _indent(line: bytes) -> int:
    """Return the width of the white space before the text; -1 for a blank line."""
    width = 0
    for byte in line:
        if byte == 32:
            width += 1
        elif byte == 9:
            width += 8 - width % 8
        elif byte not in b"\n\v\f\r":
            return width
        if width >= _MOST_INDENT:
            return _MOST_INDENT
    return -1


def _score(split: _Split) -> tuple[int, int]:
    """Return how much speaks against a border here: the indentation that counts, and penalties."""
    penalty = 0
    if split.indent_before == -1 and split.blanks_before == 0:
        penalty += _START
    if split.at_end:
        penalty += _END
    after = 0 if split.indent != -1 else 1 + split.blanks_after
    blanks = split.blanks_before + after
    penalty += _BLANK * blanks + _BLANK_AFTER * after
    indent = split.indent if split.indent != -1 else split.indent_after
    if indent == -1 or split.indent_before == -1 or indent == split.indent_before:
        return indent, penalty
    if indent > split.indent_before:
        return indent, penalty + (_INDENT_AFTER_BLANK if blanks else _INDENT)
    if split.indent_after != -1 and split.indent_after > indent:
        return indent, penalty + (_OUTDENT_AFTER_BLANK if blanks else _OUTDENT)
    return indent, penalty + (_DEDENT_AFTER_BLANK if blanks else _DEDENT)
