"""The press: writes a web from the facts of a database, claims first, then page after page."""

import sqlite3
from collections.abc import Callable, Generator, Iterable, Sequence
from functools import cache
from itertools import chain
from random import Random
from typing import Final, NamedTuple, cast

from simtrain.values.seeding import derive
from simtrain.worlds.search.pages.design import Design, PageDesign, SiteDesign
from simtrain.worlds.search.pages.disputes import Disputes
from simtrain.worlds.search.pages.knowledge import Beliefs, Chronicler, Claim
from simtrain.worlds.search.pages.layout import CHUNK, Layout, PagePlan
from simtrain.worlds.search.pages.mentions import Mention
from simtrain.worlds.search.pages.needs import PageRow, Render
from simtrain.worlds.search.pages.rendering import Code
from simtrain.worlds.search.pages.tree import Rows
from simtrain.worlds.search.spec.rules import rules_of
from simtrain.worlds.search.spec.schema import Attribute, Type

ROWS_AT_ONCE: Final = 200


class PageSheet(NamedTuple):
    """Consecutive pages, as rows of `_pages`, `_mentions` and `_targets`."""

    pages: list[PageRow]
    mentions: list[Mention]
    targets: list[tuple[int, str]]

    def write(self, connection: sqlite3.Connection) -> None:
        """Insert everything but the full-text index."""
        connection.executemany(f"insert into _pages values {_marks(12)}", self.pages)
        _insert(connection, "_mentions", 5, self.mentions)
        connection.executemany("insert into _targets values (?, ?)", self.targets)


def _marks(width: int) -> str:
    return f"({', '.join('?' * width)})"


def _insert(connection: sqlite3.Connection, table: str, width: int, rows: Iterable[tuple[object, ...]]) -> None:
    """Insert rows, many in one statement, which halves the time for narrow rows."""
    values = [*chain.from_iterable(rows)]
    size = width * ROWS_AT_ONCE
    whole = len(values) - len(values) % size
    many = f"insert into {table} values {', '.join([_marks(width)] * ROWS_AT_ONCE)}"
    connection.executemany(many, (values[start : start + size] for start in range(0, whole, size)))
    left = (values[start : start + width] for start in range(whole, len(values), width))
    connection.executemany(f"insert into {table} values {_marks(width)}", left)


