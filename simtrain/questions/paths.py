"""Finds a path to the facts of a question through the search engine: few pages that state them all, and how to find each page."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from heapq import heapify, heappop, heappush
from typing import Final, TypeAlias

from simtrain.questions.browser import Browser, PlannedCall, Visit
from simtrain.questions.schema import WorldSchema
from simtrain.questions.stating import Needed, ReadStatement
from simtrain.values.errors import InputError
from simtrain.values.types import encode
from simtrain.worlds.search.engine.page_opening import RELATIVE, absolute

_CONTEXT: Final = (12, 18, 24, 48, 96, 200, 500)
"""Numbers of characters before a passage to try, until they occur only once in the reply."""


class FactUnreachable(InputError):
    """A fact that no page states, or only pages that neither a search nor a link leads to."""


@dataclass(frozen=True, slots=True)
class Page:
    """The fields of a page that paths need."""

    id: int
    url: str
    title: str
    entity: str
    site: str


@dataclass(frozen=True, slots=True)
class Passage:
    """The place where a fact is read: the reply to call number `call`, the path of the text, and the words around the fact.

    Until the calls are known, `call` is the number of the page's part.
    """

    call: int
    text: str
    after: str
    until: str
    statement: ReadStatement


@dataclass(frozen=True, slots=True)
class FactPath:
    """The calls in order, and the passage that states each fact."""

    calls: tuple[PlannedCall, ...]
    searches: int
    visits: int
    pages: int
    passages: Mapping[Needed, Passage]


@dataclass(frozen=True, slots=True)
class Body:
    """A page's body with absolute links. `longer` is how much longer it became up to each link."""

    text: str
    ends: list[int]
    longer: list[int]

    @classmethod
    def of(cls, body: str, url: str, opened: str) -> Body:
        """Return the body of the page at a URL. `opened` is the text of the opened page: the body with absolute links, or a part of it."""
        # Making links absolute lengthens the text, so a statement's position in the stored body must be shifted by the links before it.
        links, whole = list(RELATIVE.finditer(body)), list(RELATIVE.finditer(opened))
        # The opened text is only a part of a long page: the links no longer match one to one.
        if len(links) != len(whole):
            opened = absolute(body, url)
            whole = list(RELATIVE.finditer(opened))
        longer = [made.end() - link.end() for link, made in zip(links, whole, strict=True)]
        return cls(opened, [link.end() for link in links], longer)

    def find(self, statement: ReadStatement, text: str) -> int | None:
        """Return the position of a statement in a text that is this body or a part of it; None if it is not there."""
        links = bisect_right(self.ends, statement.start)
        at = statement.start + (self.longer[links - 1] if links else 0)
        # The 12 characters before it are compared too: the words alone may occur at this place by chance in another part of the page.
        if text.startswith(statement.words, at) and text.startswith(self.text[max(0, at - 12) : at], max(0, at - 12)):
            return at
        # In a later part of a long page positions are different: find the statement's whole line instead.
        first = self.text.rfind("\n", 0, at) + 1
        last = self.text.find("\n", at)
        found = text.find(self.text[first : last if last >= 0 else len(self.text)])
        return None if found < 0 else found + at - first


_Places: TypeAlias = dict[int, dict[Needed, Passage | None]]
"""Page -> fact -> passage, as far as looked up for one path."""


