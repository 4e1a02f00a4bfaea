"""Which lines differ between two texts: Myers' algorithm with git's choices where several answers are equally short."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from simtrain.worlds.handlers.git.sliding import settle

_WINDOW = 100
_MOST_ALIKE = 1024


@dataclass(frozen=True, slots=True)
class Edit:
    """`old_count` lines from `old` on (counted from 0) are replaced by `new_count` lines from `new` on."""

    old: int
    old_count: int
    new: int
    new_count: int


def edits(old: Sequence[bytes], new: Sequence[bytes]) -> list[Edit]:
    """Return the differing stretches, from top to bottom."""
    removed, added = _marks(old, new)
    settle(old, removed, added)
    settle(new, added, removed)
    return list(_stretches(removed, added))


def _stretches(removed: Sequence[bool], added: Sequence[bool]) -> list[Edit]:
    found: list[Edit] = []
    left = right = 0
    while left < len(removed) or right < len(added):
        first_left, first_right = left, right
        while left < len(removed) and removed[left]:
            left += 1
        while right < len(added) and added[right]:
            right += 1
        if left > first_left or right > first_right:
            found.append(Edit(first_left, left - first_left, first_right, right - first_right))
        else:
            left, right = left + 1, right + 1
    return found


def _marks(old: Sequence[bytes], new: Sequence[bytes]) -> tuple[list[bool], list[bool]]:
    """For each line of both texts whether it is removed or added."""
    removed, added = [False] * len(old), [False] * len(new)
    head = _alike(old, new, 0)
    tail = _alike(old[head:][::-1], new[head:][::-1], 0)
    old_end, new_end = len(old) - tail, len(new) - tail
    old_counts, new_counts = Counter(old), Counter(new)
    left = _worthwhile(old, head, old_end, new_counts, removed)
    right = _worthwhile(new, head, new_end, old_counts, added)
    search = _Search([old[place] for place in left], [new[place] for place in right])
    search.compare(0, len(left), 0, len(right))
    for place, changed in zip(left, search.removed, strict=True):
        removed[place] = removed[place] or changed
    for place, changed in zip(right, search.added, strict=True):
        added[place] = added[place] or changed
    return removed, added


def _alike(old: Sequence[bytes], new: Sequence[bytes], start: int) -> int:
    count = start
    while count < min(len(old), len(new)) and old[count] == new[count]:
        count += 1
    return count


def _worthwhile(lines: Sequence[bytes], start: int, end: int, others: Counter[bytes], changed: list[bool]) -> list[int]:
    """Return the places of the lines that are worth comparing; the others are marked as changed.

    A line that the other text lacks is not, nor is one that the other text has very often and that stands among lines it lacks.
    """
    often = min(_rough_root(len(lines)), _MOST_ALIKE)
    states = [0 if others[line] == 0 else 2 if others[line] >= often else 1 for line in lines[start:end]]
    kept: list[int] = []
    for place, state in enumerate(states):
        if state == 1 or (state == 2 and not _amid_strangers(states, place)):
            kept.append(start + place)
        else:
            changed[start + place] = True
    return kept


def _rough_root(number: int) -> int:
    """Return a power of two near the square root, as git estimates it."""
    root = 1
    while number > 0:
        root, number = root << 1, number >> 2
    return root


def _amid_strangers(states: Sequence[int], place: int) -> bool:
    before = _run(states[max(0, place - _WINDOW) : place][::-1])
    after = _run(states[place + 1 : place + 1 + _WINDOW])
    if before[0] == 0 or after[0] == 0:
        return False
    strangers, frequent = before[0] + after[0], before[1] + after[1] + 2
    return frequent * 4 < frequent + strangers


def _run(states: Sequence[int]) -> tuple[int, int]:
    """Return how many lines that the other text lacks, and that it has often, come before the first worthwhile one."""
    end = states.index(1) if 1 in states else len(states)
    run = states[:end]
    return run.count(0), run.count(2)


class _Search:
    """The shortest way from one text to the other, found from both ends towards the middle (Myers 1986, section 4b)."""

    def __init__(self, old: Sequence[bytes], new: Sequence[bytes]) -> None:
        numbers: dict[bytes, int] = {}
        self._old = [numbers.setdefault(line, len(numbers)) for line in old]
        self._new = [numbers.setdefault(line, len(numbers)) for line in new]
        self.removed = [False] * len(old)
        self.added = [False] * len(new)

    def compare(self, left: int, left_end: int, right: int, right_end: int) -> None:
        """Mark what differs within old[left:left_end] and new[right:right_end]."""
        boxes = [(left, left_end, right, right_end)]
        while boxes:
            left, left_end, right, right_end = boxes.pop()
            while left < left_end and right < right_end and self._old[left] == self._new[right]:
                left, right = left + 1, right + 1
            while left < left_end and right < right_end and self._old[left_end - 1] == self._new[right_end - 1]:
                left_end, right_end = left_end - 1, right_end - 1
            if left == left_end:
                self.added[right:right_end] = [True] * (right_end - right)
            elif right == right_end:
                self.removed[left:left_end] = [True] * (left_end - left)
            else:
                middle, across = self._middle(left, left_end, right, right_end)
                boxes += [(middle, left_end, across, right_end), (left, middle, right, across)]

    def _middle(self, left: int, left_end: int, right: int, right_end: int) -> tuple[int, int]:
        """Return a point that a shortest way passes: where the searches from both ends meet."""
        old, new = self._old, self._new
        lowest, highest = left - right_end, left_end - right
        forward, backward = {left - right: left}, {left_end - right_end: left_end}
        first_low = first_high = left - right
        last_low = last_high = left_end - right_end
        odd = (first_low - last_low) % 2 == 1
        nowhere = left_end + right_end + 1
        while True:
            first_low, first_high = _widened(forward, first_low, first_high, lowest, highest, -1)
            for diagonal in range(first_high, first_low - 1, -2):
                place = max(forward.get(diagonal - 1, -1) + 1, forward.get(diagonal + 1, -1))
                while place < left_end and place - diagonal < right_end and old[place] == new[place - diagonal]:
                    place += 1
                forward[diagonal] = place
                if odd and last_low <= diagonal <= last_high and backward.get(diagonal, nowhere) <= place:
                    return place, place - diagonal
            last_low, last_high = _widened(backward, last_low, last_high, lowest, highest, nowhere)
            for diagonal in range(last_high, last_low - 1, -2):
                place = min(backward.get(diagonal - 1, nowhere), backward.get(diagonal + 1, nowhere) - 1)
                while place > left and place - diagonal > right and old[place - 1] == new[place - diagonal - 1]:
                    place -= 1
                backward[diagonal] = place
                if not odd and first_low <= diagonal <= first_high and place <= forward.get(diagonal, -1):
                    return place, place - diagonal


def _widened(reached: dict[int, int], low: int, high: int, lowest: int, highest: int, nowhere: int) -> tuple[int, int]:
    """Return the diagonals of the next round: one more on each side, or one less where there is none."""
    if low > lowest:
        low -= 1
        reached[low - 1] = nowhere
    else:
        low += 1
    if high < highest:
        high += 1
        reached[high + 1] = nowhere
    else:
        high -= 1
    return low, high
