"""The difference of two texts as a unified diff, hunk for hunk as npm's `diff` prints it.

Two texts have many shortest edit scripts. Which one is found follows from the order in which Myers' greedy algorithm
(E. Myers, An O(ND) Difference Algorithm, 1986) visits its diagonals: upwards from the lowest, deletions first if both reach
as far.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

# The default of npm's `diff`; git's is 3.
CONTEXT = 4
LONGEST_SCRIPT = 600
"""Lines that a diff may add and remove before the search for the shortest gives up: its time grows with their square."""
NO_NEWLINE = "\\ No newline at end of file"

Sign: TypeAlias = Literal[" ", "-", "+"]
Line: TypeAlias = tuple[Sign, str]


class _Path(NamedTuple):
    """A path through the grid of both texts: the last old line passed (-1: none), and the steps to it, newest first."""

    old: int
    steps: tuple[Sign, _Path] | None
    common: int = 0


@dataclass(slots=True)
class _Hunk:
    old: int
    new: int
    lines: list[Line] = field(default_factory=list[Line])


def unified_diff(path: str, before: str, after: str) -> str:
    """Return the patch from `before` to `after`, with its headers."""
    rule = "=" * 67
    head = [f"Index: {path}", rule, f"--- {path}\toriginal", f"+++ {path}\tmodified"]
    return "\n".join([*head, *(line for hunk in _hunks(edit_script(before, after)) for line in _written(hunk))]) + "\n"


def edit_script(before: str, after: str) -> list[Line]:
    """Return all lines of both texts, kept, removed and added; a line holds its line break."""
    old, new = _lines(before), _lines(after)
    signs = _shortest(old, new)
    script: list[Line] = []
    at_old = at_new = 0
    for sign in signs:
        script.append((sign, new[at_new] if sign == "+" else old[at_old]))
        at_old += sign != "+"
        at_new += sign != "-"
    return script


def _lines(text: str) -> list[str]:
    parts = text.split("\n")
    return [*(f"{part}\n" for part in parts[:-1]), *parts[-1:]] if parts[-1] else [f"{part}\n" for part in parts[:-1]]


def _shortest(old: list[str], new: list[str]) -> list[Sign]:
    start = _advanced(_Path(-1, None), old, new, 0)
    if start.old + 1 >= len(old) and start.old + 1 >= len(new):
        return _signs(start)
    best: dict[int, _Path] = {0: start}
    lowest, highest = -len(old) - len(new), len(old) + len(new)
    if start.old + 1 >= len(old):
        highest = -1
    if start.old + 1 >= len(new):
        lowest = 1
    for length in range(1, LONGEST_SCRIPT + 1):
        for diagonal in range(max(lowest, -length), min(highest, length) + 1, 2):
            removing, adding = best.pop(diagonal - 1, None), best.get(diagonal + 1)
            path = _branch(removing, adding, diagonal, old, new)
            if path is None:
                best.pop(diagonal, None)
                continue
            path = _advanced(path, old, new, diagonal)
            at_old, at_new = path.old + 1 >= len(old), path.old - diagonal + 1 >= len(new)
            if at_old and at_new:
                return _signs(path)
            best[diagonal] = path
            if at_old:
                # The old text is used up on this diagonal, so those above, which remove more lines, cannot be shorter.
                highest = min(highest, diagonal - 1)
            if at_new:
                lowest = max(lowest, diagonal + 1)
    return _all_changed(start, old, new)


def _all_changed(start: _Path, old: list[str], new: list[str]) -> list[Sign]:
    """Return a script that keeps the common beginning and end, and replaces all between."""
    begin, end = start.old + 1, 0
    while end < min(len(old), len(new)) - begin and old[-1 - end] == new[-1 - end]:
        end += 1
    counts: list[tuple[Sign, int]] = [
        (" ", begin),
        ("-", len(old) - begin - end),
        ("+", len(new) - begin - end),
        (" ", end),
    ]
    return [sign for sign, count in counts for _ in range(count)]


def _branch(
    removing: _Path | None, adding: _Path | None, diagonal: int, old: list[str], new: list[str]
) -> _Path | None:
    """Return the path on a diagonal: by a removal from the diagonal below, or an addition from the one above."""
    may_add = adding is not None and 0 <= adding.old - diagonal < len(new)
    may_remove = removing is not None and removing.old + 1 < len(old)
    if adding is not None and may_add and (removing is None or not may_remove or removing.old < adding.old):
        return _Path(adding.old, ("+", adding))
    if removing is not None and may_remove:
        return _Path(removing.old + 1, ("-", removing))
    return None


def _advanced(path: _Path, old: list[str], new: list[str], diagonal: int) -> _Path:
    """Return the path extended over the lines that both texts share from here."""
    at = path.old
    while at + 1 < len(old) and at - diagonal + 1 < len(new) and old[at + 1] == new[at - diagonal + 1]:
        at += 1
    return _Path(at, path.steps, at - path.old)


def _signs(path: _Path) -> list[Sign]:
    """Return the steps of a path from its beginning."""
    backwards: list[Sign] = []
    while True:
        backwards.extend(" " for _ in range(path.common))
        if path.steps is None:
            break
        sign, path = path.steps
        backwards.append(sign)
    backwards.reverse()
    return backwards


def _hunks(script: list[Line]) -> Iterator[_Hunk]:
    hunk: _Hunk | None = None
    kept: list[Line] = []
    old = new = 0
    for line in script:
        if line[0] == " ":
            kept.append(line)
        else:
            # Nearer changes share a hunk, as their context would overlap.
            if hunk is not None and len(kept) > 2 * CONTEXT:
                hunk.lines += kept[:CONTEXT]
                yield hunk
                hunk = None
            if hunk is None:
                kept = kept[-CONTEXT:]
                hunk = _Hunk(old - len(kept), new - len(kept))
            hunk.lines += [*kept, line]
            kept = []
        old += line[0] != "+"
        new += line[0] != "-"
    if hunk is not None:
        hunk.lines += kept[:CONTEXT]
        yield hunk


def _written(hunk: _Hunk) -> Iterator[str]:
    old = sum(sign != "+" for sign, _ in hunk.lines)
    new = sum(sign != "-" for sign, _ in hunk.lines)
    # An empty side is counted from the line before it, as diff -u does.
    yield f"@@ -{hunk.old + bool(old)},{old} +{hunk.new + bool(new)},{new} @@"
    for sign, line in hunk.lines:
        yield sign + line.removesuffix("\n")
        if not line.endswith("\n"):
            yield NO_NEWLINE
