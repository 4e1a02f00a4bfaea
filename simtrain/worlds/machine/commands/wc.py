"""wc: lines, words, characters and bytes. The engine's own looks at each character for all of them, prints nothing if one file is missing,
and knows no `-`."""

import re
from dataclasses import dataclass

from wcwidth import wcswidth

from simtrain.worlds.machine.binary import as_bytes
from simtrain.worlds.machine.commands.options import parsed
from simtrain.worlds.machine.invocation import Invocation, Result
from simtrain.worlds.machine.problems import attempt

_LONG = {"bytes": "c", "chars": "m", "lines": "l", "words": "w", "max-line-length": "L"}
_ORDER = "lwmcL"
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f\x7f-\xff]")
_LINE_ENDS = re.compile("[\n\r\f]")
_TAB, _UNKNOWN_WIDTH = 8, 7


@dataclass(frozen=True, slots=True)
class _Input:
    """What is counted: its name if one was given, its content, the number of characters that its size has, and its error."""

    name: str | None
    content: bytes | None
    size: int | None
    error: str = ""


def wc(call: Invocation) -> Result:
    """Print the counts of each file or of standard input, and their sum."""
    options = parsed(call, "clmwL", _LONG)
    if isinstance(options, Result):
        return options
    kinds = [kind for kind in _ORDER if options.has(kind)] or ["l", "w", "c"]
    inputs = [_read(call, name) for name in options.operands or [None]]
    rows = [[_count(kind, each.content) for kind in kinds] for each in inputs if each.content is not None]
    width = 1 if len(inputs) == len(kinds) == 1 else _width(inputs)
    output, errors, left = "", "", iter(rows)
    for each in inputs:
        errors += each.error
        if each.content is not None:
            output += _row(next(left), width, each.name)
    if len(inputs) > 1:
        sums = [
            max(column, default=0) if kind == "L" else sum(column)
            for kind, column in zip(kinds, zip(*rows, strict=True) if rows else [()] * len(kinds), strict=True)
        ]
        output += _row(sums, width, "total")
    return Result(output, errors, 1 if errors else 0)


def _read(call: Invocation, name: str | None) -> _Input:
    if name in (None, "-"):
        return _Input(name, as_bytes(call.stdin or ""), None)
    path = call.path(name)
    node = attempt(lambda: call.files.node(path))
    if isinstance(node, OSError):
        return _Input(name, None, 0, f"wc: {name}: {node.strerror}\n")
    size = len(node.content) if node.kind == "file" else None
    if node.kind == "directory":
        return _Input(name, b"", size, f"wc: {name}: Is a directory\n")
    content = attempt(lambda: call.files.read(path))
    if isinstance(content, OSError):
        return _Input(name, None, size, f"wc: {name}: {content.strerror}\n")
    return _Input(name, content, size)


def _width(inputs: list[_Input]) -> int:
    """Return how wide columns are: as the sum of all sizes, or for what has no size as seven digits at least."""
    width = len(str(sum(each.size or 0 for each in inputs)))
    return max(width, _UNKNOWN_WIDTH) if any(each.size is None for each in inputs) else width


def _row(counts: list[int], width: int, name: str | None) -> str:
    return " ".join(f"{count:{width}}" for count in counts) + (f" {name}\n" if name is not None else "\n")


def _count(kind: str, content: bytes) -> int:
    if kind == "l":
        return content.count(b"\n")
    if kind == "c":
        return len(content)
    if kind == "w" and not _CONTROL.search(content):
        return len(content.split())
    text = content.decode("utf-8", "ignore")
    if kind == "m":
        return len(text)
    if kind == "w":
        # A word has a character that can be printed.
        return sum(any(letter.isprintable() for letter in word) for word in text.split())
    return max(map(_shown_width, _LINE_ENDS.split(text)))


def _shown_width(line: str) -> int:
    width = 0
    for number, part in enumerate(line.split("\t")):
        if number:
            width += _TAB - width % _TAB
        width += len(part) if part.isascii() and part.isprintable() else sum(max(0, wcswidth(sign)) for sign in part)
    return width
