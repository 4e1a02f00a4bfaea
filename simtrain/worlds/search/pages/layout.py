"""The layout of a web: all pages with their ids and addresses, once the facts are known."""

import sqlite3
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Final, TypeAlias, cast

from simtrain.values.seeding import derive
from simtrain.worlds.search.facts.attributes import Value, iso, ordinal
from simtrain.worlds.search.facts.columns import Columns, slug_of
from simtrain.worlds.search.facts.tables import rows_where
from simtrain.worlds.search.pages.dating import newest, tells_dates
from simtrain.worlds.search.pages.design import Design, PageDesign, SiteDesign
from simtrain.worlds.search.pages.needs import Job
from simtrain.worlds.search.spec.rules import life
from simtrain.worlds.search.spec.schema import Attribute, Type

Targets: TypeAlias = Sequence[int] | dict[Value, int]
Urls: TypeAlias = Sequence[str] | dict[Value, str]

CHUNK: Final = 1000
"""Pages of a kind that are written and dated together."""


@dataclass(frozen=True, slots=True)
class ListPage:
    """One page of a list: its number in the list, and the members on it."""

    key: Value
    number: int
    last: int
    total: int
    members: Sequence[int]


@dataclass(eq=False, slots=True)
class PagePlan:
    """All pages of one kind. Their ids are `first`, `first + 1`, ... in the order of `rows` or `lists`."""

    design: PageDesign
    first: int
    rows: Sequence[int]
    lists: Sequence[ListPage]

    @property
    def count(self) -> int:
        """The number of pages."""
        return len(self.rows) + len(self.lists)