class Finder:
    """Finds paths in one world. Searches and opened pages are cached."""

    def __init__(self, schema: WorldSchema, browser: Browser, *, without: frozenset[str] = frozenset()) -> None:
        """`without` holds URLs and queries that must not be used."""
        self.schema = schema
        self.browser = browser
        self._without = without
        self._pages: dict[int, Page] = {}
        self._queries: dict[int, str | None] = {}
        self._bodies: dict[int, Body] = {}
        self._left = self._left_out()

    def path(self, statements: Mapping[Needed, list[ReadStatement]]) -> FactPath:
        """Return a short path to all of these facts. Raises FactUnreachable."""
        # New for every path: which pages are found depends on the others in it, and must not depend on earlier questions.
        lost = set(self._left)
        places: _Places = {}
        while True:
            chosen = self._cover(statements, lost, places)
            # A page that cannot be reached is added to `lost`, and the cover is computed again without it; so this ends.
            path = self._walk(chosen, lost)
            if path is not None:
                return path

    def _walk(self, chosen: Mapping[int, Mapping[Needed, Passage]], lost: set[int]) -> FactPath | None:
        """Return the calls that open the chosen pages, by links if possible, else by searches.

        Returns None if neither a search nor a link leads to the remaining ones; the first of them is then added to `lost`.
        """
        calls: list[PlannedCall] = []
        searches = visits = 0
        passages: dict[Needed, Passage] = {}
        pages = list(chosen)
        unseen = {self.page(page).url: at for at, page in enumerate(pages)}
        shown: list[int] = []
        waiting = dict.fromkeys(pages)
        while waiting:
            # Search only if no remaining page's URL has been shown yet: opening a shown page needs one call less.
            if not shown:
                query = next((query for query in map(self._query, waiting) if query is not None), None)
                if query is None:
                    lost.add(next(iter(waiting)))
                    return None
                calls.append(self.browser.search_call(query))
                searches += 1
                _show(self.browser.search(query), unseen, shown)
                continue
            # The smallest index first, so that the order of calls does not depend on the order of results.
            page = pages[heappop(shown)]
            del waiting[page]
            visit = self._opened(page)
            assert visit is not None, "a page that was chosen can be opened"
            used = sorted({found.call for found in chosen[page].values()})
            # Passages refer to calls by number, which is known only now.
            placed = {part: len(calls) + at for at, part in enumerate(used)}
            calls += [visit.calls[part] for part in used]
            visits += len(used)
            for part in used:
                _show(visit.addresses[part], unseen, shown)
            for fact, found in chosen[page].items():
                passages[fact] = replace(found, call=placed[found.call])
        return FactPath(tuple(calls), searches, visits, len(chosen), passages)

    def page(self, page: int) -> Page:
        """Return a page by its id."""
        if page not in self._pages:
            rows = self.schema.world.query(
                "select p.id, p.url, p.title, p.type, p.entity, s.title as site from _pages p join _sites s on s.id = p.site"
                f" where p.id = {page}"
            )
            row = rows[0]
            named = row["type"] in self.schema.names and row["entity"] is not None
            entity = self.schema.name_of(str(row["type"]), row["entity"]) if named else ""
            self._pages[page] = Page(page, str(row["url"]), str(row["title"]), entity, str(row["site"]))
        return self._pages[page]

    def _cover(
        self, statements: Mapping[Needed, list[ReadStatement]], lost: set[int], places: _Places
    ) -> dict[int, dict[Needed, Passage]]:
        """Return pages that are not lost, with the facts read on each: a greedy set cover."""
        stating: dict[int, dict[Needed, ReadStatement]] = {}
        for fact, found in statements.items():
            for statement in found:
                if statement.page not in lost:
                    stating.setdefault(statement.page, {})[fact] = statement
        left = set(statements)
        chosen: dict[int, dict[Needed, Passage]] = {}
        counts = {page: len(facts) for page, facts in stating.items()}
        # A lazy heap: counts only fall, so an entry with an old count is pushed again with the new one.
        # The page id breaks ties, so that the path is the same on every machine.
        heap = [(-count, page) for page, count in counts.items()]
        heapify(heap)
        while left:
            count, page = heappop(heap) if heap else (0, 0)
            if not count:
                raise unreachable(min(left, key=lambda fact: fact[:3]))
            if -count != counts[page]:
                heappush(heap, (-counts[page], page))
                continue
            # Reading a page is expensive; only facts that no page chosen before has are looked up.
            wanted = {fact: item for fact, item in stating[page].items() if fact in left}
            del counts[page]
            read = self._read(page, wanted, places)
            if not read:
                continue
            chosen[page] = read
            left -= set(read)
            for fact in read:
                for statement in statements[fact]:
                    if statement.page in counts:
                        counts[statement.page] -= 1
        return chosen

    def _read(self, page: int, wanted: Mapping[Needed, ReadStatement], places: _Places) -> dict[Needed, Passage]:
        """Return the statements that the opened page shows."""
        visit = self._opened(page)
        if visit is None:
            return {}
        body = self._body(page, visit)
        known = places.setdefault(page, {})
        read: dict[Needed, Passage] = {}
        for fact, statement in wanted.items():
            if fact not in known:
                known[fact] = _place(visit, body, statement)
            place = known[fact]
            if place is not None:
                read[fact] = place
        return read

    def _body(self, page: int, visit: Visit) -> Body:
        if page not in self._bodies:
            rows = self.schema.world.query(f"select body from _pages where id = {page}")
            opened = visit.texts[0][1] if len(visit.texts) == 1 else ""
            self._bodies[page] = Body.of(str(rows[0]["body"]), self.page(page).url, opened)
        return self._bodies[page]

    def _left_out(self) -> set[int]:
        urls = encode(sorted(self._without))
        sql = "select id from _pages where url in (select value from json_each(:urls))"
        return {int(row["id"]) for row in self.schema.world.query(sql, {"urls": urls})} if self._without else set()

    def _opened(self, page: int) -> Visit | None:
        return self.browser.visit(self.page(page).url)

    def _query(self, page: int) -> str | None:
        """Return a query that finds the page; None if none of the tried ones does."""
        if page not in self._queries:
            found = self.page(page)
            tried = [query for query in _queries(found) if query not in self._without]
            self._queries[page] = next((query for query in tried if found.url in self.browser.search(query)), None)
        return self._queries[page]


