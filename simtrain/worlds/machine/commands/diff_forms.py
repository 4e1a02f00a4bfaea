"""The forms in which diff writes what differs: normal, unified, context, side by side."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from simtrain.worlds.machine.commands.line_edits import LineEdit

_NO_NEWLINE = "\\ No newline at end of file\n"
_FUNCTION = re.compile(rb"[A-Za-z_$]")
_GUTTER = 3
_COLOURS = {
    "unified": (("@@", "36"), ("-", "31"), ("+", "32")),
    "normal": (("<", "31"), (">", "32"), *((str(digit), "36") for digit in range(10))),
}
_TAB = 8


@dataclass(frozen=True, slots=True)
class DiffForm:
    """How differences are written: `context` counts lines, `width` columns."""

    style: str
    context: int = 3
    width: int = 130
    only_changes: bool = False
    functions: bool = False
    expand: bool = False


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two texts in lines with their ends, the edits between them, and the heads of the two files."""

    old: Sequence[bytes]
    new: Sequence[bytes]
    edits: Sequence[LineEdit]
    heads: tuple[str, str]


def written(found: Comparison, form: DiffForm) -> str:
    """Return the differences in a form; empty if there are none, except side by side."""
    if form.style == "side by side":
        return "".join(_side_by_side(found, form))
    if not found.edits:
        return ""
    if form.style == "unified":
        return "".join(_unified(found, form))
    if form.style == "context":
        return "".join(_context(found, form))
    if form.style in ("ed", "rcs"):
        return "".join(_ed(found) if form.style == "ed" else _rcs(found))
    return "".join(_normal(found))


def _text(sign: str, line: bytes) -> str:
    text = sign + line.decode("utf-8", "surrogateescape")
    return text if text.endswith("\n") else f"{text}\n{_NO_NEWLINE}"


def _numbers(start: int, end: int) -> str:
    """Return a range of lines: `4`, `4,6`, or the line before an empty range."""
    if end - start <= 1:
        return str(end)
    return f"{start + 1},{end}"


def _normal(found: Comparison) -> Iterator[str]:
    for edit in found.edits:
        letter = "a" if edit.start == edit.end else "d" if edit.new_start == edit.new_end else "c"
        yield f"{_numbers(edit.start, edit.end)}{letter}{_numbers(edit.new_start, edit.new_end)}\n"
        yield from (_text("< ", line) for line in found.old[edit.start : edit.end])
        if letter == "c":
            yield "---\n"
        yield from (_text("> ", line) for line in found.new[edit.new_start : edit.new_end])


def _ed(found: Comparison) -> Iterator[str]:
    """Yield commands of ed that make the new text of the old one, from the end to the beginning: so they move no lines that come later."""
    for edit in reversed(found.edits):
        letter = "a" if edit.start == edit.end else "d" if edit.new_start == edit.new_end else "c"
        yield f"{_numbers(edit.start, edit.end)}{letter}\n"
        if letter != "d":
            yield from (_text("", line) for line in found.new[edit.new_start : edit.new_end])
            yield ".\n"


def _rcs(found: Comparison) -> Iterator[str]:
    """Yield what RCS keeps of a change: where lines go, how many, and those that come."""
    for edit in found.edits:
        if edit.end > edit.start:
            yield f"d{edit.start + 1} {edit.end - edit.start}\n"
        if edit.new_end > edit.new_start:
            yield f"a{edit.end} {edit.new_end - edit.new_start}\n"
            yield from (line.decode("utf-8", "surrogateescape") for line in found.new[edit.new_start : edit.new_end])


def coloured(text: str, style: str) -> str:
    """Return differences in the normal or the unified form with the colours of `--color=always`."""
    colours = _COLOURS.get(style)
    if colours is None:
        return text
    lines: list[str] = []
    for number, line in enumerate(text.split("\n")):
        is_head = style == "unified" and number < 2
        code = "1" if is_head else next((code for sign, code in colours if line.startswith(sign)), "")
        lines.append(f"\033[{code}m{line}\033[0m" if code and line else line)
    return "\n".join(lines)


def hunks(edits: Sequence[LineEdit], context: int) -> Iterator[list[LineEdit]]:
    """Yield the edits of each hunk: those whose context would touch share one."""
    group: list[LineEdit] = []
    for edit in edits:
        if group and edit.start - group[-1].end > 2 * context:
            yield group
            group = []
        group.append(edit)
    if group:
        yield group


