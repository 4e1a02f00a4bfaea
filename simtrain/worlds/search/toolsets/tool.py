"""The contract of toolsets: a tool of a search world, and what it may ask of the engine."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from simtrain.contracts.handler import Reply
from simtrain.values.types import JsonObject, JsonValue
from simtrain.worlds.search.engine.memory import Notebook
from simtrain.worlds.search.engine.page_opening import Opened
from simtrain.worlds.search.engine.query_correction import Mended
from simtrain.worlds.search.engine.web import StoredPage


@dataclass(frozen=True, slots=True)
class Result:
    """One result of a search; `date` is when the page is from, where it says so."""

    url: str
    title: str
    snippet: str
    date: str | None
    site: str


Takes: TypeAlias = Callable[[StoredPage], bool]
"""Whether a page that was found is to be among the results."""


class Engine(Protocol):
    """What tools may ask of the engine, for one episode."""

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
    ) -> list[Result]:
        """Return the best pages for a query; `site:` and a domain in it restricts it to that site.

        With `takes`, those of the best 200 that it takes. A `long` search tells longer snippets.
        """
        ...

    def mended(self, query: str) -> Mended | None:
        """Return the replacements for query words that no page contains; None if the query is searched unchanged."""
        ...

    def visit(self, url: str, *, goal: str = "", part: int = 1) -> Opened:
        """Return a page, or a part of a long one; with a goal, what of it speaks of that goal. Raises OpeningFailure."""
        ...


Tell: TypeAlias = Callable[[JsonObject], str]
"""Writes the text of a reply from its structured content, whatever is missing in it."""

Act: TypeAlias = Callable[[Engine, JsonObject], Reply]
"""Carries out a call. Raises ToolError to refuse it."""


@dataclass(frozen=True, slots=True)
class SearchTool:
    """A tool: its name, description, schemas, what it does, how its reply is written as text, and which calls change the notebook."""

    name: str
    description: str
    input_schema: JsonObject
    act: Act
    output_schema: JsonObject | None = None
    writes: bool = False
    title: str = ""
    tell: Tell | None = None
    changes: Callable[[JsonObject], bool] | None = None


def arguments_of(required: tuple[str, ...] = (), **properties: JsonValue) -> JsonObject:
    """Return the input schema of a tool that takes these arguments, and refuses others."""
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


def open_arguments(required: tuple[str, ...] = (), **properties: JsonValue) -> JsonObject:
    """Return the input schema of a tool that takes these arguments and passes over others, as the imitated servers do."""
    return {"type": "object", "properties": properties, "required": list(required)}
