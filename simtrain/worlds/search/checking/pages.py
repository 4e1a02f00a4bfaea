"""Every page of a world file against its facts: each statement is true or a recorded claim, and beside statements nothing is stated."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import urljoin

from simtrain.worlds.search.checking.facts import Attribute, Facts
from simtrain.worlds.search.checking.reading import MONTHS
from simtrain.worlds.search.checking.scan import Page, Prose, Span
from simtrain.worlds.search.checking.statements import Stated, Verifier

_LINK = re.compile(r"\]\(([^()\s]*)\)")
_WORD = re.compile(r"[^\W\d_]+")
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
# A month without a number is no date.
_CALENDAR = frozenset({*MONTHS, *_DAYS, *(f"{day}s" for day in _DAYS)})


@dataclass(frozen=True, slots=True)
class Problem:
    """Something on a page that does not agree with the facts; `place` counts the characters of its body."""

    page: str
    place: int
    what: str

    def __str__(self) -> str:
        return f"{self.page} at {self.place}: {self.what}"


@dataclass(frozen=True, slots=True)
class Checked:
    """How much was read, and what was wrong with it."""

    pages: int
    statements: int
    links: int
    problems: tuple[Problem, ...]


def check_pages(
    connection: sqlite3.Connection,
    units: Mapping[str, tuple[str, float]],
    *,
    vocabulary: frozenset[str] = frozenset(),
    on_page: Callable[[], None] = lambda: None,
) -> Checked:
    """Check all pages of a file.

    `units` are the units that can be converted: unit -> (what it measures, its size). `vocabulary` is the words, folded, of the
    author's own prose, where it is at hand; without it, a word is prose that stands on several pages.
    """
    facts = Facts(connection)
    verifier = Verifier(facts, units)
    prose = Prose(facts, frozenset(units) | _units(facts), vocabulary | _known_words(connection))
    urls: dict[int, str] = dict(connection.execute("select id, url from _pages order by id").fetchall())
    ids = {url: page for page, url in urls.items()}
    found: list[Problem] = []
    statements = links = 0
    rows = connection.execute("select id, site, kind, title, url, body, type, entity from _pages order by id")
    stated = _Statements(connection, facts)
    linked = _Links(connection)
    for page, site, kind, title, url, body, own_type, own in rows:
        spans: list[tuple[Span, frozenset[str] | None]] = []
        told: set[tuple[str, int]] = set()
        about = None if own is None else (str(own_type), int(own))
        for attribute, entity, start, length, claim in stated.of(page):
            statements += 1
            words = body[start : start + length]
            known = facts.attributes.get(attribute)
            if known is None or len(words) != length or start < 0 or not length:
                found.append(Problem(url, start, "a statement that is not in the text"))
                continue
            problem = verifier.problem(Stated(page, site, kind, known, entity, claim, words))
            if problem is not None:
                found.append(Problem(url, start, f"{known.path} of {entity}: {problem}"))
            told |= _named(facts, known, entity)
            numeric = known.kind in ("quantity", "money", "number")
            bare = numeric and not words[-1:].isalpha() and words[-1:] not in "%°³²"
            spans.append(((start, start + length), _units_of(known) if bare else None))
        read = Page(page, (site, kind, own_type), title, body, spans)
        found += [
            Problem(url, place, what)
            for place, what in prose.read(read, lambda told=told, about=about: _sayings(facts, told, about))
        ]
        targets = {ids.get(urljoin(url, match[1]).partition("#")[0], 0) for match in _LINK.finditer(body)} - {page}
        recorded = linked.of(page) - {page}
        links += len(recorded)
        found += [Problem(url, 0, "a link leads to no page")] * (0 in targets)
        found += [
            Problem(url, 0, f"the link to {urls.get(one, one)} is not in the text")
            for one in sorted(recorded - targets)
        ]
        found += [
            Problem(url, 0, f"the link to {urls[one]} is not recorded") for one in sorted(targets - recorded - {0})
        ]
        on_page()
    found += [
        Problem(urls[one.page], 0, f"{one.attribute.path} of {one.entity}: {what}") for one, what in verifier.late()
    ]
    found += [Problem(urls[page], place, what) for page, place, what in prose.late()]
    found += [Problem("", 0, f"{count} statements of pages that are not there") for count in stated.left() if count]
    return Checked(len(urls), statements, links, tuple(found))


class _Statements:
    """The statements of page after page, in the order of the pages."""

    def __init__(self, connection: sqlite3.Connection, facts: Facts) -> None:
        self._rows: Iterator[tuple[int, int, int, int, int, int | None]] = connection.execute(
            "select page, attribute, entity, start, length, claim from _statements order by page, start"
        )
        self._next = next(self._rows, None)
        self._lost = 0

    def of(self, page: int) -> Iterator[tuple[int, int, int, int, int | None]]:
        """Those of a page that comes after all pages asked for before."""
        while self._next is not None and self._next[0] <= page:
            row = self._next
            self._next = next(self._rows, None)
            if row[0] == page:
                yield row[1:]
            else:
                self._lost += 1

    def left(self) -> Iterator[int]:
        """How many belong to no page."""
        yield self._lost + (0 if self._next is None else 1 + sum(1 for _ in self._rows))


class _Links:
    """The recorded links of page after page."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._rows: Iterator[tuple[int, int]] = connection.execute(
            "select page, target from _links order by page, target"
        )
        self._next = next(self._rows, None)

    def of(self, page: int) -> set[int]:
        found: set[int] = set()
        while self._next is not None and self._next[0] <= page:
            if self._next[0] == page:
                found.add(self._next[1])
            self._next = next(self._rows, None)
        return found


def _named(facts: Facts, attribute: Attribute, entity: int) -> set[tuple[str, int]]:
    """The entity that a statement names."""
    if attribute.kind == "name":
        return {(attribute.type, entity)}
    if attribute.kind != "ref":
        return set()
    try:
        value = facts.value(attribute, entity)
    except KeyError:
        return set()
    return set() if value is None else {(str(attribute.target), int(value))}


def _sayings(facts: Facts, told: Iterable[tuple[str, int]], about: tuple[str, int] | None) -> list[str]:
    """The names of what a page states, and what may stand for what it is about."""
    found = [name for kind, entity in sorted(told) for name in facts.names_of(kind, entity)]
    return found if about is None else [*found, *facts.texts_of(*about)]


def _units_of(attribute: Attribute) -> frozenset[str]:
    """The units that may follow a bare number: its own, or where it has none, what its label speaks of (days to the first call)."""
    return frozenset({attribute.unit} if attribute.unit else attribute.label.split())


def _units(facts: Facts) -> frozenset[str]:
    return frozenset(one.unit for one in facts.attributes.values() if one.unit)


def _known_words(connection: sqlite3.Connection) -> frozenset[str]:
    """The words by which the file calls its sites, types and attributes: no names of anything."""
    texts: list[str] = []
    for sql in (
        "select title from _sites",
        "select name from _sites",
        "select label from _attributes",
        "select name from _types",
    ):
        texts += [str(row[0]) for row in connection.execute(sql)]
    texts += [str(row[0]) for row in connection.execute("select plural from _types")]
    return _CALENDAR | {word.casefold() for text in texts for word in _WORD.findall(text)}