def _unified(found: Comparison, form: DiffForm) -> Iterator[str]:
    yield f"--- {found.heads[0]}\n+++ {found.heads[1]}\n"
    for group in hunks(found.edits, form.context):
        first, last = group[0], group[-1]
        start, end = max(0, first.start - form.context), min(len(found.old), last.end + form.context)
        new_start, new_end = max(0, first.new_start - form.context), min(len(found.new), last.new_end + form.context)
        ranges = f"-{_short(start, end)} +{_short(new_start, new_end)}"
        yield f"@@ {ranges} @@{_function(found.old, start) if form.functions else ''}\n"
        place = start
        for edit in group:
            yield from (_text(" ", line) for line in found.old[place : edit.start])
            yield from (_text("-", line) for line in found.old[edit.start : edit.end])
            yield from (_text("+", line) for line in found.new[edit.new_start : edit.new_end])
            place = edit.end
        yield from (_text(" ", line) for line in found.old[place:end])


def _short(start: int, end: int) -> str:
    count = end - start
    if count == 1:
        return str(end)
    return f"{start + 1 if count else start},{count}"


def _function(lines: Sequence[bytes], start: int) -> str:
    for line in reversed(lines[:start]):
        if _FUNCTION.match(line):
            return " " + line.decode("utf-8", "surrogateescape").rstrip("\n")[:40].rstrip()
    return ""


def _context(found: Comparison, form: DiffForm) -> Iterator[str]:
    yield f"*** {found.heads[0]}\n--- {found.heads[1]}\n"
    for group in hunks(found.edits, form.context):
        first, last = group[0], group[-1]
        start, end = max(0, first.start - form.context), min(len(found.old), last.end + form.context)
        new_start, new_end = max(0, first.new_start - form.context), min(len(found.new), last.new_end + form.context)
        yield f"***************{_function(found.old, start) if form.functions else ''}\n"
        yield f"*** {_span(start, end)} ****\n"
        if any(edit.end > edit.start for edit in group):
            yield from _marked(found.old, start, end, [(e.start, e.end, e.new_end > e.new_start) for e in group], "-")
        yield f"--- {_span(new_start, new_end)} ----\n"
        if any(edit.new_end > edit.new_start for edit in group):
            marks = [(e.new_start, e.new_end, e.end > e.start) for e in group]
            yield from _marked(found.new, new_start, new_end, marks, "+")


def _span(start: int, end: int) -> str:
    return str(end) if end - start <= 1 else f"{start + 1},{end}"


def _marked(
    lines: Sequence[bytes], start: int, end: int, changes: Sequence[tuple[int, int, bool]], sign: str
) -> Iterator[str]:
    for place in range(start, end):
        both = next((both for first, last, both in changes if first <= place < last), None)
        yield _text("  " if both is None else "! " if both else f"{sign} ", lines[place])


def _side_by_side(found: Comparison, form: DiffForm) -> Iterator[str]:
    tab = 1 if form.expand else _TAB
    step = tab + _GUTTER
    unaligned = (form.width >> 1) + (step >> 1) + (form.width & step & 1)
    offset = unaligned - unaligned % tab
    half = max(0, min(offset - _GUTTER, form.width - offset))
    column = offset if half else form.width

    def line(left: bytes | None, sign: str, right: bytes | None) -> str:
        text, at = "", 0
        if left is not None:
            text, at = _half(left, half)
        if sign != " ":
            middle = (half + column - 1) // 2
            text += _to_column(at, middle, form.expand) + sign
            at = middle + 1
        if right is not None and right != b"\n":
            shown, _ = _half(right, half)
            text += _to_column(at, column, form.expand) + shown
        elif right is not None:
            text += _to_column(at, column, form.expand)
        return text + "\n"

    place = 0
    new_place = 0
    for edit in [*found.edits, LineEdit(len(found.old), len(found.old), len(found.new), len(found.new))]:
        if not form.only_changes:
            yield from (
                line(one, " ", other)
                for one, other in zip(found.old[place : edit.start], found.new[new_place : edit.new_start], strict=True)
            )
        common = min(edit.end - edit.start, edit.new_end - edit.new_start)
        for step_ in range(common):
            yield line(found.old[edit.start + step_], "|", found.new[edit.new_start + step_])
        yield from (line(one, "<", None) for one in found.old[edit.start + common : edit.end])
        yield from (line(None, ">", one) for one in found.new[edit.new_start + common : edit.new_end])
        place, new_place = edit.end, edit.new_end


def _half(line: bytes, wide: int) -> tuple[str, int]:
    """Return as much of a line as fits into a column, with tabs as spaces, and its width."""
    text = line.decode("utf-8", "surrogateescape").rstrip("\n")
    shown = ""
    for letter in text:
        piece = " " * (_TAB - len(shown) % _TAB) if letter == "\t" else letter
        if len(shown) + len(piece) > wide:
            break
        shown += piece
    return shown, len(shown)


def _to_column(at: int, to: int, expand: bool) -> str:
    text = ""
    if not expand:
        tab = at + _TAB - at % _TAB
        while tab <= to:
            text += "\t"
            at = tab
            tab += _TAB
    return text + " " * (to - at)
