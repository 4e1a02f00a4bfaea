"""The contract of toolsets: a tool of a search world, and the interface of the engine to tools."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from simtrain.contracts.handler import Reply
from simtrain.values.types import JsonObject
from simtrain.worlds.search.engine.memory import Notebook
from simtrain.worlds.search.engine.page_opening import Opened
from simtrain.worlds.search.engine.query_correction import Mended
from simtrain.worlds.search.engine.web import StoredPage


@dataclass(frozen=True, slots=True)
class EngineResult:
    """One result of a search; `date` is the page's own, None if it has none."""

    url: str
    title: str
    snippet: str
    date: str | None
    site: str


Takes: TypeAlias = Callable[[StoredPage], bool]
"""True if a page that was found is to be among the results."""


class Engine(Protocol):
    """The engine as the tools of one episode use it."""

    memory: Notebook

    @property
    def results(self) -> int:
        """The default number of results of a search."""
        ...

    @property
    def today(self) -> str:
        """The present day, YYYY-MM-DD."""
        ...

    def search(
        self, query: str, *, count: int | None = None, offset: int = 0, takes: Takes | None = None, long: bool = False
    ) -> list[EngineResult]:
        """Return the best pages for a query; `site:` with a domain restricts it to that site.

        With `takes`, only those of the best 200 that it accepts. `long` gives longer snippets.
        """
        ...

    def mended(self, query: str) -> Mended | None:
        """Return the replacements for query words that no page contains; None if the query is searched unchanged."""
        ...

    def visit(self, url: str, *, goal: str = "", part: int = 1) -> Opened:
        """Return a page, or a part of a long one; with a goal, the passages that fit it. Raises OpeningFailure."""
        ...


Tell: TypeAlias = Callable[[JsonObject], str]
"""Writes the text of a reply from its structured content, which may lack any field."""

Act: TypeAlias = Callable[[Engine, JsonObject], Reply]
"""Carries out a call. Raises ToolError to refuse it."""


@dataclass(frozen=True, slots=True)
class SearchTool:
    """A tool: name, description, schemas, action, the writer of its text, and which calls change the notebook."""

    name: str
    description: str
    input_schema: JsonObject
    act: Act
    output_schema: JsonObject | None = None
    writes: bool = False
    title: str = ""
    tell: Tell | None = None
    changes: Callable[[JsonObject], bool] | None = None
