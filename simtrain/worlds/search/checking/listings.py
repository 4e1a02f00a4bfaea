"""Checks lists as a reader takes them: one that claims an order has it, one that is called recent is, and one that does not say it is
only a part is complete."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, Final, TypeAlias

from simtrain.worlds.search.checking.blocks import Blocks, Listing, PageOfLists
from simtrain.worlds.search.checking.calling import Names, dates_in
from simtrain.worlds.search.checking.facts import Thing
from simtrain.worlds.search.checking.lives import Lives

Spread: TypeAlias = tuple[Any, Any]
"""The least and greatest value that something written may mean: two days, two texts or two numbers."""

RECENT_DAYS: Final = 731
"""The greatest age of something recent: two years."""

_PART = re.compile(
    r"\b(among (?:them|others|these|those|many|the)|and others|there are (?:others|more)|others (?:exist|are)|more (?:of them|exist)"
    r"|not all|goes on|a selection|only the (?:first|last)|the rest|left out|not complete|incomplete|for example|such as|some of"
    r"|a few|the ones that|to name)\b",
    re.IGNORECASE,
)
"""Words which say that a list is only a part."""
_CHOSEN = re.compile(r"\b(that|who|whose|which|those|where|what|wrong|corrected|corrections?)\b", re.IGNORECASE)
"""Words that restrict a list to certain rows. On the page of a thing they only say how the rows are related to it."""
_RECENT = re.compile(r"\brecent(?:ly)?\b", re.IGNORECASE)
_LATEST = re.compile(r"\b(?:latest|newest|most recent)\b(?! first)", re.IGNORECASE)
_TOTAL = re.compile(r"\b(?:all|the|there are|(?:it|class|list|roll|page) has) (\d{1,3}(?:,\d{3})*|\d+) ", re.IGNORECASE)
_OLD_FIRST = re.compile(
    r"\b(?:oldest|earliest)(?: [a-z]+)? (?:first|at the top)|beginning with the (?:oldest|earliest|first)|\bchronological"
    r"|in the order of (?:[a-z]+ )?(?:enlistment|opening|founding|launch|dates?|time|age|seniority|their dates)\b"
    r"|(?:arranged|listed|sorted|ordered|entered|given|,) by (?:the )?(?:[a-z]+ )?(?:day|date|year)\b",
    re.IGNORECASE,
)
_NEW_FIRST = re.compile(
    r"\b(?:latest|newest|youngest|most recent)(?: [a-z]+)? (?:first|at the top)|beginning with the (?:newest|latest|last|youngest)",
    re.IGNORECASE,
)
_BY_NAME = re.compile(
    r"in the order of (?:their|its|the) names?\b|alphabetical|in alphabetic order|from a to z\b|, by name\b",
    re.IGNORECASE,
)
_LARGE_FIRST = re.compile(r"\b(?:the )?(?:largest|biggest|highest|longest) (?:first|at the top)", re.IGNORECASE)
_SMALL_FIRST = re.compile(r"\b(?:the )?(?:smallest|lowest|shortest) (?:first|at the top)", re.IGNORECASE)
_NUMBER = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?:\.\d+)?|(?<![\d.,])\d+(?:\.\d+)?")


class Listings:
    """Reads the lists of all pages. A list that spans several pages is judged once all are read."""

    def __init__(self, names: Names, lives: Lives) -> None:
        self._names = names
        self._lives = lives
        self._parts: dict[str, list[tuple[PageOfLists, Listing, list[Thing]]]] = {}

    def read(self, page: PageOfLists, blocks: Blocks, *, paged: bool) -> Iterator[tuple[int, str]]:
        """Yield the problems with the lists of one page."""
        for listing in blocks.listings:
            for what in self._order(listing, paged=paged):
                yield listing.place, what
            things = self._things(listing)
            for item, (kind, entity) in zip(listing.items, things, strict=False):
                day = self._lives.begin((kind, entity))
                # An item with a date of its own is judged by that date, which the site may have wrong.
                if day is not None and day > page.day and not dates_in(" | ".join(item)):
                    yield listing.place, f"the list names {kind} {entity}, which begins only after the date of the page"
            yield from ((listing.place, what) for what in self._recent(page, listing, things, paged=paged))
            if paged:
                self._parts.setdefault(page.url.partition("?")[0], []).append((page, listing, things))
            else:
                yield from ((listing.place, what) for what in self._whole(page, listing, things, paged=False))
        for place, line in blocks.lines:
            if "ecent" in line or "atest" in line or "ewest" in line:
                yield from self._recent_line(page, place, line)

    def late(self) -> Iterator[tuple[int, int, str]]:
        """Yield the problems with lists that span several pages."""
        for parts in self._parts.values():
            page, listing, _ = parts[0]
            things = [thing for _, _, found in parts for thing in found]
            for what in (*self._whole(page, listing, things, paged=True), *self._total([one for _, one, _ in parts])):
                yield page.id, listing.place, what

    def _things(self, listing: Listing) -> list[Thing]:
        """Return the first thing that each item names, if all name one and these are of the same type; else nothing."""
        found: list[list[Thing]] = []
        for item in listing.items:
            found.append([thing for _, _, thing in self._names.found(" | ".join(item))])
        kinds = [things[0][0] for things in found if things]
        if len(kinds) < len(found) or not kinds:
            return []
        return [things[0] for things in found] if len(set(kinds)) == 1 else []

    def _order(self, listing: Listing, *, paged: bool) -> Iterator[str]:
        lead = _claims(listing, paged=paged)
        for claim, series, backwards in (
            (_NEW_FIRST, self._days, True),
            (_OLD_FIRST, self._days, False),
            (_BY_NAME, self._texts, False),
            (_LARGE_FIRST, self._amounts, True),
            (_SMALL_FIRST, self._amounts, False),
        ):
            found = claim.search(lead)
            if found is None:
                continue
            columns = [column for column in series(listing) if len(column) == len(listing.items)]
            if len(listing.items) > 1 and not any(_sorted(column, backwards=backwards) for column in columns):
                yield f"the list says {found[0].strip()!r} and is not in that order"
            return

    def _days(self, listing: Listing) -> list[list[Spread]]:
        return _columns([[days for _, _, days in dates_in(" | ".join(item))] for item in listing.items])

    def _texts(self, listing: Listing) -> list[list[Spread]]:
        if listing.header:
            return _columns([[(cell.casefold(), cell.casefold()) for cell in item] for item in listing.items])
        rows: list[list[Spread]] = []
        for item in listing.items:
            text = " | ".join(item)
            names = [text[start:end].casefold() for start, end, _ in self._names.found(text)]
            rows.append([(name, name) for name in names])
        return _columns(rows)[:1]

    def _amounts(self, listing: Listing) -> list[list[Spread]]:
        rows: list[list[Spread]] = []
        for item in listing.items:
            amounts = [float(one.replace(",", "")) for one in _NUMBER.findall(" | ".join(item))]
            rows.append([(amount, amount) for amount in amounts])
        return _columns(rows)

    def _recent(self, page: PageOfLists, listing: Listing, things: Sequence[Thing], *, paged: bool) -> Iterator[str]:
        lead = _claims(listing, paged=paged)
        latest, recent = _LATEST.search(lead), _RECENT.search(lead)
        if latest is None and recent is None:
            return
        days = [found[0][2][1] for item in listing.items if (found := dates_in(" | ".join(item)))]
        if len(days) < len(listing.items):
            days = [day for thing in things if (day := self._lives.begin(thing)) is not None]
        if not days:
            yield f"what is called {(latest or recent or lead)[0]} shows no date"
        elif latest is None:
            oldest = page.day - min(days)
            if oldest > RECENT_DAYS:
                yield f"what is called recent is {oldest / 365.25:.0f} years old"
        elif things:
            whole = max(self._wholes(page, listing, things), key=len, default=set[Thing]())
            begun = [day for thing in whole - set(things) if (day := self._lives.begin(thing)) is not None]
            if any(min(days) < day for day in begun):
                yield "what is called the latest leaves out later ones"

    def _recent_line(self, page: PageOfLists, place: int, line: str) -> Iterator[tuple[int, str]]:
        """Yield things that running text calls recent although the date after it is old."""
        for word in (*_RECENT.finditer(line), *_LATEST.finditer(line)):
            for start, _, (_, last) in dates_in(line[word.end() : word.end() + 80]):
                between = line[word.end() : word.end() + start]
                if not re.search(r"[.;:,]", between) and last < page.day - RECENT_DAYS:
                    yield place + word.start(), f"{word[0]!r} of what is {(page.day - last) / 365.25:.0f} years old"
                break

    def _total(self, parts: Sequence[Listing]) -> Iterator[str]:
        """Yield totals claimed before a list that differ from its length."""
        count = sum(len(listing.items) for listing in parts)
        for match in _TOTAL.finditer(parts[0].lead):
            if int(match[1].replace(",", "")) != count:
                yield f"the list says {match[0].strip()!r} and has {count}"

    def _whole(self, page: PageOfLists, listing: Listing, things: Sequence[Thing], *, paged: bool) -> Iterator[str]:
        """Yield a problem if a list leaves something out and does not say that it is a part."""
        if not things or _PART.search(listing.lead) or _PART.search(listing.tail):
            return
        claims = _claims(listing, paged=paged)
        if _RECENT.search(claims) or _LATEST.search(claims) or (page.about is None and _CHOSEN.search(claims)):
            return
        shown = set(things)
        least: int | None = None
        for whole in self._wholes(page, listing, things):
            if whole <= shown:
                return
            least = len(whole) if least is None else min(least, len(whole))
        if least is not None:
            yield f"the list shows {len(shown)} of {least} and reads as if these were all"

    def _wholes(self, page: PageOfLists, listing: Listing, things: Sequence[Thing]) -> Iterator[set[Thing]]:
        """Yield the sets that a list may be meant to show in full: what is related to the page's subject, what shares a value, all rows."""
        kind, shown = things[0][0], {entity for _, entity in things}
        if page.about is not None:
            days = (page.day, page.known)
            found = self._lives.tied(page.about, kind, days, listing.lead.casefold())
        else:
            found = self._lives.alike(kind, shown)
        for whole in found:
            if shown <= whole:
                yield {
                    (kind, entity)
                    for entity in whole
                    if entity in shown or (day := self._lives.begin((kind, entity))) is None or day <= page.day
                }


def _claims(listing: Listing, *, paged: bool) -> str:
    """Return the words that describe a list: all before it if its page is only a list, else the heading or clause before it."""
    if paged or listing.lead.startswith("#") or listing.lead.rstrip().endswith("**"):
        return listing.lead
    return re.split(r"(?<=[.!?]) ", listing.lead)[-1] if listing.lead.endswith(":") else ""


def _columns(rows: list[list[Spread]]) -> list[list[Spread]]:
    """Return the columns of some rows, as many as the shortest row has."""
    width = min(map(len, rows), default=0)
    return [[row[at] for row in rows] for at in range(width)]


def _sorted(column: Sequence[Spread], *, backwards: bool) -> bool:
    # A month or a year may be any of its days: an order is broken only if no choice of days keeps it.
    return all(two[0] <= one[1] if backwards else one[0] <= two[1] for one, two in pairwise(column))