class Press:
    """Everything that turns facts into pages."""

    def __init__(self, design: Design, connection: sqlite3.Connection, codes: dict[int, Code], *, seed: int) -> None:
        self._design = design
        self._connection = connection
        self._codes = codes
        self._seed = seed
        self._referring = cache(self._reverse)
        self.layout = Layout(design, connection, seed=seed)
        self.layout.correct(self._wrong)

    def write_claims(self) -> None:
        """Draw and write the wrong claims of each site."""
        disputes = Disputes(self._design, self.layout)
        chronicler = Chronicler(
            self.layout.columns,
            seed=self._seed,
            today=self.layout.today,
            age=disputes.age,
            rules=rules_of(self._design.schema),
        )
        drawn: list[Claim] = []
        for site in self._design.sites:
            pages = [page for page in site.pages if not page.spec.corrections]
            stated = [one for page in pages for one in self._codes[page.index].needs.columns.values()]
            drawn += chronicler.claims(site, stated, self._fixed(site))
        claims = [(number, *claim[1:]) for number, claim in enumerate(disputes.settled(drawn), 1)]
        self._connection.executemany("insert into _claims values (?, ?, ?, ?, ?, ?, ?, ?)", claims)
        self.layout.correct(self._wrong)

    def _wrong(self, page: PageDesign) -> Iterable[int]:
        """Return the rows that a site has wrong and a page of corrections corrects."""
        corrected = [*self._codes[page.index].needs.wrong.values()]
        rows = sorted({row for one in corrected for row in self._false(page.site, one)})
        return self.layout.known(page.site, cast(Type, page.kind), rows)

    def _false(self, site: SiteDesign, attribute: Attribute) -> list[int]:
        sql = "select entity from _claims where site = ? and attribute = ? order by entity"
        return [row for (row,) in self._connection.execute(sql, (site.id, attribute.id))]

    def _fixed(self, site: SiteDesign) -> frozenset[int]:
        """Return the attributes that order a site's pages: members of lists, and refs that loops follow."""
        needs = [self._codes[page.index].needs for page in site.pages]
        grouped = [page.group.id for page in site.pages if page.group]
        return frozenset([*grouped, *(via.id for one in needs for _, via in one.reverse.values())])

    def sheets(self, first: int = 1) -> Generator[PageSheet]:
        """Yield all pages from the one with id `first` on, which must begin a sheet."""
        for site in self._design.sites:
            plans = [plan for plan in map(self.layout.plan, site.pages) if plan.first + plan.count > first]
            plans = [plan for plan in plans if not plan.design.spec.corrections]
            beliefs = Beliefs(self.layout.columns, self._claims(site)) if plans else None
            self._referring.cache_clear()
            for plan in plans:
                yield from self._print(plan, cast(Beliefs, beliefs), max(0, first - plan.first))
        for plan in self.layout.plans:
            if plan.design.spec.corrections and plan.first + plan.count > first:
                # Pages of corrections state the truth, whatever their site believes.
                self._referring.cache_clear()
                yield from self._print(plan, Beliefs(self.layout.columns, ()), max(0, first - plan.first))

    def _claims(self, site: SiteDesign) -> list[Claim]:
        return self._connection.execute("select * from _claims where site = ? order by id", (site.id,)).fetchall()

    def _print(self, plan: PagePlan, beliefs: Beliefs, begin: int) -> Generator[PageSheet]:
        ordering = self.layout.ordering(plan.design)
        # A list is in the order of what its site believes, or its own values would contradict it.
        if ordering is not None and ordering.id in beliefs.claims:
            self.layout.sort(plan, beliefs.column(ordering))
        words = Random()
        # A copy makes the same draws as its original, so that the wording agrees.
        # Row ids stay below 2**32, so no two rows of any kinds share a seed.
        base = derive(self._seed, "wording", (plan.design.copied or plan.design).index) << 32
        render = self._compiled(plan, beliefs, lambda row: words.seed(base + row))
        urls = self.layout.urls(plan.design)
        for start in range(begin, plan.count, CHUNK):
            sheet = PageSheet([], [], [])
            # A seed for each chunk: a resumed build starts in the middle, and must draw what an unbroken one draws.
            words.seed(derive(self._seed, "wording", plan.design.index, start))
            jobs = list(self.layout.jobs(plan, start, min(plan.count, start + CHUNK), urls, beliefs))
            render(jobs, words.random, *sheet)
            yield sheet

    def _compiled(self, plan: PagePlan, beliefs: Beliefs, again: Callable[[int], None]) -> Render:
        code, layout = self._codes[plan.design.index], self.layout
        needs = code.needs
        environment: dict[str, object] = {name: beliefs.column(one) for name, one in needs.columns.items()}
        environment |= {name: beliefs.claims.get(one.id, {}) for name, one in needs.claims.items()}
        environment |= {name: {*self._false(plan.design.site, one)} for name, one in needs.wrong.items()}
        environment |= {name: self._referring(plan.design.site, *one) for name, one in needs.reverse.items()}
        environment |= {name: layout.targets(page) for name, page in needs.pages.items()}
        environment |= {name: layout.urls(page) for name, page in needs.urls.items()}
        environment |= {name: self._aliases(*one) for name, one in needs.aliases.items()}
        for name, rows in needs.sizes.items():
            every = range(1, layout.columns.size(rows.kind.name) + 1)
            environment[name] = self._every(rows, layout.known(plan.design.site, rows.kind, every), beliefs)
        environment["again"] = again
        return code.compile(environment)

    def _every(self, rows: Rows, known: Sequence[int], beliefs: Beliefs) -> Sequence[int]:
        """Return the known rows of a type in the order of a loop."""
        if not rows.order:
            return known
        values = beliefs.path(rows.kind, ".".join(one.name for one in rows.order))
        return sorted(known, key=lambda row: cast(str, values[row]), reverse=rows.descending)

    def _reverse(self, site: SiteDesign, kind: Type, via: Attribute) -> Sequence[Sequence[int]]:
        """Return, by row id, the rows that refer to it, as far as the site knows; periods in chronological order."""
        found: list[Sequence[int]] = [()] * (self.layout.columns.size(cast(str, via.target)) + 1)
        targets = cast(list[int], self.layout.columns.column(via))
        rows = self.layout.known(site, kind, range(1, len(targets)))
        if kind.kind == "relation" and "since" in kind.attributes:
            since = cast(list[str], self.layout.columns.column(kind.attributes["since"]))
            rows = sorted(rows, key=lambda row: (since[row], row))
        for row in rows:
            target = targets[row]
            if not found[target]:
                found[target] = [row]
            else:
                cast(list[int], found[target]).append(row)
        found[0] = ()
        return found

    def _aliases(self, kind: str, alias: str) -> dict[int, str]:
        condition = "and kind = :alias" if alias else ""
        # Descending, so that the first alias of a row is the one that stays in the dict.
        sql = f"select entity, alias from _aliases where type = :type {condition} order by rowid desc"
        return dict(self._connection.execute(sql, {"type": kind, "alias": alias}).fetchall())


def compile_all(design: Design) -> dict[int, Code]:
    """Return the generated code of all page kinds, by kind number. Raises InputError, with the place, for links without a target."""
    found: dict[int, Code] = {}
    for site in design.sites:
        for page in site.pages:
            with design.schema.document.at(page.place):
                found[page.index] = Code(design.schema, page, design.sites, design.units)
    return found
