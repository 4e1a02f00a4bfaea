"""Blocks of a notes page as Markdown, and Markdown as blocks."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

INDENT = "  "

_HEADING = re.compile(r"(#{1,3})\s+(.+)")
_TO_DO = re.compile(r"[-*]\s+\[([ xX])\]\s+(.*)")
_BULLETED = re.compile(r"[-*]\s+(.+)")
_NUMBERED = re.compile(r"\d+[.)]\s+(.+)")
_QUOTE = re.compile(r">\s?(.*)")
_FENCE = re.compile(r"```\s*(\w*)")
_DIVIDER = re.compile(r"(-{3,}|\*{3,})")
_NESTING = frozenset({"bulleted", "numbered", "to_do"})


@dataclass(frozen=True)
class NoteBlock:
    """One block of a page; `depth` counts the list items around it."""

    kind: str
    text: str
    depth: int = 0
    checked: bool | None = None
    language: str | None = None


def parse(markdown: str) -> list[NoteBlock]:
    """Return the blocks of a Markdown text: headings, lists, to-dos, quotes, fenced code, dividers; every other line is a paragraph."""
    blocks: list[NoteBlock] = []
    fence: tuple[str, list[str]] | None = None
    for line in markdown.splitlines():
        opened = _FENCE.fullmatch(line.strip())
        if fence is not None and opened is None:
            fence[1].append(line)
        elif fence is not None:
            blocks.append(NoteBlock("code", "\n".join(fence[1]), language=fence[0] or None))
            fence = None
        elif opened is not None:
            fence = (opened[1], [])
        elif line.strip():
            blocks.append(_block(line, blocks))
    # CommonMark: a fence that is never closed runs to the end.
    if fence is not None:
        blocks.append(NoteBlock("code", "\n".join(fence[1]), language=fence[0] or None))
    return blocks


def _block(line: str, before: list[NoteBlock]) -> NoteBlock:
    text = line.strip()
    width = len(line.expandtabs(4)) - len(line.expandtabs(4).lstrip())
    # An item is at most one level deeper than the list item before it.
    deepest = before[-1].depth + 1 if before and before[-1].kind in _NESTING else 0
    depth = min(width // len(INDENT), deepest)
    if found := _HEADING.fullmatch(text):
        return NoteBlock(f"heading_{len(found[1])}", found[2])
    if _DIVIDER.fullmatch(text):
        return NoteBlock("divider", "")
    # Before plain bullets, whose pattern fits to-dos as well.
    if found := _TO_DO.fullmatch(text):
        return NoteBlock("to_do", found[2], depth, checked=found[1] != " ")
    if found := _BULLETED.fullmatch(text):
        return NoteBlock("bulleted", found[1], depth)
    if found := _NUMBERED.fullmatch(text):
        return NoteBlock("numbered", found[1], depth)
    if found := _QUOTE.fullmatch(text):
        return NoteBlock("quote", found[1])
    return NoteBlock("paragraph", text, depth)


def render(blocks: Iterable[NoteBlock]) -> str:
    """Return the Markdown of blocks in reading order, one line each, with blank lines around all but list items."""
    lines: list[str] = []
    numbers: list[int] = []
    previous: NoteBlock | None = None
    for block in blocks:
        # Leaving a level ends its numbering; anything but a numbered item ends it on its own level.
        del numbers[block.depth + 1 :]
        numbers.extend([0] * (block.depth + 1 - len(numbers)))
        numbers[block.depth] = numbers[block.depth] + 1 if block.kind == "numbered" else 0
        if previous is not None and not (block.kind in _NESTING and previous.kind in _NESTING):
            lines.append("")
        lines.append(INDENT * block.depth + _line(block, numbers[block.depth]))
        previous = block
    return "\n".join(lines)


def _line(block: NoteBlock, number: int) -> str:
    match block.kind:
        case "heading_1" | "heading_2" | "heading_3":
            return f"{'#' * int(block.kind[-1])} {block.text}"
        case "to_do":
            return f"- [{'x' if block.checked else ' '}] {block.text}"
        case "bulleted":
            return f"- {block.text}"
        case "numbered":
            return f"{number}. {block.text}"
        case "quote":
            return f"> {block.text}"
        case "code":
            return f"```{block.language or ''}\n{block.text}\n```"
        case "divider":
            return "---"
        case _:
            return block.text
