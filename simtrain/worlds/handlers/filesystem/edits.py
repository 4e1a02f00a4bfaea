"""Edits of a text: each replaces lines that match exactly, or line for line but for the white space at their ends."""

import re
from collections.abc import Iterable
from typing import Final

from simtrain.contracts.handler import ToolError
from simtrain.values.types import JsonObject

_SPACE: Final = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f"
    "\u205f\u3000\ufeff"
)
"""The white space of JavaScript; Python's has a few control characters more."""

_TICKS = re.compile(r"`+")


def with_unix_lines(text: str) -> str:
    """Return the text with `\\n` for every `\\r\\n`."""
    return text.replace("\r\n", "\n")


def edited(text: str, edits: Iterable[JsonObject]) -> str:
    """Return the text after all edits, one after the other; each changes the first place that matches. Raises ToolError where none does."""
    for edit in edits:
        old, new = with_unix_lines(edit["oldText"]), with_unix_lines(edit["newText"])
        if old in text:
            text = text.replace(old, new, 1)
            continue
        changed = _replaced_loosely(text, old, new)
        if changed is None:
            raise ToolError(f"Could not find exact match for edit:\n{edit['oldText']}")
        text = changed
    return text


def _replaced_loosely(text: str, old: str, new: str) -> str | None:
    lines, wanted = text.split("\n"), old.split("\n")
    bare = [line.strip(_SPACE) for line in lines]
    sought = [line.strip(_SPACE) for line in wanted]
    for start in range(len(lines) - len(wanted) + 1):
        if bare[start : start + len(wanted)] == sought:
            lines[start : start + len(wanted)] = _indented(new.split("\n"), wanted, _indent(lines[start]))
            return "\n".join(lines)
    return None


def _indented(new: list[str], old: list[str], indent: str) -> list[str]:
    """Return the new lines, indented like the first line that they replace, with their relative indents kept."""
    lines = [indent + new[0].lstrip(_SPACE)]
    for index, line in enumerate(new[1:], start=1):
        before, now = _indent(old[index]) if index < len(old) else "", _indent(line)
        if before and now:
            line = indent + " " * max(0, len(now) - len(before)) + line.lstrip(_SPACE)
        lines.append(line)
    return lines


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip(_SPACE))]


def fenced(diff: str) -> str:
    """Return a diff as a Markdown block, fenced by more backticks than any run in it has."""
    longest = max((len(ticks) for ticks in _TICKS.findall(diff)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}diff\n{diff}{fence}\n\n"
