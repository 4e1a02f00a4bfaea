"""Splits a page into what a reader sees: paragraphs, lists and tables, with the words before and after each."""

import re
from dataclasses import dataclass, field
from typing import cast

from simtrain.worlds.search.checking.facts import Thing
from simtrain.worlds.search.checking.links import LINK


@dataclass(frozen=True, slots=True)
class PageOfLists:
    """A page whose lists and dates are checked."""

    id: int
    url: str
    about: Thing | None
    day: int
    """Its date. The page cannot know of anything later."""
    known: int
    """The date of the newest page of its site."""


@dataclass(slots=True)
class Listing:
    """A list or table: its items (cells for tables), the header of a table, its position, and the words before and after it."""

    items: list[list[str]]
    header: list[str]
    place: int
    lead: str = ""
    tail: str = ""
    loose: bool = False


@dataclass(slots=True)
class Blocks:
    """The parts of a page. `lines` holds all lines of running text and of lists, with their positions."""

    listings: list[Listing] = field(default_factory=list[Listing])
    lines: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])


_RULE = re.compile(r"\|(?:\s*:?-+:?\s*\|)+")
_HEADING = re.compile(r"#+ |\*\*[^*]+\*\*$")


def blocks_of(body: str) -> Blocks:
    """Return the blocks of a page in Markdown."""
    found = Blocks()
    current: Listing | None = None
    last: Listing | None = None
    before: list[str] = []
    place = 0
    for raw in body.split("\n"):
        line = (LINK.sub(r"\1", raw) if "](" in raw else raw).strip()
        at, place = place, place + len(raw) + 1
        kind = "item" if line.startswith("- ") else "row" if line.startswith("|") else ""
        if kind:
            if current is None and last is not None and kind == "item" and (last.loose or len(last.items) == 1):
                # Single items with blank lines between them are one list.
                last.loose = True
                current, last = last, None
            if current is None:
                current = Listing([], [], at, "" if last else " ".join(before))
                found.listings.append(current)
            _add(current, kind, line)
            if kind == "item":
                found.lines.append((at, line[2:]))
        elif line:
            if current is not None or last is not None:
                cast(Listing, current or last).tail = line
                current, last, before = None, None, []
            # Only the line directly before a list, with its heading, says what the list is.
            # A heading directly above the line still belongs to it.
            before = [before[-1], line] if before and _HEADING.match(before[-1]) else [line]
            found.lines.append((at, line))
        elif current is not None:
            current, last = None, current
    return found


def _add(listing: Listing, kind: str, line: str) -> None:
    if kind == "item":
        listing.items.append([line[2:]])
        return
    if _RULE.fullmatch(line):
        listing.header = listing.items.pop() if listing.items else []
        return
    listing.items.append([cell.strip() for cell in line.strip("|").split("|")])
