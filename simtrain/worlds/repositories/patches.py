"""Patches: the unified differences of two trees, as `git apply` takes them, and their strict application."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher

from simtrain.values.errors import InputError

_CONTEXT = 3
_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_NO_NEWLINE = "\\ No newline at end of file"


def patch_between(old: Mapping[str, str], new: Mapping[str, str]) -> str:
    """Return the patch from one tree (path -> text) to another; empty if they are alike."""
    return "".join(_file_patch(path, old.get(path), new.get(path)) for path in sorted({*old, *new}))


def _file_patch(path: str, old: str | None, new: str | None) -> str:
    if old == new:
        return ""
    head = [f"diff --git a/{path} b/{path}"]
    if old is None:
        head.append("new file mode 100644")
    elif new is None:
        head.append("deleted file mode 100644")
    before, after = _lines(old or ""), _lines(new or "")
    if before or after:
        head += [
            f"--- {'/dev/null' if old is None else f'a/{path}'}",
            f"+++ {'/dev/null' if new is None else f'b/{path}'}",
        ]
    return "\n".join([*head, *_hunks(before, after)]) + "\n"


def _hunks(before: Sequence[str], after: Sequence[str]) -> list[str]:
    found: list[str] = []
    for group in SequenceMatcher(None, before, after, autojunk=False).get_grouped_opcodes(_CONTEXT):
        left, right = (group[0][1], group[-1][2]), (group[0][3], group[-1][4])
        found.append(f"@@ -{_range(*left)} +{_range(*right)} @@")
        for kind, low, high, first, last in group:
            if kind == "equal":
                found += _marked(" ", before[low:high])
                continue
            found += _marked("-", before[low:high])
            found += _marked("+", after[first:last])
    return found


def _range(start: int, end: int) -> str:
    # An empty range is named by the line before it.
    return f"{start + (end > start)},{end - start}"


def _marked(mark: str, lines: Sequence[str]) -> list[str]:
    found: list[str] = []
    for line in lines:
        found.append(mark + line.removesuffix("\n"))
        if not line.endswith("\n"):
            found.append(_NO_NEWLINE)
    return found


def _lines(text: str) -> list[str]:
    """Return the lines with their ends; only a newline ends one."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


@dataclass(slots=True)
class _Hunk:
    old_start: int
    new_start: int
    old: list[str] = field(default_factory=list[str])
    new: list[str] = field(default_factory=list[str])


@dataclass(slots=True)
class _Change:
    old: str | None
    new: str | None
    hunks: list[_Hunk] = field(default_factory=list[_Hunk])


def applied(files: Mapping[str, str], patch: str, *, back: bool = False) -> dict[str, str]:
    """Return a tree with a patch applied, or taken back. Raises InputError naming the file and line where it does not fit.

    The lines must be there word by word; like `git apply` it takes them where they moved to.
    """
    found = dict(files)
    for change in _read(patch):
        source, target = (change.new, change.old) if back else (change.old, change.new)
        text = "" if source is None else found.get(source)
        if text is None:
            raise InputError(f"the patch does not apply: there is no {source}", remedy="give the files that it is for")
        if source is None and target in found:
            raise InputError(f"the patch does not apply: {target} is there already")
        lines = _replaced(_lines(text), change, back=back)
        if source is not None:
            del found[source]
        if target is not None:
            found[target] = "".join(lines)
    return found


def applied_in_part(files: Mapping[str, str], patch: str) -> dict[str, str]:
    """Return a tree with those hunks of a patch applied that fit, with less context where all of it is not there.

    A hunk without context is applied only if its lines stand once in the file.
    """
    found = dict(files)
    for change in _read(patch):
        text = found.get(change.old or "")
        if change.old is None or change.new is None or text is None:
            continue
        lines = _lines(text)
        for hunk in change.hunks:
            _apply_where_it_fits(lines, hunk)
        found[change.new] = "".join(lines)
    return found


def _apply_where_it_fits(lines: list[str], hunk: _Hunk) -> None:
    before = next((at for at, (old, new) in enumerate(zip(hunk.old, hunk.new, strict=False)) if old != new), 0)
    ends = zip(reversed(hunk.old), reversed(hunk.new), strict=False)
    after = next((at for at, (old, new) in enumerate(ends) if old != new), 0)
    for context in range(_CONTEXT, -1, -1):
        first, last = max(0, before - context), max(0, after - context)
        old, new = hunk.old[first : len(hunk.old) - last], hunk.new[first : len(hunk.new) - last]
        places = [at for at in range(len(lines) - len(old) + 1) if old and lines[at : at + len(old)] == old]
        if len(places) == 1:
            lines[places[0] : places[0] + len(old)] = new
            return


def _replaced(lines: list[str], change: _Change, *, back: bool) -> list[str]:
    moved = 0
    for hunk in change.hunks:
        old, new = (hunk.new, hunk.old) if back else (hunk.old, hunk.new)
        # Earlier hunks are in place already, so the line counts as on the side that is being made.
        start = hunk.old_start if back else hunk.new_start
        places = [at for at in range(len(lines) - len(old) + 1) if lines[at : at + len(old)] == old]
        if not places:
            raise InputError(
                f"the patch does not apply: {change.new or change.old} has other lines about line {start + 1}",
                remedy="give the files that it is for",
            )
        at = min(places, key=lambda place: (abs(place - start - moved), place))
        lines[at : at + len(old)] = new
        moved = at - start
    return lines


def _read(patch: str) -> list[_Change]:
    """Return the changes of a patch, file by file. Raises InputError for text that is none."""
    changes: list[_Change] = []
    lines = patch.split("\n")
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        if line.startswith("diff --git a/"):
            path = line.rpartition(" b/")[2]
            changes.append(_Change(path, path))
        elif line.startswith(("new file", "deleted file")) and changes:
            setattr(changes[-1], "old" if line.startswith("new") else "new", None)
        elif line.startswith("@@") and changes:
            at = _read_hunk(lines, at, changes[-1])
        elif line and not line.startswith(("--- ", "+++ ", "index ", "similarity ")):
            raise InputError(
                f"line {at} of the patch cannot be read: {line[:60]!r}", remedy="write it as `git diff` does"
            )
    return changes


def _read_hunk(lines: Sequence[str], at: int, change: _Change) -> int:
    match = _HUNK.match(lines[at - 1])
    if match is None:
        raise InputError(f"line {at} of the patch is no head of a hunk: {lines[at - 1][:60]!r}")
    left, right = (1 if match[group] is None else int(match[group]) for group in (2, 4))
    hunk = _Hunk(int(match[1]) - (left > 0), int(match[3]) - (right > 0))
    while left > 0 or right > 0 or (at < len(lines) and lines[at] == _NO_NEWLINE):
        line = lines[at] if at < len(lines) else "?"
        at += 1
        mark, text = line[:1] or " ", f"{line[1:]}\n"
        if line == _NO_NEWLINE:
            sides = {"-": (hunk.old,), "+": (hunk.new,)}.get(lines[at - 2][:1], (hunk.old, hunk.new))
            for side in sides:
                side[-1] = side[-1].removesuffix("\n")
            continue
        if mark not in " +-":
            raise InputError(f"line {at} of the patch cannot be read: {line[:60]!r}")
        if mark in " -":
            hunk.old.append(text)
            left -= 1
        if mark in " +":
            hunk.new.append(text)
            right -= 1
    change.hunks.append(hunk)
    return at