def unreachable(fact: Needed) -> FactUnreachable:
    """Return the error for a fact that cannot be read."""
    place = f"{fact.type}.{fact.name}"
    return FactUnreachable(f"{place} of row {fact.entity} is stated on no page in reach", place=place)


def _show(addresses: Iterable[str], unseen: dict[str, int], shown: list[int]) -> None:
    """Push the indices of pages whose URLs are seen for the first time onto the heap of those that can be opened."""
    for address in addresses:
        place = unseen.pop(address, None)
        if place is not None:
            heappush(shown, place)


def _queries(page: Page) -> Iterable[str]:
    queries = [page.title, f"{page.title} {page.site}"]
    if page.entity:
        queries += [page.entity, f"{page.entity} {page.site}"]
    return dict.fromkeys(queries)


def _place(visit: Visit, body: Body, statement: ReadStatement) -> Passage | None:
    """Return the passage of a statement: the part of the page, the text, and the words around it; None if no reply has it."""
    for part, (path, text) in enumerate(visit.texts):
        begin = body.find(statement, text)
        if begin is None:
            continue
        end = begin + len(statement.words)
        after = _before(text, begin)
        until = next(
            (text[end : end + size] for size in range(1, 60) if text.find(text[end : end + size], begin) == end), ""
        )
        # Without both markers a plan could not cut the fact out of the reply again.
        if (after or begin == 0) and (until or end == len(text)):
            return Passage(part, path, after, until, statement)
    return None


def _before(text: str, begin: int) -> str:
    """Return the shortest text before a position that occurs nowhere earlier, if possible from the same line; empty if none."""
    line = text.rfind("\n", 0, begin) + 1
    # From the same line first: rendered lines vary less between seeds than their order does.
    for first in [*(max(line, begin - size) for size in _CONTEXT), *(max(0, begin - size) for size in _CONTEXT)]:
        if text.find(text[first:begin]) == first:
            return text[first:begin]
    return ""
