"""A search world built: a world file, how it is configured, and its tools."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from copy import copy
from pathlib import Path
from typing import Final, Protocol

from simtrain.contracts.world import ErrorStyle, Variant, World
from simtrain.values.clock import stamp
from simtrain.values.errors import InputError, nearest
from simtrain.values.types import Changes, JsonObject, JsonValue, ToolSpec
from simtrain.worlds.search.engine.memory import TABLE
from simtrain.worlds.search.engine.web import NOTES, Web, web_of
from simtrain.worlds.search.file import INDEXES
from simtrain.worlds.search.spec.view import View
from simtrain.worlds.search.state import SearchState
from simtrain.worlds.search.toolsets.table import tools_of
from simtrain.worlds.search.toolsets.tool import SearchTool
from simtrain.worlds.service.database import Database, Mode, explain

SHOWN_ROWS: Final = 3

_INDEXES_OF = "select name from sqlite_master where type = 'index' and tbl_name = ? and sql is not null"


class WorldFileFacts(Protocol):
    """What a search world knows of the file that it was written in. `start` is seconds since 1970, `per_step` seconds."""

    @property
    def name(self) -> str: ...
    @property
    def digest(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def seed(self) -> int: ...
    @property
    def start(self) -> float: ...
    @property
    def per_step(self) -> float: ...
    @property
    def view(self) -> View: ...

    def render(self, connection: sqlite3.Connection, *, seed: int) -> None:
        """Write pages, claims, statements and links anew, from the facts in the database; those tables are empty then."""
        ...


class SearchWorld(World):
    """A search world: all episodes of a process read one file through one connection."""

    kind = "search"

    def __init__(self, source: WorldFileFacts, path: Path, variant: Variant) -> None:
        """Open a built file. Raises InputError for a file that is none, and for a view that names what is not there."""
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
        """Return a copy with one writing statement applied to its facts; the pages are rendered anew, so that they tell of it.

        Notes belong to episodes: a statement that writes some is carried out and leaves nothing behind.
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
        """Return a copy that yields the rows of a query backwards wherever the query does not order them."""
        connection = self.web.copied()
        connection.execute("pragma reverse_unordered_selects=on")
        return self._over(Web(connection))

    def _over(self, web: Web) -> SearchWorld:
        other = copy(self)
        other.web = web
        return other

    def describe(self) -> str:
        """Return the sites, and of every table its columns and the first rows."""
        lines = [self.source.description.strip()] if self.source.description.strip() else []
        lines += [f"Site {site.domain}: {site.title}" for site in self.web.sites]
        for table in self.web.types():
            lines.append(f"Table {table}: {self.web.count(table)} rows ({', '.join(self.web.columns(table))})")
            rows = self.query(f'select * from "{table}" order by rowid limit {SHOWN_ROWS}')
            lines += ["  " + ", ".join(f"{name}={value}" for name, value in row.items()) for row in rows]
        return "\n".join(lines)


def _write(connection: sqlite3.Connection, sql: str, parameters: Mapping[str, JsonValue]) -> None:
    """Carry out an author's statement: guarded, for it may come from a file that somebody shared."""
    Database(connection=connection).run(sql, parameters, mode=Mode.WRITE)
    connection.set_authorizer(None)
    connection.set_progress_handler(None, 0)


def _render(connection: sqlite3.Connection, source: WorldFileFacts, seed: int) -> None:
    """Render the web of a database anew from its facts: first the pages, then their index."""
    for table in ("_pages", "_mentions", "_targets", "_claims"):
        for (index,) in connection.execute(_INDEXES_OF, (table,)).fetchall():
            connection.execute(f"drop index {index}")
        connection.execute(f"delete from {table}")
    source.render(connection, seed=seed)
    connection.execute("insert into _index (_index) values ('rebuild')")
    connection.executescript(INDEXES)
