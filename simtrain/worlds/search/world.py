"""A search world built: a world file, how it is configured, and its tools."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from copy import copy
from pathlib import Path
from typing import Final

from simtrain.contracts.world import ErrorStyle, Variant, World
from simtrain.values.clock import stamp
from simtrain.values.errors import InputError, nearest
from simtrain.values.types import Changes, JsonObject, JsonValue, ToolSpec
from simtrain.worlds.search.engine.memory import TABLE
from simtrain.worlds.search.engine.web import NOTES, Web, web_of
from simtrain.worlds.search.file import INDEXES
from simtrain.worlds.search.spec.source_facts import SourceFacts
from simtrain.worlds.search.state import SearchState
from simtrain.worlds.search.toolsets.table import tools_of
from simtrain.worlds.search.toolsets.tool import SearchTool
from simtrain.worlds.service.database import Database, Mode, explain

SHOWN_ROWS: Final = 3

_INDEXES_OF = "select name from sqlite_master where type = 'index' and tbl_name = ? and sql is not null"


class SearchWorld(World):
    """A search world: all episodes of a process read one file through one connection."""

    kind = "search"

    def __init__(self, source: SourceFacts, path: Path, variant: Variant) -> None:
        """Open a built file. Raises InputError for a file that is not a world, and for a view that names an unknown site or tool."""
        self.source = source
        self.name = source.name
        self.digest = source.digest
        self.seed = source.seed if variant.seed is None else variant.seed
        self.start, self.per_step = source.start, source.per_step
        self.view = source.view
        self.web: Web = web_of(path)
        known = {site.name for site in self.web.sites}
        for name in self.view.sites:
            if name not in known:
                raise InputError(
                    f"the world {self.name!r} has no site {name!r}", remedy=nearest(name, known), place="sites"
                )
        tools = tools_of(self.view.tools)
        self.compiled: Mapping[str, SearchTool] = {tool.name: tool for tool in tools}
        self.tools = tuple(
            ToolSpec(tool.name, tool.description, tool.input_schema, tool.output_schema, tool.writes) for tool in tools
        )
        self.errors = ErrorStyle()
        # MCP's own example of `openWorldHint`: web search is an open world, a memory tool is not.
        self.descriptors: Mapping[str, JsonObject] = {
            tool.name: {
                "title": tool.title,
                "annotations": {"title": tool.title, "readOnlyHint": not tool.writes, "openWorldHint": not tool.writes},
            }
            for tool in tools
        }
        self.manifest = None

    def open(self, changes: Changes | None = None) -> SearchState:
        return SearchState(self, changes)

    def query(self, sql: str, parameters: Mapping[str, JsonValue] | None = None) -> list[JsonObject]:
        return self.web.query(sql, parameters, moment=stamp(self.start))

    def columns_read(self, sql: str, parameters: Mapping[str, JsonValue] | None = None) -> frozenset[tuple[str, str]]:
        return self.web.columns_read(sql, parameters or {})

    def columns(self) -> Mapping[str, tuple[str, ...]]:
        notes = {TABLE: ("key", "value")} if self.web.holds_notes else {}
        return {**{table: self.web.columns(table) for table in self.web.types()}, **notes}

    def altered(self, sql: str, parameters: Mapping[str, JsonValue] | None = None) -> SearchWorld:
        """Return a copy with one writing statement applied to its facts, and its pages rendered anew.

        Notes belong to episodes: a statement may write them, but they are dropped.
        """
        connection = self.web.copied()
        try:
            if self.web.holds_notes:
                connection.execute(NOTES)
            _write(connection, sql, parameters or {})
            if self.web.holds_notes:
                connection.execute(f"drop table temp.{TABLE}")
            _render(connection, self.source, self.seed)
        except (sqlite3.Error, InputError) as error:
            connection.close()
            if isinstance(error, InputError):
                raise
            raise InputError(f"the SQL fails: {explain(error)}") from None
        return self._over(Web(connection))

    def backwards(self) -> SearchWorld:
        """Return a copy that yields rows in reverse wherever a query does not order them.

        Gold that changes here rests on SQLite's choice of order (https://www.sqlite.org/pragma.html#pragma_reverse_unordered_selects).
        """
        connection = self.web.copied()
        connection.execute("pragma reverse_unordered_selects=on")
        return self._over(Web(connection))

    def _over(self, web: Web) -> SearchWorld:
        other = copy(self)
        other.web = web
        return other

    def describe(self) -> str:
        """Return the sites, and the columns and first rows of every table."""
        lines = [self.source.description.strip()] if self.source.description.strip() else []
        lines += [f"Site {site.domain}: {site.title}" for site in self.web.sites]
        for table in self.web.types():
            lines += self.web.described(table, rows=SHOWN_ROWS)
        return "\n".join(lines)


def _write(connection: sqlite3.Connection, sql: str, parameters: Mapping[str, JsonValue]) -> None:
    """Run an author's statement under guard: it may come from a file that somebody shared."""
    Database(connection=connection).run(sql, parameters, mode=Mode.WRITE)
    # Rendering on the same connection writes tables that the guard protects.
    connection.set_authorizer(None)
    connection.set_progress_handler(None, 0)


def _render(connection: sqlite3.Connection, source: SourceFacts, seed: int) -> None:
    """Render the web of a database anew from its facts: first the pages, then their index."""
    for table in ("_pages", "_mentions", "_targets", "_claims"):
        for (index,) in connection.execute(_INDEXES_OF, (table,)).fetchall():
            # Emptying and refilling an indexed table updates the index row by row; creating it at the end is faster.
            connection.execute(f"drop index {index}")
        connection.execute(f"delete from {table}")
    source.render(connection, seed=seed)
    # The FTS5 table keeps no text of its own: it cannot follow deleted rows, but reads `_pages` again as a whole.
    connection.execute("insert into _index (_index) values ('rebuild')")
    connection.executescript(INDEXES)
