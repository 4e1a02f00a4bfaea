"""Checks page after page against the facts: each statement is true or a recorded claim, and the prose states nothing else."""

import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from simtrain.worlds.search.checking.customs import Customs, Odd
from simtrain.worlds.search.checking.facts import FactTables, FileAttribute, Thing
from simtrain.worlds.search.checking.links import TARGET, Named, Target, link_problems, note_words, recorded
from simtrain.worlds.search.checking.pieces import AuthorProse, Span, pieces_of, place_of
from simtrain.worlds.search.checking.prose import Kind, Prose, without
from simtrain.worlds.search.checking.statements import NUMERIC, Stated, StatementVerifier

_NEXT_WORD = re.compile(r"[ \u00a0]?([^\W\d_][^\W\d_/²³]*(?:/[^\W\d_]+)?[²³]?|%|°)")
_UNIT_BEFORE = re.compile(r"\(([^()\d]+)\)[\s*:|]*$")
_EXACT = frozenset({"name", "ref", "date", "coordinates", *NUMERIC})
_SIGNS = "-−+"


class PageRow(NamedTuple):
    """The columns of `_pages` that the checks read."""

    id: int
    site: int
    kind: str
    title: str
    url: str
    body: str
    type: str | None
    entity: int | None

    @property
    def about(self) -> Thing | None:
        """The row that the page is about; None if there is none."""
        return None if self.entity is None else (str(self.type), self.entity)


class Record(NamedTuple):
    """A row of `_statements`, without its page."""

    attribute: int
    entity: int
    start: int
    length: int
    claim: int | None


@dataclass(frozen=True, slots=True)
class ReaderReport:
    """The findings of one reader. `customs` and `prose` mean something only after merging with those of the others."""

    pages: int
    statements: int
    links: int
    problems: list[Odd]
    customs: Customs
    prose: Prose


