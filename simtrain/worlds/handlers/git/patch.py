"""Differences as text, as `git diff` prints them. libgit2 finds the lines that differ, with git's own code."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from pygit2 import Patch
from pygit2.enums import DiffOption

from simtrain.values.lines import lines_of
from simtrain.worlds.handlers.git.deltas import Delta, Side, is_binary
from simtrain.worlds.handlers.git.objects import NOTHING
from simtrain.worlds.handlers.git.paths import quoted

# git's default heuristic; text is forced as binary content is dealt with before.
_AS_GIT = DiffOption.INDENT_HEURISTIC | DiffOption.FORCE_TEXT


@dataclass(frozen=True, slots=True)
class Edit:
    """A replacement of `old_count` lines from `old` on (counted from 0) by `new_count` lines from `new` on."""

    old: int
    old_count: int
    new: int
    new_count: int


@dataclass(frozen=True, slots=True)
class PatchStyle:
    """How a patch is written: prefixes of both names, whether ids are whole, and which spaces do not count."""

    old: str = "a/"
    new: str = "b/"
    full_ids: bool = False
    ignored: DiffOption = DiffOption.NORMAL


_USUAL = PatchStyle()


def edits(old: Sequence[bytes], new: Sequence[bytes], ignored: DiffOption = DiffOption.NORMAL) -> Iterator[Edit]:
    """Yield the differing stretches, from top to bottom. `ignored` says which spaces do not count."""
    for hunk in Patch.create_from(b"".join(old), b"".join(new), flag=_AS_GIT | ignored, context_lines=0).hunks:
        # A hunk header gives the line before an empty stretch.
        left, right = hunk.old_start - (hunk.old_lines > 0), hunk.new_start - (hunk.new_lines > 0)
        yield Edit(left, hunk.old_lines, right, hunk.new_lines)


NO_NEWLINE = b"\\ No newline at end of file\n"
_HEADING = re.compile(rb"[A-Za-z_$]")
# git cuts the function name in a hunk header after 80 bytes.
_LONGEST_HEADING = 80


def patch(found: Sequence[Delta], *, context: int, abbreviate: Callable[[str], str], style: PatchStyle = _USUAL) -> str:
    """Return the whole text, ending in a newline if there is any."""
    return "".join(
        _header(delta, abbreviate, style) + body(delta, context=context, style=style)
        for delta in found
        if not style.ignored or not differs_in_spaces(delta, style.ignored)
    )


def differs_in_spaces(delta: Delta, ignored: DiffOption) -> bool:
    """True if a file is in both states, and nothing differs but spaces that do not count."""
    old, new = delta.old, delta.new
    if old is None or new is None or old.entry.mode != new.entry.mode or delta.alike is not None or _binary(delta):
        return False
    return not any(edits(lines_of(old.content), lines_of(new.content), ignored))


def _header(delta: Delta, abbreviate: Callable[[str], str], style: PatchStyle) -> str:
    old, new = delta.old, delta.new
    first, last = (old or new), (new or old)
    assert first is not None and last is not None
    lines = [f"diff --git {quoted(style.old + first.path)} {quoted(style.new + last.path)}"]
    if old is None:
        lines.append(f"new file mode {last.entry.mode}")
    elif new is None:
        lines.append(f"deleted file mode {first.entry.mode}")
    elif old.entry.mode != new.entry.mode:
        lines += [f"old mode {old.entry.mode}", f"new mode {new.entry.mode}"]
    if delta.alike is not None:
        lines.append(f"similarity index {delta.alike}%")
        lines += [f"rename from {quoted(first.path)}", f"rename to {quoted(last.path)}"]
    ids = [side.entry.sha if side else NOTHING for side in (old, new)]
    if ids[0] != ids[1]:
        short = (
            ids
            if style.full_ids
            else [
                abbreviate(sha) if sha != NOTHING else "0" * len(abbreviate(ids[1 - place]))
                for place, sha in enumerate(ids)
            ]
        )
        mode = f" {first.entry.mode}" if old and new and old.entry.mode == new.entry.mode else ""
        lines.append(f"index {short[0]}..{short[1]}{mode}")
    return "\n".join(lines) + "\n" + _names(delta, style)


def _names(delta: Delta, style: PatchStyle) -> str:
    """Return the two lines of names above the hunks; empty if no line of text differs."""
    if not _differs(delta) or _binary(delta):
        return ""
    return f"--- {_named(style.old, delta.old)}\n+++ {_named(style.new, delta.new)}\n"


def _named(prefix: str, side: Side | None) -> str:
    if side is None:
        return "/dev/null"
    name = quoted(prefix + side.path)
    # The tab lets `patch` see where a name with spaces ends.
    return f"{name}\t" if " " in name and not name.startswith('"') else name


def _differs(delta: Delta) -> bool:
    return _content(delta.old) != _content(delta.new)


def _binary(delta: Delta) -> bool:
    return is_binary(_content(delta.old)) or is_binary(_content(delta.new))


def _content(side: Side | None) -> bytes:
    return side.content if side else b""


def body(delta: Delta, *, context: int, style: PatchStyle = _USUAL) -> str:
    """Return the hunks, or the line for a binary file; bytes that are not UTF-8 become U+FFFD."""
    if not _differs(delta):
        return ""
    if _binary(delta):
        return f"Binary files {_named(style.old, delta.old)} and {_named(style.new, delta.new)} differ\n"
    old, new = lines_of(_content(delta.old)), lines_of(_content(delta.new))
    return b"".join(_hunks(old, new, context, style.ignored)).decode(errors="replace")


def _hunks(old: Sequence[bytes], new: Sequence[bytes], context: int, ignored: DiffOption) -> Iterator[bytes]:
    heading = b""
    for group in _grouped(edits(old, new, ignored), context):
        first, last = group[0], group[-1]
        left, right = max(first.old - context, 0), max(first.new - context, 0)
        behind = min(context, len(old) - (last.old + last.old_count), len(new) - (last.new + last.new_count))
        left_end, right_end = last.old + last.old_count + behind, last.new + last.new_count + behind
        ranges = f"@@ -{_range(left, left_end - left)} +{_range(right, right_end - right)} @@"
        # A negative context may begin beyond the end, where git looks for no heading and keeps the last one.
        heading = _heading(old, left) if left <= len(old) else heading
        yield ranges.encode() + heading + b"\n"
        place = right
        for edit in group:
            # Where spaces do not count, what is equal is shown as it is now.
            yield from (_line(b" ", line) for line in new[place : edit.new])
            yield from (_line(b"-", line) for line in old[edit.old : edit.old + edit.old_count])
            yield from (_line(b"+", line) for line in new[edit.new : edit.new + edit.new_count])
            place = edit.new + edit.new_count
        yield from (_line(b" ", line) for line in new[place:right_end])


def _grouped(found: Iterable[Edit], context: int) -> Iterator[list[Edit]]:
    """Yield the edits of each hunk: those whose context would touch share one."""
    group: list[Edit] = []
    for edit in found:
        if group and edit.old - (group[-1].old + group[-1].old_count) > 2 * context:
            yield group
            group = []
        group.append(edit)
    if group:
        yield group


def _range(start: int, count: int) -> str:
    first = start + 1 if count else start
    if count == 1:
        return str(first)
    # Asked for a negative context, git writes the sign after the number.
    return f"{first},{count}" if count >= 0 else f"{first},{-count}-"


def _heading(lines: Sequence[bytes], start: int) -> bytes:
    """Return the nearest line above that starts with a letter, `_` or `$`: git's default for the name of a function."""
    for line in reversed(lines[: max(start, 0)]):
        if _HEADING.match(line):
            return b" " + line[:_LONGEST_HEADING].rstrip()
    return b""


def _line(sign: bytes, line: bytes) -> bytes:
    return sign + line if line.endswith(b"\n") else sign + line + b"\n" + NO_NEWLINE
