"""The differing lines of two texts, found as GNU diff finds them.

The method is E. Myers's divide and conquer with the middle snake (An O(ND) Difference Algorithm and Its Variations, 1986); the order
in which diagonals are tried, and the later shift of each run of changes, follow the description in the comments of GNU diffutils, so
that of several shortest answers the same is chosen.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

_FAR = 1 << 60
_MOST_STEPS = 5_000_000
"""Diagonals that are tried at most, about: each point is looked for by so many steps that all of them together stay below."""
_LEAST_COST, _MOST_COST = 4, 4096
"""Differing lines in a row of searches after which the best point so far is taken, as GNU diff does after 4096; fewer in large texts."""


@dataclass(frozen=True, slots=True)
class LineEdit:
    """Lines `start` to `end` of the old text are replaced by lines `new_start` to `new_end` of the new; counted from 0, ends exclusive."""

    start: int
    end: int
    new_start: int
    new_end: int


def line_edits(old: Sequence[Hashable], new: Sequence[Hashable]) -> list[LineEdit]:
    """Return the edits that turn one text into the other, from top to bottom."""
    gone, come = _Flags(len(old)), _Flags(len(new))
    # Lines that the other text lacks can only differ: without them the rest is compared faster, and as GNU diff compares it.
    in_old, in_new = set(old), set(new)
    left = [place for place, line in enumerate(old) if line in in_new]
    right = [place for place, line in enumerate(new) if line in in_old]
    for place, line in enumerate(old):
        gone.set(place, line not in in_new)
    for place, line in enumerate(new):
        come.set(place, line not in in_old)
    removed, added = _compared([old[place] for place in left], [new[place] for place in right])
    for place in removed:
        gone.set(left[place], True)
    for place in added:
        come.set(right[place], True)
    _shift(old, gone, come)
    _shift(new, come, gone)
    return _collected(gone, come)


class _Flags:
    """Whether each line changed; False before the first and after the last."""

    __slots__ = ("_marks", "count")

    def __init__(self, count: int) -> None:
        self.count = count
        self._marks = bytearray(count + 2)

    def __getitem__(self, place: int) -> bool:
        return self._marks[place + 1] != 0

    def set(self, place: int, value: bool) -> None:
        self._marks[place + 1] = value


def _compared(old: Sequence[Hashable], new: Sequence[Hashable]) -> tuple[list[int], list[int]]:
    removed: list[int] = []
    added: list[int] = []
    most = max(_LEAST_COST, min(_MOST_COST, _MOST_STEPS // (len(old) + len(new) + 1)))
    waiting = [(0, len(old), 0, len(new))]
    while waiting:
        start, end, new_start, new_end = waiting.pop()
        while start < end and new_start < new_end and old[start] == new[new_start]:
            start, new_start = start + 1, new_start + 1
        while start < end and new_start < new_end and old[end - 1] == new[new_end - 1]:
            end, new_end = end - 1, new_end - 1
        if start == end:
            added += range(new_start, new_end)
        elif new_start == new_end:
            removed += range(start, end)
        else:
            middle, new_middle = _middle(old, new, start, end, new_start, new_end, most)
            waiting.append((middle, end, new_middle, new_end))
            waiting.append((start, middle, new_start, new_middle))
    return removed, added


def _middle(
    old: Sequence[Hashable], new: Sequence[Hashable], start: int, end: int, new_start: int, new_end: int, most: int
) -> tuple[int, int]:
    """Return a point on a shortest path, about half way along it; after `most` rounds, one that most of the texts lies behind."""
    lowest, highest = start - new_end, end - new_start
    forth, back = start - new_start, end - new_end
    ahead, behind = {forth: start}, {back: end}
    forth_low = forth_high = forth
    back_low = back_high = back
    odd = (forth - back) % 2 == 1
    for _ in range(most):
        if forth_low > lowest:
            forth_low -= 1
            ahead[forth_low - 1] = -1
        else:
            forth_low += 1
        if forth_high < highest:
            forth_high += 1
            ahead[forth_high + 1] = -1
        else:
            forth_high -= 1
        for diagonal in range(forth_high, forth_low - 1, -2):
            low, high = ahead[diagonal - 1], ahead[diagonal + 1]
            x = high if low < high else low + 1
            y = x - diagonal
            while x < end and y < new_end and old[x] == new[y]:
                x, y = x + 1, y + 1
            ahead[diagonal] = x
            if odd and back_low <= diagonal <= back_high and behind[diagonal] <= x:
                return x, y
        if back_low > lowest:
            back_low -= 1
            behind[back_low - 1] = _FAR
        else:
            back_low += 1
        if back_high < highest:
            back_high += 1
            behind[back_high + 1] = _FAR
        else:
            back_high -= 1
        for diagonal in range(back_high, back_low - 1, -2):
            low, high = behind[diagonal - 1], behind[diagonal + 1]
            x = low if low < high else high - 1
            y = x - diagonal
            while start < x and new_start < y and old[x - 1] == new[y - 1]:
                x, y = x - 1, y - 1
            behind[diagonal] = x
            if not odd and forth_low <= diagonal <= forth_high and x <= ahead[diagonal]:
                return x, y
    reached = [_within(ahead[at], at, end, new_end) for at in range(forth_high, forth_low - 1, -2)]
    left = [_within(behind[at], at, start, new_start, below=True) for at in range(back_high, back_low - 1, -2)]
    furthest, nearest = max(reached, key=sum), min(left, key=sum)
    return nearest if end + new_end - sum(nearest) >= sum(furthest) - start - new_start else furthest


def _within(x: int, diagonal: int, edge: int, new_edge: int, *, below: bool = False) -> tuple[int, int]:
    """Return the point of a diagonal at `x`, or where it leaves the texts, at `edge` or `new_edge`."""
    x = max(x, edge) if below else min(x, edge)
    y = x - diagonal
    beyond = y < new_edge if below else y > new_edge
    return (new_edge + diagonal, new_edge) if beyond else (x, y)


def _shift(lines: Sequence[Hashable], changed: _Flags, other: _Flags) -> None:
    """Move each run of changes so that it joins its neighbours, or lies beside changes of the other text, or else as far down as it can."""
    place = across = 0
    count = changed.count
    while True:
        while place < count and not changed[place]:
            while other[across]:
                across += 1
            across += 1
            place += 1
        if place == count:
            return
        start = place
        while changed[place]:
            place += 1
        while other[across]:
            across += 1
        while True:
            length = place - start
            start, place, across = _moved_up(lines, changed, other, start, place, across)
            beside = place if other[across - 1] else count
            while place != count and lines[start] == lines[place]:
                changed.set(start, False)
                changed.set(place, True)
                start, place = start + 1, place + 1
                while changed[place]:
                    place += 1
                across += 1
                while other[across]:
                    across += 1
                    beside = place
            if length == place - start:
                break
        while beside < place:
            start, place = start - 1, place - 1
            changed.set(start, True)
            changed.set(place, False)
            across -= 1
            while other[across]:
                across -= 1


def _moved_up(
    lines: Sequence[Hashable], changed: _Flags, other: _Flags, start: int, place: int, across: int
) -> tuple[int, int, int]:
    """Move a run of changes up as far as it goes, joined with those above; return its start, its end, and the place in the other text."""
    while start and lines[start - 1] == lines[place - 1]:
        start, place = start - 1, place - 1
        changed.set(start, True)
        changed.set(place, False)
        while changed[start - 1]:
            start -= 1
        across -= 1
        while other[across]:
            across -= 1
    return start, place, across


def _collected(gone: _Flags, come: _Flags) -> list[LineEdit]:
    found: list[LineEdit] = []
    place = new_place = 0
    while place < gone.count or new_place < come.count:
        if not gone[place] and not come[new_place]:
            place, new_place = place + 1, new_place + 1
            continue
        start, new_start = place, new_place
        while gone[place]:
            place += 1
        while come[new_place]:
            new_place += 1
        found.append(LineEdit(start, place, new_start, new_place))
    return found
