"""The way to the facts of a question through the real search engine: few pages that state them all, and how each page is found."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from simtrain.errors import InputError
from simtrain.questions.browser import Browser, Call, Visit, texts
from simtrain.questions.schema import Schema
from simtrain.questions.stating import Needed, Statement
from simtrain.types import JsonValue
from simtrain.worlds.search.extracting import absolute

_CONTEXT: Final = (24, 48, 96, 200, 500)
"""How many characters before a passage are tried, until they stand only once in the reply."""


class Unreachable(InputError):
    """A fact that no page states, or that states it where no search and no link leads."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page as paths need it."""

    id: int
    url: str
    title: str
    entity: str
    site: str


@dataclass(frozen=True, slots=True)
class Passage:
    """Where a fact is read: the reply of the call at `call`, the text in it, and the words around."""

    call: int
    text: str
    after: str
    until: str
    statement: Statement


@dataclass(frozen=True, slots=True)
class Path:
    """The calls in order, and for each fact the passage that tells it."""

    calls: tuple[Call, ...]
    searches: int
    visits: int
    pages: int
    passages: Mapping[Needed, Passage]


class Finder:
    """Finds paths in one world; what it has searched and opened it remembers."""

    def __init__(self, schema: Schema, browser: Browser) -> None:
        self.schema = schema
        self.browser = browser
        self._pages: dict[int, Page] = {}
        self._queries: dict[int, str | None] = {}

    def path(self, statements: Mapping[Needed, list[Statement]]) -> Path:
        """A short path to all of these facts. Raises Unreachable."""
        chosen = self._cover(statements)
        calls: list[Call] = []
        searches = visits = 0
        passages: dict[Needed, Passage] = {}
        known: set[str] = set()
        waiting = list(chosen)
        while waiting:
            page = next((page for page in waiting if self.page(page).url in known), None)
            if page is None:
                query = self._query(waiting[0])
                assert query is not None, "a page that was chosen is found by a search"
                calls.append(self.browser.search_call(query))
                searches += 1
                known |= self.browser.search(query)
                continue
            waiting.remove(page)
            visit = self._opened(page)
            assert visit is not None, "a page that was chosen can be opened"
            used = {part for part, _ in chosen[page].values()}
            placed = {part: len(calls) + at for at, part in enumerate(sorted(used))}
            calls += [visit.calls[part] for part in sorted(used)]
            visits += len(used)
            known = known.union(*(visit.addresses[part] for part in used))
            for fact, (part, passage) in chosen[page].items():
                text, after, until, statement = passage
                passages[fact] = Passage(placed[part], text, after, until, statement)
        return Path(tuple(calls), searches, visits, len(chosen), passages)

    def page(self, page: int) -> Page:
        """A page by its id."""
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

    def _cover(self, statements: Mapping[Needed, list[Statement]]) -> dict[int, dict[Needed, tuple[int, _Found]]]:
        """Pages, each with the facts that are read there; greedily those that state most."""
        stating: dict[int, dict[Needed, Statement]] = {}
        for fact, found in statements.items():
            for statement in found:
                stating.setdefault(statement.page, {})[fact] = statement
        left = set(statements)
        chosen: dict[int, dict[Needed, tuple[int, _Found]]] = {}
        order = sorted(stating, key=lambda page: (-len(stating[page]), page))
        while left:
            page = max(order, key=lambda page: (sum(fact in left for fact in stating[page]), -page), default=None)
            wanted = {} if page is None else {fact: item for fact, item in stating[page].items() if fact in left}
            if page is None or not wanted:
                missing = min(left)
                raise Unreachable(
                    f"{missing.type}.{missing.name} of row {missing.entity} is stated on no page in reach"
                )
            order.remove(page)
            read = self._read(page, wanted)
            if read:
                chosen[page] = read
                left -= set(read)
        return chosen

    def _read(self, page: int, wanted: Mapping[Needed, Statement]) -> dict[Needed, tuple[int, _Found]]:
        """Those of the statements that stand in what the opened page says, where the page can be found at all."""
        visit = self._opened(page)
        if visit is None or self._query(page) is None:
            return {}
        bodies = self.schema.world.query(f"select body from _pages where id = {page}")
        body = str(bodies[0]["body"])
        found: dict[Needed, tuple[int, _Found]] = {}
        for fact, statement in wanted.items():
            place = _place(visit.replies, self.page(page), body, statement)
            if place is not None:
                found[fact] = place
        return found

    def _opened(self, page: int) -> Visit | None:
        return self.browser.visit(self.page(page).url)

    def _query(self, page: int) -> str | None:
        """A query among whose results the page is; None where none of those tried is one."""
        if page not in self._queries:
            found = self.page(page)
            tried = _queries(found)
            self._queries[page] = next((query for query in tried if found.url in self.browser.search(query)), None)
        return self._queries[page]


_Found = tuple[str, str, str, Statement]


def _queries(page: Page) -> Iterable[str]:
    queries = [page.title, f"{page.title} {page.site}"]
    if page.entity:
        queries += [page.entity, f"{page.entity} {page.site}"]
    return dict.fromkeys(queries)


def _place(replies: tuple[JsonValue, ...], page: Page, body: str, statement: Statement) -> tuple[int, _Found] | None:
    """The part of a page, the text in its reply and the words around a statement; None where no reply has it."""
    for part, reply in enumerate(replies):
        for path, text in texts(reply):
            begin = _offset(text, page.url, body, statement)
            if begin is None:
                continue
            end = begin + len(statement.words)
            after = _before(text, begin)
            until = next(
                (text[end : end + size] for size in range(1, 60) if text.find(text[end : end + size], begin) == end), ""
            )
            if after and (until or end == len(text)):
                return part, (path, after, until, statement)
    return None


def _before(text: str, begin: int) -> str:
    """So many characters before a place that they stand nowhere before; empty where there are none."""
    for size in _CONTEXT:
        first = max(0, begin - size)
        if text.find(text[first:begin]) == first:
            return text[first:begin]
    return ""


def _offset(text: str, url: str, body: str, statement: Statement) -> int | None:
    """Where a statement stands in a text that holds the body of its page, or a part of it, with its links made whole."""
    start, words = statement.start, statement.words
    at = len(absolute(body[:start], url))
    if text[at : at + len(words)] == words and text[max(0, at - 9) : at] == absolute(body[:start], url)[-9:]:
        return at
    first = body.rfind("\n", 0, start) + 1
    last = body.find("\n", start)
    line = absolute(body[first : last if last >= 0 else len(body)], url)
    found = text.find(line)
    return None if found < 0 else found + len(absolute(body[first:start], url))
