"""Checks that a web is possible: time, order, completeness and number, as stated on its finished pages."""

import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date

from simtrain.values.types import JsonValue
from simtrain.worlds.search.checking.blocks import PageOfLists, blocks_of
from simtrain.worlds.search.checking.calling import Names
from simtrain.worlds.search.checking.counts import Counts, run_together
from simtrain.worlds.search.checking.facts import FactTables
from simtrain.worlds.search.checking.listings import Listings
from simtrain.worlds.search.checking.lives import Lives
from simtrain.worlds.search.checking.pages import Problem
from simtrain.worlds.search.checking.times import Times

_STEP = 500


@dataclass(frozen=True, slots=True)
class Sense:
    """The amount read, and the impossibilities found."""

    pages: int
    rules: int
    dates: int
    lists: int
    problems: tuple[Problem, ...]


def check_sense(
    connection: sqlite3.Connection, data: JsonValue, *, on_pages: Callable[[int], None] = lambda count: None
) -> Sense:
    """Check all pages of a file for impossibilities. `data` is the author's file, for the lives of types; None if not available."""
    facts = FactTables(connection)
    lives, names = Lives(connection, data), Names(facts)
    counts = Counts(attribute.unit for attribute in facts.attributes.values() if attribute.unit)
    listings, times = Listings(names, lives), Times(lives, names)
    found: list[tuple[str, int, str]] = [("", 0, what) for what in lives.broken()]
    lists = 0
    urls: dict[int, str] = {}
    for page, kind, paged, site, body in _pages(connection):
        blocks = blocks_of(body)
        lists += len(blocks.listings)
        urls[page.id] = page.url
        wrong = [
            *counts.read(page.id, blocks),
            *run_together(body),
            *listings.read(page, blocks, paged=paged),
        ]
        times.read(page, (site, kind), blocks)
        found += [(page.url, place, what) for place, what in wrong]
        if page.id % _STEP == 0:
            on_pages(_STEP)
    for late in (counts.late(), listings.late(), times.late()):
        found += [(urls[number], place, what) for number, place, what in late]
    problems = tuple(Problem(url, place, what) for url, place, what in sorted(set(found)))
    return Sense(len(urls), len(lives.bonds), times.count, lists, problems)


def _pages(connection: sqlite3.Connection) -> Iterator[tuple[PageOfLists, str, bool, int, str]]:
    """Yield each page with its kind, True if it is a page of a list, its site and its text."""
    newest = dict(connection.execute("select site, max(date) from _pages group by site").fetchall())
    sql = "select id, url, type, entity, date, kind, number, site, body from _pages order by id"
    for number, url, kind, entity, day, form, part, site, body in connection.execute(sql):
        known = date.fromisoformat(str(newest[site] or day or "0001-01-01")[:10]).toordinal()
        dated = date.fromisoformat(str(day)[:10]).toordinal() if day else known
        about = None if entity is None else (str(kind), int(entity))
        yield PageOfLists(number, str(url), about, dated, known), str(form), part is not None, int(site), str(body)
