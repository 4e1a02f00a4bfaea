"""Patches as `git apply` reads them, and what they make of files."""

import re
import zlib
from base64 import b85decode
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

_HEADING = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_ESCAPED = re.compile(r"\\(\d{3}|.)")
_PLAIN = {"a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13}


@dataclass(slots=True)
class Hunk:
    """A stretch of lines: where it begins in the old file and in the new one, and its lines, each with its sign."""

    start: int
    new_start: int
    lines: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    def side(self, sign: str) -> list[str]:
        """Return the lines before (`-`) or after (`+`)."""
        return [text for mark, text in self.lines if mark in (" ", sign)]


@dataclass(slots=True)
class FilePatch:
    """What a patch does to one file. `old` is None for a new one, `new` for one that is deleted."""

    old: str | None
    new: str | None
    old_mode: str | None = None
    new_mode: str | None = None
    old_id: str = ""
    new_id: str = ""
    copied: bool = False
    alike: str = ""
    hunks: list[Hunk] = field(default_factory=list[Hunk])
    binary: bytes | None = None

    @property
    def path(self) -> str:
        """The path that errors name."""
        return self.old or self.new or ""

    def counts(self) -> tuple[int, int]:
        """Return how many lines are added, and how many removed."""
        signs = [sign for hunk in self.hunks for sign, _ in hunk.lines]
        return signs.count("+"), signs.count("-")


class DoesNotApply(Exception):
    """Raised for a hunk that fits nowhere; holds the line where it should, and the text that is missing there."""

    def __init__(self, line: int, wanted: str) -> None:
        super().__init__(line)
        self.line, self.wanted = line, wanted


class NoName(Exception):
    """Raised for a patch whose file has no name after folders are stripped off it."""


def parsed(text: str, *, strip: int = 1) -> list[FilePatch]:
    """Return what a text of patches does, file by file. `strip` folders are taken off the names. Raises NoName."""
    found: list[FilePatch] = []
    lines = text.split("\n")
    place = 0
    while place < len(lines):
        if lines[place].startswith("diff --git "):
            place = _read_file(lines, place, found, strip)
        elif lines[place].startswith("--- ") and place + 2 < len(lines) and lines[place + 1].startswith("+++ "):
            old, new = (_name(lines[place + at][4:], strip) for at in (0, 1))
            found.append(FilePatch(old, new))
            place = _read_hunks(lines, place + 2, found[-1])
        else:
            place += 1
    return found


def _read_file(lines: Sequence[str], place: int, found: list[FilePatch], strip: int) -> int:
    names = _both_names(lines[place][len("diff --git ") :])
    one = FilePatch(names, names)
    found.append(one)
    place += 1
    while place < len(lines):
        line = lines[place]
        word, _, value = line.partition(" ")
        if line.startswith("old mode "):
            one.old_mode = line[9:]
        elif line.startswith("new mode "):
            one.new_mode = line[9:]
        elif line.startswith("new file mode "):
            one.old, one.new_mode = None, line[14:]
        elif line.startswith("deleted file mode "):
            one.new, one.old_mode = None, line[18:]
        elif line.startswith("similarity index "):
            one.alike = line[17:]
        elif line.startswith(("rename from ", "copy from ")):
            one.old, one.copied = _unquoted(line.partition(" from ")[2]), word == "copy"
        elif line.startswith(("rename to ", "copy to ")):
            one.new = _unquoted(line.partition(" to ")[2])
        elif word == "index":
            one.old_id, _, rest = value.partition("..")
            one.new_id = rest.partition(" ")[0]
        elif word == "---":
            one.old = _name(value, strip) if one.old is not None else None
        elif word == "+++":
            one.new = _name(value, strip) if one.new is not None else None
        elif line == "GIT binary patch":
            return _read_binary(lines, place + 1, one)
        elif line.startswith("@@ "):
            return _read_hunks(lines, place, one)
        elif word not in ("similarity", "dissimilarity"):
            return place
        place += 1
    return place


def _read_hunks(lines: Sequence[str], place: int, one: FilePatch) -> int:
    while place < len(lines) and (head := _HEADING.match(lines[place])):
        hunk = Hunk(int(head[1]), int(head[3]))
        one.hunks.append(hunk)
        old, new = int(head[2] or 1), int(head[4] or 1)
        place += 1
        while place < len(lines) and (old > 0 or new > 0):
            sign, text = lines[place][:1] or " ", lines[place][1:]
            if sign == "\\":
                _end_bare(hunk)
            else:
                hunk.lines.append((sign, f"{text}\n"))
                old -= sign in " -"
                new -= sign in " +"
            place += 1
        if place < len(lines) and lines[place].startswith("\\"):
            _end_bare(hunk)
            place += 1
    return place


def _end_bare(hunk: Hunk) -> None:
    sign, text = hunk.lines[-1]
    hunk.lines[-1] = sign, text.removesuffix("\n")


def _read_binary(lines: Sequence[str], place: int, one: FilePatch) -> int:
    """Read the first half of a binary patch, which holds the new content."""
    kind, _, _ = lines[place].partition(" ")
    packed = b""
    place += 1
    while place < len(lines) and lines[place]:
        mark, text = lines[place][0], lines[place][1:]
        size = ord(mark) - 64 if mark <= "Z" else ord(mark) - 70
        packed += b85decode(text)[:size]
        place += 1
    if kind == "literal":
        one.binary = zlib.decompress(packed)
    return place


def _both_names(text: str) -> str:
    """Return the path of `a/PATH b/PATH`, where both are the same."""
    if text.startswith('"'):
        return _name(text[: text.index('" ') + 1]) or ""
    return text[2 : (len(text) - 1) // 2]


def _name(text: str, strip: int = 1) -> str | None:
    text = _unquoted(text.partition("\t")[0])
    if text == "/dev/null":
        return None
    parts = text.split("/")
    if len(parts) <= strip:
        raise NoName(f"{strip} leading pathname component{'s' if strip != 1 else ''}")
    return "/".join(parts[strip:])


def _unquoted(text: str) -> str:
    if not text.startswith('"'):
        return text

    def put(found: re.Match[str]) -> str:
        one = found[1]
        return chr(int(one, 8)) if one.isdecimal() else chr(_PLAIN.get(one, ord(one)))

    return _ESCAPED.sub(put, text.strip('"')).encode("latin-1", "replace").decode("utf-8", "surrogateescape")


def turned(one: FilePatch) -> FilePatch:
    """Return the reverse of a patch."""
    swapped = {"+": "-", "-": "+"}
    hunks = [
        Hunk(hunk.new_start, hunk.start, [(swapped.get(sign, sign), text) for sign, text in hunk.lines])
        for hunk in one.hunks
    ]
    return replace(
        one, old=one.new, new=one.old, old_mode=one.new_mode, new_mode=one.old_mode, old_id=one.new_id, hunks=hunks
    )


def patched(content: bytes, one: FilePatch) -> bytes:
    """Return what a patch makes of a content. Raises DoesNotApply."""
    if one.binary is not None:
        return one.binary
    lines = re.findall(r"[^\n]*\n|[^\n]+", content.decode("utf-8", "surrogateescape"))
    shift = 0
    for hunk in one.hunks:
        before, after = hunk.side("-"), hunk.side("+")
        wanted = max(hunk.start - 1, 0) + shift
        at = _place(lines, before, wanted, first=hunk.start <= 1, last=not _trailing(hunk))
        if at is None:
            raise DoesNotApply(hunk.start, "".join(before))
        lines[at : at + len(before)] = after
        shift += at - wanted + len(after) - len(before)
    return "".join(lines).encode("utf-8", "surrogateescape")


def _trailing(hunk: Hunk) -> bool:
    return bool(hunk.lines) and hunk.lines[-1][0] == " "


def _place(lines: Sequence[str], before: Sequence[str], wanted: int, *, first: bool, last: bool) -> int | None:
    """Return where lines stand, as near as can be to where they are expected: at the very start or end if a hunk says so."""
    most = len(lines) - len(before)
    tried = range(1) if first else sorted(range(most + 1), key=lambda at: (abs(at - wanted), -at))
    for at in tried:
        if list(lines[at : at + len(before)]) == list(before) and (not last or at == most):
            return at
    return None