class Layout:
    """All pages of a world, in writing order."""

    def __init__(self, design: Design, connection: sqlite3.Connection, *, seed: int) -> None:
        """Raises InputError for conditions whose SQL fails."""
        self.design = design
        self.columns = Columns(connection, design.schema.types)
        self.plans: list[PagePlan] = []
        self._seed = seed
        self._connection = connection
        self.targets = cache(self._targets)
        """The page ids of a kind: by row id (0: no page), or by the group of each list."""
        self.urls = cache(self._urls)
        """The addresses of the pages of a kind, without the domain, keyed as in `targets`; empty: no page."""
        self._newest: dict[int, list[str]] = {}
        self.today = ordinal(design.schema.today)
        kept = connection.execute("select value from _meta where key = 'kinds'").fetchone()
        kinds = None if kept is None else {int(kind) for kind in kept[0].split()}
        first = 1
        for site in design.sites:
            for page in site.pages:
                is_kept = kinds is None or page.index in kinds
                plan = PagePlan(page, first, self._rows(page) if is_kept else (), self._lists(page) if is_kept else ())
                self.plans.append(plan)
                # Ids are known before any page is written, so that pages can link to later ones.
                first += plan.count
        self.count = first - 1
        self._corrections = [
            plan
            for plan in self.plans
            if plan.design.spec.corrections and (kinds is None or plan.design.index in kinds)
        ]

    def plan(self, page: PageDesign) -> PagePlan:
        """Return the plan of a page kind."""
        return self.plans[page.index - 1]

    def correct(self, wrong: Callable[[PageDesign], Iterable[int]]) -> None:
        """Lay out the pages of corrections, with the rows that `wrong` returns."""
        # They come after all other pages, so that no other id depends on what sites have wrong.
        for plan in self._corrections:
            self.count -= plan.count
            ordering = self.ordering(plan.design)
            plan.lists = self._listed(
                plan.design, sorted(set(wrong(plan.design))), ordering and self.columns.column(ordering)
            )
            plan.first = self.count + 1
            self.count += plan.count

    def known_until(self, site: SiteDesign) -> str:
        """Return the last day that a site knows of."""
        return iso(self.today - site.lag)

    def known(self, site: SiteDesign, kind: Type, rows: Sequence[int]) -> Sequence[int]:
        """Return the rows that a site knows of, without those that began after the last day it knows of."""
        if not site.lag:
            return rows
        until = self.known_until(site)
        for began in self._began(kind):
            rows = [row for row in rows if (day := began[row]) is None or cast(str, day) <= until]
        return rows

    def _began(self, kind: Type) -> Iterator[list[Value]]:
        """Yield the start dates of the rows of a type. For a relation without dates, yield those of both its ends."""
        schema = self.design.schema
        begins = life(schema, kind)[0]
        if begins is not None:
            yield self.columns.column(begins)
        elif kind.kind == "relation":
            for end in schema.ends(kind.name):
                target = schema.types[cast(str, kind.attributes[end].target)]
                begun = life(schema, target)[0]
                if begun is not None:
                    yield self.columns.path(kind, f"{end}.{begun.name}")

    def _where(self, page: PageDesign, kind: Type) -> Sequence[int]:
        if page.spec.where is None:
            return range(1, self.columns.size(kind.name) + 1)
        with self.design.schema.document.at((*page.place, "where")):
            return rows_where(self._connection, self.design.schema, kind, page.spec.where)

    def _rows(self, page: PageDesign) -> Sequence[int]:
        if page.spec.for_ is None or page.kind is None:
            return ()
        rows = self.plan(page.copied).rows if page.copied else self._where(page, page.kind)
        rows = self.known(page.site, page.kind, rows)
        if page.site.lag and page.dated is not None:
            known = self.today - page.site.lag
            values, shift = self.columns.path(page.kind, page.dated[0]), page.dated[1]
            rows = [row for row in rows if values[row] is None or ordinal(str(values[row])) + shift <= known]
        if page.spec.share < 1:
            draw = Random(derive(self._seed, "share", page.site.name, page.label, page.index)).random
            rows = [row for row in rows if draw() < page.spec.share]
        return rows

    def ordering(self, page: PageDesign) -> Attribute | None:
        """Return the attribute that orders a list; None if none does."""
        if page.spec.list_ is None or page.kind is None:
            return None
        by_name = page.spec.order == "name" and "name" not in page.kind.attributes
        return None if by_name else page.kind.attributes[page.spec.order]

    def sort(self, plan: PagePlan, order: Sequence[Value]) -> None:
        """Order the lists of a plan by other values than the true ones. Pages and addresses stay."""
        rows = sorted(row for one in plan.lists for row in one.members)
        plan.lists = self._listed(plan.design, rows, order)

    def _lists(self, page: PageDesign) -> Sequence[ListPage]:
        if page.spec.home:
            return (ListPage(None, 1, 1, 0, ()),)
        if page.spec.list_ is None or page.kind is None or page.spec.corrections:
            return ()
        ordering = self.ordering(page)
        rows = self.known(page.site, page.kind, self._where(page, page.kind))
        return self._listed(page, rows, ordering and self.columns.column(ordering))

    def _listed(self, page: PageDesign, rows: Sequence[int], order: Sequence[Value] | None) -> Sequence[ListPage]:
        if order is not None:
            # Rows without a value come last in either direction.
            # Ties go by row, so that the order is total.
            keyed = sorted((row for row in rows if order[row] is not None), key=lambda row: (order[row], row))
            rows = [*(reversed(keyed) if page.spec.descending else keyed), *(row for row in rows if order[row] is None)]
        groups: dict[Value, list[int]] = {}
        by = self.columns.column(page.group) if page.group else None
        for row in rows:
            groups.setdefault(by[row] if by else 0, []).append(row)
        found: list[ListPage] = []
        for key in sorted(
            (key for key in groups if key is not None and (key != 0 or not by or page.group_is_flag)), key=_sortable
        ):
            members = groups[key]
            size = page.spec.per_page
            last = -(-len(members) // size)
            found += [
                ListPage(key, number + 1, last, len(members), members[number * size : number * size + size])
                for number in range(last)
            ]
        return found

    def _targets(self, page: PageDesign) -> Targets:
        plan = self.plan(page)
        if page.spec.for_ is None:
            return {(one.key or 0): plan.first + place for place, one in enumerate(plan.lists) if one.number == 1}
        found = array("q", bytes(8 * (self.columns.size(page.spec.for_) + 1)))
        for place, row in enumerate(plan.rows):
            found[row] = plan.first + place
        return found

    def _urls(self, page: PageDesign) -> Urls:
        plan, address = self.plan(page), self._address(page)
        if page.spec.for_ is None:
            return {(one.key or 0): address(one.key) for one in plan.lists if one.number == 1}
        found = [""] * (self.columns.size(page.spec.for_) + 1)
        for row in plan.rows:
            found[row] = address(row)
        return found

    def _address(self, page: PageDesign) -> Callable[[Value], str]:
        """Return a function from a row, or the group of a list, to an address."""
        texts, slots = page.url[::2], page.url[1::2]
        tables: list[Callable[[Value], str]] = []
        for slot in slots:
            tables.append(self._slot(page, slot))
        if len(tables) == 1:
            (before, after), (table,) = texts, tables
            return lambda key: f"{before}{table(key)}{after}"
        return lambda key: texts[0] + "".join(table(key) + text for table, text in zip(tables, texts[1:], strict=True))

    def _slot(self, page: PageDesign, slot: str) -> Callable[[Value], str]:
        if slot == "id":
            return str
        if slot == "group":
            if page.group and page.group.kind == "ref":
                slugs = self.columns.slugs(cast(str, page.group.target))
                return lambda key: slugs[cast(int, key)]
            return lambda key: slug_of(str(key))
        kind = cast(Type, page.kind)
        if slot == "slug":
            slugs = self.columns.slugs(kind.name)
            return lambda key: slugs[cast(int, key)]
        attribute = kind.attributes[slot.removesuffix(".slug")]
        refs, others = self.columns.column(attribute), self.columns.slugs(cast(str, attribute.target))
        return lambda key: others[cast(int, refs[cast(int, key)])]

    def jobs(self, plan: PagePlan, start: int, stop: int, urls: Urls, believed: Columns) -> Iterable[Job]:
        """Yield the pages of a plan from index `start` to `stop`, dated by what their site believes."""
        page = plan.design
        if page.spec.for_ is None:
            day = iso(self.today - page.site.lag)
            for place, one in enumerate(plan.lists[start:stop], plan.first + start):
                url = cast(dict[Value, str], urls)[one.key or 0]
                shown = url if one.number == 1 else f"{url}?page={one.number}"
                row = cast(int, one.key) if page.group and page.group.kind == "ref" else 0
                number, last, total = (None, None, None) if page.spec.home else (one.number, one.last, one.total)
                yield (place, shown, row, day, number, last, total, one.members, one.key)
            return
        days = self._days(plan, start, stop, believed)
        addresses = cast(Sequence[str], urls)
        for place, (row, day) in enumerate(zip(plan.rows[start:stop], days, strict=True), plan.first + start):
            yield (place, addresses[row], row, day, None, None, None, (), None)

    def _newest_dates(self, page: PageDesign, believed: Columns) -> list[str]:
        """Return, by row id, the newest date on its page, as far as the site knows."""
        if page.index not in self._newest:
            self._newest[page.index] = newest(page, believed, until=self.known_until(page.site))
        return self._newest[page.index]

    def days(self, plan: PagePlan) -> list[tuple[int, int]]:
        """Return the earliest and the latest possible date of each page of a plan, whatever its site believes."""
        page, known = plan.design, self.today - plan.design.site.lag
        if page.spec.for_ is None:
            return [(known, known)] * plan.count
        if page.dated is not None:
            return [(0, self.today)] * plan.count
        tells = tells_dates(page)
        drawn = (day for start in range(0, plan.count, CHUNK) for day in self._drawn(plan, start, start + CHUNK))
        return [(day, known if tells else day) for day in drawn]

    def _drawn(self, plan: PagePlan, start: int, stop: int) -> list[int]:
        # A stream for each chunk: `days` and `_days` must draw the same whether they go over all pages or over one chunk.
        page, latest = plan.design, self.today - plan.design.site.lag
        draw, renewed = Random(derive(self._seed, "dates", page.index, start)).random, page.site.renewed
        return [latest - int(draw() * renewed) for _ in plan.rows[start:stop]]

    def _days(self, plan: PagePlan, start: int, stop: int, believed: Columns) -> list[str]:
        page, rows = plan.design, plan.rows[start:stop]
        latest = self.today - page.site.lag
        newest_dates = self._newest_dates(page, believed)
        if page.dated is None:
            days = [iso(day) for day in self._drawn(plan, start, stop)]
        else:
            path, shift = page.dated
            values = believed.path(cast(Type, page.kind), path)
            days = [
                iso(min(self.today, ordinal(str(values[row])) + shift if values[row] is not None else latest))
                for row in rows
            ]
        return [max(day, newest_dates[row]) for row, day in zip(rows, days, strict=True)] if newest_dates else days


def _sortable(key: Value) -> tuple[int, float, str]:
    return (0, float(key), "") if isinstance(key, int | float) else (1, 0.0, str(key))