class PageReader:
    """Reads pages of one file. Notes for later what only all pages together can show."""

    def __init__(
        self, connection: sqlite3.Connection, units: Mapping[str, tuple[str, float]], wording: AuthorProse
    ) -> None:
        self._connection = connection
        self._facts = FactTables(connection)
        self._customs = Customs()
        self._verifier = StatementVerifier(self._facts, units, self._customs)
        self._prose = Prose(wording)
        self._units = frozenset(units) | {one.unit for one in self._facts.attributes.values() if one.unit}
        self._found: list[Odd] = []
        self._pages = self._statements = self._links = 0

    def report(self) -> ReaderReport:
        """Return the findings so far."""
        return ReaderReport(
            self._pages, self._statements, self._links, self._found, self._customs.kept(), self._prose.report()
        )

    def read(self, first: int, last: int) -> int:
        """Read the pages from `first` to `last`, and return their number."""
        stated = self._records(first, last)
        links = recorded(self._connection, first, last)
        sql = "select id, site, kind, title, url, body, type, entity from _pages where id between ? and ? order by id"
        pages = [PageRow(*row) for row in self._connection.execute(sql, (first, last))]
        for page in pages:
            own = stated.pop(page.id, [])
            self._statements += len(own)
            self._page(page, own, links.get(page.id, {}))
        # What is left belongs to no page: `pop` has taken the others.
        lost = sum(map(len, stated.values()))
        if lost:
            self._found.append(Odd(0, 0, f"{lost} statements of pages that are not there"))
        self._pages += len(pages)
        return len(pages)

    def _records(self, first: int, last: int) -> dict[int, list[Record]]:
        """Return the statements by page, and load their facts."""
        sql = (
            "select page, attribute, entity, start, length, claim from _statements"
            " where page between ? and ? order by page, start"
        )
        found: dict[int, list[Record]] = {}
        for page, *row in self._connection.execute(sql, (first, last)):
            found.setdefault(page, []).append(Record(*row))
        every = [one for records in found.values() for one in records]
        self._facts.load(
            ((one.attribute, one.entity) for one in every), {one.claim for one in every if one.claim is not None}
        )
        return found

    def _page(self, page: PageRow, records: Sequence[Record], links: Mapping[str, Target]) -> None:
        read: list[Stated] = []
        masked: list[Span] = []
        named: list[Named] = []
        for one in records:
            stated = self._stated(page, one)
            if stated is None:
                self._found.append(Odd(page.id, one.start or 0, "a statement that is not in the text"))
                continue
            read.append(stated)
            span = (one.start, one.start + one.length)
            if not self._verifier.is_prose(stated):
                masked.append(span)
            named.append(Named(span, stated.attribute.id, self._named(stated)))
            self._found += [Odd(page.id, place, what) for place, what in self._statement(page.body, stated)]
        targets = [match.span(1) for match in TARGET.finditer(page.body)]
        pieces = pieces_of(page.body, masked, targets)
        kind: Kind = (page.site, page.kind, page.type)
        found = self._prose.read(
            page.id, kind, pieces, lambda piece, offset: place_of(page.body, masked, targets, piece, offset)
        )
        found += self._title(page, kind, read, named)
        found += link_problems((page.id, page.url), page.body, links, self._connection)
        found += note_words(self._customs, (page.id, page.site, page.kind, page.url), page.body, links, named)
        note_lines(self._customs, page.body, read)
        self._links += sum(target.id != page.id for target in links.values())
        self._found += [Odd(page.id, place, what) for place, what in found]

    def _stated(self, page: PageRow, one: Record) -> Stated | None:
        """Return a statement with its words; None if the record is invalid."""
        attribute = self._facts.attributes.get(one.attribute)
        # SQLite columns take values of any type, so a damaged file may hold texts or nulls here.
        if attribute is None or not (type(one.entity) is type(one.start) is type(one.length) is int):
            return None
        words = page.body[max(0, one.start) : one.start + one.length]
        if one.start < 0 or one.length <= 0 or len(words) != one.length:
            return None
        return Stated(page.id, one.start, page.site, page.kind, attribute, one.entity, one.claim, words)

    def _statement(self, body: str, stated: Stated) -> Iterator[tuple[int, str]]:
        """Yield the problems with a statement in its context."""
        problem = self._verifier.problem(stated)
        if problem is not None:
            yield stated.place, f"{stated.attribute.path} of {stated.entity}: {problem}"
        if stated.attribute.kind not in _EXACT:
            return
        start, end = stated.place, stated.place + len(stated.words)
        before, after = body[start - 1 : start] if start else "", body[end : end + 1]
        if (stated.words[0].isalnum() and before.isalnum()) or (stated.words[-1].isalnum() and after.isalnum()):
            yield start, f"{stated.words!r} runs into the word beside it"
        if stated.attribute.kind not in NUMERIC:
            return
        if before and before in _SIGNS and not body[max(0, start - 2) : start - 1].strip("( "):
            yield start - 1, f"a sign before {stated.words!r} that belongs to no number"
        if not stated.words[-1].isalpha() and stated.words[-1] not in "%°³²":
            yield from self._other_unit(body, stated.attribute, start, end)

    def _other_unit(self, body: str, attribute: FileAttribute, start: int, end: int) -> Iterator[tuple[int, str]]:
        """Yield wrong units beside a bare number: neither its own nor, if it has none, part of its label (`days to the first call`)."""
        own = {attribute.unit} if attribute.unit else set(attribute.label.split())
        after = _NEXT_WORD.match(body, end)
        if after is not None and after[1] in self._units and after[1] not in own:
            yield after.start(1), f"the unit {after[1]!r} follows a number that is in another one, or in none"
        before = _UNIT_BEFORE.search(body, max(0, start - 40), start)
        if before is not None and before[1] in self._units and before[1] not in own:
            yield before.start(1), f"the unit {before[1]!r} precedes a number that is in another one, or in none"

    def _title(
        self, page: PageRow, kind: Kind, read: Sequence[Stated], named: Iterable[Named]
    ) -> list[tuple[int, str]]:
        """Return the parts of a title that the page neither states nor is about."""
        words = {one.words for one in read}
        about = page.about
        try:
            own = set[str]() if about is None else set(self._facts.texts_of(*about))
            for thing in {one.thing for one in named if one.thing is not None}:
                words |= set(self._facts.names_of(*thing))
        except KeyError:
            return [(0, "it is about something that is not there")]
        if about is not None:
            texts = own | {one.words for one in read if (one.attribute.type, one.entity) == about}
            self._note_title(page, kind, texts)
        return self._prose.title(page.id, kind, without(page.title, words | own))

    def _note_title(self, page: PageRow, kind: Kind, texts: Iterable[str]) -> None:
        """Note whether a title identifies the page's subject, by a name or a stated value."""
        title = page.title.casefold()
        odd = Odd(page.id, 0, f"the title {page.title!r} does not name what the page is about")
        self._customs.note(("title", *kind), any(text.casefold() in title for text in texts), lambda: odd)

    def _named(self, stated: Stated) -> Thing | None:
        """Return the thing that a statement names; None if it names none."""
        attribute = stated.attribute
        if attribute.kind == "name":
            return attribute.type, stated.entity
        value = self._verifier.true_value(stated) if attribute.kind == "ref" else None
        return (str(attribute.target), value) if isinstance(value, int) else None


def note_lines(customs: Customs, body: str, statements: Sequence[Stated]) -> None:
    """Note whether neighbouring statements of a type in a line are about the same row. The statements are in order of position."""
    line_end = -1
    line: list[Stated] = []
    for one in statements:
        if one.place > line_end:
            _note(customs, line)
            line = []
            line_end = body.find("\n", one.place)
            line_end = len(body) if line_end < 0 else line_end
        line.append(one)
    _note(customs, line)


def _note(customs: Customs, line: Sequence[Stated]) -> None:
    if len(line) < 2:
        return
    last: dict[str, Stated] = {}
    for one in line:
        before = last.get(one.attribute.type)
        last[one.attribute.type] = one
        if before is None:
            continue
        group = ("line", one.site, one.kind, before.attribute.id, one.attribute.id)
        customs.note(group, before.entity == one.entity, lambda one=one, before=before: _odd(one, before))


def _odd(one: Stated, before: Stated) -> Odd:
    what = f"{one.words!r} is the {one.attribute.label} of something else than {before.words!r} beside it"
    return Odd(one.page, one.place, what)
