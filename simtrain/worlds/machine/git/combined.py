"""Differences of one file from several others at once, as git shows merges and conflicts (git help diff-tree, COMBINED DIFF FORMAT)."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from simtrain.values.lines import lines_of
from simtrain.worlds.handlers.git.deltas import Side, is_binary
from simtrain.worlds.handlers.git.objects import NOTHING
from simtrain.worlds.handlers.git.patch import NO_NEWLINE, edits
from simtrain.worlds.handlers.git.paths import quoted

CONTEXT = 3
_HEADING = re.compile(rb"[A-Za-z_$]")
_LONGEST_HEADING = 40


@dataclass(slots=True)
class _Lost:
    """A line that the result has no more, and the parents that had it."""

    text: bytes
    parents: set[int]


@dataclass(slots=True)
class _Place:
    """A line of the result, the parents that lack it, and what was lost before it. The last place has no line."""

    text: bytes | None
    lacking: set[int] = field(default_factory=set[int])
    lost: list[_Lost] = field(default_factory=list[_Lost])

    @property
    def differing(self) -> set[int]:
        """The parents from which the result differs here."""
        return self.lacking.union(*(line.parents for line in self.lost))


def combined(
    path: str,
    parents: Sequence[Side | None],
    result: Side | None,
    abbreviate: Callable[[str], str],
    *,
    dense: bool = True,
    unstored: bool = False,
) -> str:
    """Return the differences of a file from its parents; empty where nothing is to be shown.

    `dense` leaves out what comes from one parent without a change (`--cc`); `unstored` says that the result is a file of the working tree.
    """
    contents = [parent.content if parent else b"" for parent in parents]
    after = result.content if result else b""
    if any(is_binary(content) for content in (*contents, after)):
        hunks = "Binary files differ\n"
    else:
        hunks = _hunks([lines_of(content) for content in contents], lines_of(after), dense=dense)
    if not hunks and all(parents) and result is not None:
        return ""
    return _header(path, parents, result, abbreviate, dense=dense, unstored=unstored) + hunks


def _header(
    path: str,
    parents: Sequence[Side | None],
    result: Side | None,
    abbreviate: Callable[[str], str],
    *,
    dense: bool,
    unstored: bool,
) -> str:
    def short(side: Side | None) -> str:
        return abbreviate(side.entry.sha) if side else NOTHING[:7]

    lines = [f"diff --{'cc' if dense else 'combined'} {quoted(path)}"]
    ids = ",".join(short(parent) for parent in parents)
    lines.append(f"index {ids}..{NOTHING[:7] if unstored or result is None else short(result)}")
    modes = [parent.entry.mode if parent else "000000" for parent in parents]
    if result is None:
        lines.append(f"deleted file mode {','.join(modes)}")
    elif not any(parents):
        lines.append(f"new file mode {result.entry.mode}")
    elif any(mode != result.entry.mode for mode in modes):
        lines.append(f"mode {','.join(modes)}..{result.entry.mode}")
    lines.append(f"--- {quoted('a/' + path) if any(parents) else '/dev/null'}")
    lines.append(f"+++ {quoted('b/' + path) if result else '/dev/null'}")
    return "\n".join(lines) + "\n"


def _hunks(parents: Sequence[list[bytes]], result: list[bytes], *, dense: bool) -> str:
    places = [*(_Place(line) for line in result), _Place(None)]
    # How many lines of each parent lie before a place.
    before = [[0] * (len(result) + 2) for _ in parents]
    for number, lines in enumerate(parents):
        _compare(number, lines, result, places, before[number])
    written: list[bytes] = []
    last = 0
    for start, end, silent in _stretches(places, dense=dense):
        for place in silent:
            places[place].lost = []
        written += _hunk(places[start:end], start, end, before, result, _heading(result[last:start]))
        last = end
    return b"".join(written).decode(errors="replace")


def _compare(number: int, lines: list[bytes], result: list[bytes], places: list[_Place], before: list[int]) -> None:
    """Note what a parent lacks, and what of it is lost."""
    shift, done = 0, 0
    for edit in edits(lines, result):
        for place in range(done, edit.new + 1):
            before[place] = place + shift
        for place in range(edit.new, edit.new + edit.new_count):
            places[place].lacking.add(number)
            before[place + 1] = edit.old + edit.old_count
        # What was lost counts as lying before the place at which it was.
        before[edit.new] = edit.old
        places[edit.new].lost = _joined(places[edit.new].lost, lines[edit.old : edit.old + edit.old_count], number)
        shift += edit.old_count - edit.new_count
        done = edit.new + edit.new_count + (0 if edit.new_count else 1)
    for place in range(done, len(before)):
        before[place] = place + shift
    before[len(result) + 1] = len(lines)


def _joined(held: list[_Lost], more: Sequence[bytes], number: int) -> list[_Lost]:
    """Return lost lines of several parents as one list, in which what they share stands once."""
    rows, columns = len(held), len(more)
    longest = [[0] * (columns + 1) for _ in range(rows + 1)]
    for row in range(rows - 1, -1, -1):
        for column in range(columns - 1, -1, -1):
            same = held[row].text == more[column]
            longest[row][column] = (
                longest[row + 1][column + 1] + 1 if same else max(longest[row + 1][column], longest[row][column + 1])
            )
    found: list[_Lost] = []
    row = column = 0
    while row < rows or column < columns:
        if row < rows and column < columns and held[row].text == more[column]:
            found.append(_Lost(held[row].text, held[row].parents | {number}))
            row, column = row + 1, column + 1
        elif column == columns or (row < rows and longest[row + 1][column] >= longest[row][column + 1]):
            found.append(held[row])
            row += 1
        else:
            found.append(_Lost(more[column], {number}))
            column += 1
    return found


def _stretches(places: list[_Place], *, dense: bool) -> list[tuple[int, int, set[int]]]:
    """Return the hunks with the lines around them: each from a place to before another, and the places where no loss is shown."""
    found: list[tuple[int, int]] = []
    for place, one in enumerate(places):
        if not one.differing:
            continue
        if found and place < _tail(places, found[-1][1]) + CONTEXT:
            found[-1] = found[-1][0], place + 1
        else:
            found.append((place, place + 1))
    if dense:
        found = [(start, end) for start, end in found if _from_all(places[start:end])]
    wide: list[tuple[int, int, set[int]]] = []
    for begin, behind in found:
        start, end = max(0, begin - CONTEXT), min(len(places), _tail(places, behind) + CONTEXT)
        if wide and start <= wide[-1][1]:
            first, last, silent = wide.pop()
            wide.append((first, end, silent | {*range(last, begin)}))
        else:
            wide.append((start, end, {*range(start, begin)}))
    return wide


def _tail(places: Sequence[_Place], end: int) -> int:
    """Return where what follows a stretch begins: a loss stands before its place."""
    return end if places[end - 1].lacking else end - 1


def _from_all(places: Sequence[_Place]) -> bool:
    """Return whether what differs here differs from every parent, and not from one alone."""
    return len(set[int]().union(*(place.differing for place in places))) > 1


def _hunk(
    places: Sequence[_Place],
    start: int,
    end: int,
    before: Sequence[Sequence[int]],
    result: Sequence[bytes],
    heading: bytes,
) -> list[bytes]:
    count = len(before)
    ends = min(end, len(result))
    ranges = [_range(one[start], one[end if end <= len(result) else len(result) + 1] - one[start]) for one in before]
    signs = "@" * (count + 1)
    told = " ".join([*(f"-{each}" for each in ranges), f"+{_range(start, ends - start)}"])
    written = [f"{signs} {told} {signs}".encode() + heading + b"\n"]
    for place in places:
        for line in place.lost:
            written.append(_line("".join("-" if one in line.parents else " " for one in range(count)), line.text))
        if place.text is not None:
            written.append(_line("".join("+" if one in place.lacking else " " for one in range(count)), place.text))
    return written


def _range(start: int, count: int) -> str:
    return f"{start + 1},{count}"


def _heading(lines: Sequence[bytes]) -> bytes:
    """Return the nearest line between two hunks that looks like the beginning of a function."""
    for line in reversed(lines):
        if _HEADING.match(line):
            # git leaves out the last letter of what it shows.
            return b" " + line[:_LONGEST_HEADING].rstrip()[:-1]
    return b""


def _line(signs: str, line: bytes) -> bytes:
    text = signs.encode() + line
    return text if line.endswith(b"\n") else text + b"\n" + b" " + NO_NEWLINE
