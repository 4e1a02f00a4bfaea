"""A search world open for one episode: the shared web as this episode's tools see it, and its notebook."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from threading import RLock
from typing import Protocol

from simtrain.contracts.handler import Reply, ToolError
from simtrain.contracts.request import Request
from simtrain.contracts.world import WorldState
from simtrain.values.clock import Clock, seconds
from simtrain.values.errors import InputError, SimulatorFault
from simtrain.values.types import Changes, JsonObject, JsonValue, Observation, Provenance, ToolSpec
from simtrain.worlds.search.engine import page_opening
from simtrain.worlds.search.engine.concealed import Concealed
from simtrain.worlds.search.engine.memory import Notebook
from simtrain.worlds.search.engine.query_correction import Mended
from simtrain.worlds.search.engine.ranking import CANDIDATES
from simtrain.worlds.search.engine.snippets import snippet
from simtrain.worlds.search.engine.tokens import tokens
from simtrain.worlds.search.engine.web import StoredPage, Web
from simtrain.worlds.search.spec.view import Condition, View
from simtrain.worlds.search.toolsets.tool import EngineResult, SearchTool, Takes

EMBEDDED = Provenance("embedded")

_NOTHING = Concealed()
_SITE = re.compile(r"(?<!\S)site:(\S+)", re.IGNORECASE)


class BuiltWorld(Protocol):
    """What an episode reads of its world. `start` is in seconds since 1970, `per_step` in seconds."""

    seed: int
    start: float
    per_step: float
    view: View
    web: Web
    compiled: Mapping[str, SearchTool]

    def describe(self) -> str:
        """Return the base in a few lines of text."""
        ...


class SearchState(WorldState):
    """A search world open for one episode. Episodes share the web; notebook and clock are their own.

    Thread-safe: calls run one after the other.
    """

    __slots__ = ("_concealed", "_lock", "_question", "_youngest", "clock", "memory", "version", "world")

    def __init__(self, world: BuiltWorld, changes: Changes | None = None) -> None:
        self.world = world
        self.clock = Clock(start=world.start, per_step=world.per_step)
        self.memory = Notebook(changes)
        self.version = 0
        self._lock = RLock()
        self._youngest: str | None = None
        self._concealed = _NOTHING
        self._question = ""

    def conceal(self, cells: Iterable[JsonValue], *, question: str) -> None:
        """Set the running question: its gold cells, which teasing snippets withhold, and its stable identity, which
        seeds the leak of snippets where the view mixes several.
        """
        self._concealed = Concealed.of(cells)
        self._question = question

    # Calls

    def answer(self, request: Request) -> Observation:
        tool = self.world.compiled[request.tool.name]
        with self._lock:
            before = self.memory.copy() if tool.writes else None
            self.version += tool.writes
            try:
                return _observed(tool.act(self, request.arguments))
            except ToolError as error:
                self.memory = before or self.memory
                return Observation(str(error), is_error=True, provenance=EMBEDDED)

    def partial(self, request: Request, statements: int) -> Observation:
        # The notebook has one change a call: a partial write is all of it or none.
        if statements > 0:
            return self.answer(request)
        with self.savepoint():
            return self.answer(request)

    def statements(self, request: Request) -> int:
        """Return 1 for an operation that changes the notebook."""
        tool = self.world.compiled[request.tool.name]
        return int(tool.changes is not None and tool.changes(request.arguments))

    # What tools ask of the engine

    @property
    def results(self) -> int:
        """The default number of results of a search."""
        return self.world.view.results

    @property
    def today(self) -> str:
        """The present day, YYYY-MM-DD."""
        return self.clock.now[:10]

    def search(
        self, query: str, *, count: int | None = None, offset: int = 0, takes: Takes | None = None, long: bool = False
    ) -> list[EngineResult]:
        """Return the best pages for a query; `site:` with a domain restricts it to that site.

        With `takes`, only those of the best 200 that it accepts. `long` gives longer snippets.
        """
        site = _SITE.search(query)
        words = _SITE.sub(" ", query)
        only = None if site is None else self.world.web.site_by_domain.get(_domain(site[1]))
        if site is not None and only is None:
            return []
        wanted, on = self.results if count is None else count, only.id if only else None
        # A filter sees pages, not the index: it takes from the best 200, and pages of results are counted after it.
        first, most = (offset, wanted) if takes is None else (0, CANDIDATES)
        mended = self.mended(words)
        words = words if mended is None else mended.query
        hits = self.world.web.ranking.top(words, count=most, offset=first, site=on)
        pages = [page for hit in hits if not self._is_unseen(page := self.world.web.page(hit.page))]
        if takes is not None:
            pages = [page for page in pages if takes(page)][offset : offset + wanted]
        return [self._result(page, words, long) for page in pages]

    def mended(self, query: str) -> Mended | None:
        """Return the replacements for query words that no page contains; None if the query is searched unchanged."""
        if self.world.view.spelling == "exact":
            return None
        return self.world.web.mending.mended(_SITE.sub(" ", query))

    def _result(self, page: StoredPage, query: str, long: bool) -> EngineResult:
        # Case and spacing do not change what a query gives away: rewording it by them must not draw again.
        leak = self.world.view.leak(self.world.seed, self._question or " ".join(query.casefold().split()))
        text = snippet(
            page.body,
            query=tokens(query),
            leak=leak,
            statements=self.world.web.statements(page.id) if leak != "normal" else (),
            concealed=self._concealed,
            long=long,
        )
        return EngineResult(page.url, page.title, text, page.date, self.world.web.site_by_id[page.site].title)

    def visit(self, url: str, *, goal: str = "", part: int = 1) -> page_opening.Opened:
        """Return a page, or a part of a long one; with a goal, the passages that fit it. A slow page takes virtual time.

        Raises OpeningFailure for an invalid URL, a missing page, and a missing part.
        """
        place = page_opening.normal_url(url)
        if place is None:
            raise page_opening.OpeningFailure(url, "this is not a URL")
        # In the order of a real request: resolve the name, then the server's 404, 410, and only then a delay.
        host, path, query = place
        if host not in self.world.web.site_by_domain:
            raise page_opening.OpeningFailure(url, f"the name {host} could not be resolved")
        moved = path.startswith(f"{page_opening.MOVED_TO}/")
        page = self.world.web.page_at(host, path.removeprefix(page_opening.MOVED_TO) if moved else path, query)
        condition = self._condition(page) if page else "sound"
        if page is None or self._is_unseen(page) or (moved and condition != "moved"):
            raise page_opening.OpeningFailure(url, "404 Not Found")
        if condition == "dead":
            raise page_opening.OpeningFailure(url, "410 Gone")
        if condition == "slow":
            self.clock.advance(seconds(self.world.view.upkeep_of(self._site(page)).delay))
        return self._opened(page, condition, goal, part)

    def _opened(self, page: StoredPage, condition: Condition, goal: str, part: int) -> page_opening.Opened:
        url = page.url
        if condition == "moved":
            domain = self.world.web.site_by_id[page.site].domain
            head, _, path = url.partition(domain)
            url = f"{head}{domain}{page_opening.MOVED_TO}{path}"
        # Relative links resolve against the address that the page was written for, even if it moved.
        text = page_opening.absolute(page.body, page.url)
        if condition == "paywall":
            text = page_opening.before_paywall(text)
        if condition == "broken":
            text = page_opening.scraps(page.title)
        most = self.world.view.page_words
        parts = page_opening.parts_of(text, most) if not goal else [page_opening.for_goal(text, goal, most)]
        if part > len(parts):
            plural = "s" if len(parts) > 1 else ""
            raise page_opening.OpeningFailure(page.url, f"the page has {len(parts)} part{plural}, not {part}")
        return page_opening.Opened(url, page.title, page.date, parts[part - 1], part, len(parts))

    def _condition(self, page: StoredPage) -> Condition:
        return self.world.view.upkeep_of(self._site(page)).condition(self.world.seed, page.url)

    def _site(self, page: StoredPage) -> str:
        return self.world.web.site_by_id[page.site].name

    def _is_unseen(self, page: StoredPage) -> bool:
        return self._youngest is not None and page.date is not None and page.date > self._youngest

    # State

    def query(self, sql: str, parameters: Mapping[str, JsonValue] | None = None) -> list[JsonObject]:
        with self._lock:
            return self.world.web.query(sql, parameters, moment=self.clock.now, memory=self.memory)

    def execute(self, sql: str, parameters: Mapping[str, JsonValue] | None = None) -> int:
        with self._lock:
            self.version += 1
            return self.world.web.write(sql, parameters, moment=self.clock.now, memory=self.memory)

    @contextmanager
    def savepoint(self) -> Generator[None]:
        with self._lock:
            before, moment = self.memory.copy(), self.clock.moment
            try:
                yield
            finally:
                # The version rises even so: a copy of rows that was taken inside the block must not pass for the state after it.
                self.memory, self.clock.moment = before, moment
                self.version += 1

    def changes(self) -> Changes:
        with self._lock:
            return self.memory.changes()

    def fork(self) -> SearchState:
        with self._lock:
            other = SearchState(self.world)
            other.clock.moment = self.clock.moment
            other.memory = self.memory.copy()
            other._youngest = self._youngest
            other._concealed, other._question = self._concealed, self._question
            return other

    def describe(self) -> str:
        notes = [f"  {key}: {value}" for key, value in self.memory.notes.items()]
        return "\n".join((self.world.describe(), *(["Notes of the agent:", *notes] if notes else [])))

    def tell(self, tool: ToolSpec, content: JsonObject) -> str | None:
        own = self.world.compiled.get(tool.name)
        if own is None or own.tell is None:
            return None
        try:
            return own.tell(content)
        except InputError:
            # The author's own text for a renamed tool needs what this content lacks.
            return None

    def age(self, date: str) -> bool:
        """Answer as if the index were of that date: younger pages are neither found nor opened."""
        self._youngest = date[:10]
        return True

    def close(self) -> None:
        """Free nothing: the connection belongs to the process."""


def _domain(written: str) -> str:
    place = page_opening.normal_url(written)
    return place[0] if place else written


def _observed(reply: Reply) -> Observation:
    if reply.blocks or reply.updated:
        raise SimulatorFault("a search tool speaks in text")
    return Observation(reply.text, reply.structured, reply.is_error, provenance=EMBEDDED)
