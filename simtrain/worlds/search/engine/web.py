"""The web of a world file: one guarded read-only connection for all episodes of a process, with pages, sites, facts and ranking."""

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, cast

from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject, JsonValue
from simtrain.worlds.search.engine.memory import TABLE, Notebook
from simtrain.worlds.search.engine.page_opening import spellings
from simtrain.worlds.search.engine.query_correction import Mending
from simtrain.worlds.search.engine.ranking import Ranking
from simtrain.worlds.search.engine.snippets import Statement
from simtrain.worlds.search.file import blaming, open_file
from simtrain.worlds.service.database import Database, Mode, explain

MOST_STEPS: Final = 200_000
"""Operations of one query, in thousands: gold tables are computed over a million rows."""

LONGEST: Final = 20.0
"""Seconds of one query. Such queries come from graders and authors, never from agents."""

NOTES: Final = f"create temp table {TABLE} (key text primary key, value text not null)"
"""The table in which queries see an episode's notes."""

LARGEST_IN_MEMORY: Final = 256_000_000
"""Bytes. A larger world is copied to disk, not to memory."""
PAGES_AT_ONCE: Final = 4096

CACHE_KIB: Final = 16_384
MAPPED: Final = 1 << 31
"""Bytes of a file that are memory-mapped. This is safe because a world file is replaced as a whole, never overwritten."""

_PAGE = "select id, site, url, title, date, body from _pages where "


@dataclass(frozen=True, slots=True)
class Site:
    """A site of the web."""

    id: int
    name: str
    domain: str
    title: str
    kind: str


@dataclass(frozen=True, slots=True)
class StoredPage:
    """A page as stored in the file."""

    id: int
    site: int
    url: str
    title: str
    date: str | None
    body: str


class Web:
    """The web of one file, shared by all episodes. `query` and `write` fill the table `memory` with an episode's notes."""

    def __init__(self, connection: sqlite3.Connection, *, start: str = "") -> None:
        connection.isolation_level = None
        connection.execute("pragma temp_store=memory")
        # SQLite declares virtual tables on first use, with SQL of its own that the authorizer would refuse.
        connection.execute("select rowid from _index where _index match 'a' limit 1").fetchall()
        taken = connection.execute("select 1 from sqlite_master where name = ?", (TABLE,)).fetchone()
        self.holds_notes = taken is None
        if self.holds_notes:
            connection.execute(NOTES)
        self._database = Database(connection=connection, moment=start, steps=MOST_STEPS, longest=LONGEST)
        self.run(f"pragma cache_size=-{CACHE_KIB}")
        self.run(f"pragma mmap_size={MAPPED}")
        self.lock = self._database.lock
        """The lock that keeps other threads from the file, the shown notes and the ranking."""
        self.ranking = Ranking(self.run, self.lock)
        self.mending = Mending(self.ranking, self._names)
        self.sites = tuple(
            Site(*row) for row in self.run("select id, name, domain, title, kind from _sites order by id")
        )
        self.site_by_id = {site.id: site for site in self.sites}
        self.site_by_domain = {site.domain: site for site in self.sites}
        self._shown: list[JsonObject] = []

    def run(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of one of the engine's own statements."""
        return self._database.fetch(sql, cast("Sequence[str]", values), mode=Mode.OWN)

    def first(self, sql: str, values: Sequence[object] = ()) -> tuple[Any, ...] | None:
        """Return the first row of one of the engine's own statements; None if there is none."""
        return self._database.first(sql, cast("Sequence[str]", values), mode=Mode.OWN)

    # What authors and graders ask

    def query(
        self, sql: str, parameters: Mapping[str, JsonValue] | None, *, moment: str, memory: Notebook | None = None
    ) -> list[JsonObject]:
        """Return the rows of one SELECT at a moment, with the notes in the table `memory`. Raises InputError."""
        with self.lock:
            self._database.moment = moment
            self._show(memory.rows if memory else [])
            return self._database.objects(sql, parameters)

    def write(self, sql: str, parameters: Mapping[str, JsonValue] | None, *, moment: str, memory: Notebook) -> int:
        """Run one writing statement on the notes and return the number of rows. Raises InputError, also for other tables."""
        with self.lock:
            self._database.moment = moment
            self._show(memory.rows)
            try:
                count = self._database.run(sql, parameters or {}, mode=Mode.WRITE)
            except sqlite3.Error as error:
                readonly = "readonly" in str(error)
                remedy = f"only the table `{TABLE}` can be written in an episode" if readonly else None
                raise InputError(f"the SQL fails: {explain(error)}", remedy=remedy) from None
            finally:
                rows = self._database.rows(f"select rowid as row, key, value from {TABLE} order by rowid")
                self._shown = rows
            memory.replace(rows)
            return count

    def _show(self, rows: list[JsonObject]) -> None:
        # Episodes take turns on one connection; the notes are rewritten only if another episode's are on show.
        if rows == self._shown or not self.holds_notes:
            return
        self.run(f"delete from {TABLE}")
        for row in rows:
            self.run(
                f"insert into {TABLE} (rowid, key, value) values (?, ?, ?)", (row["row"], row["key"], row["value"])
            )
        self._shown = rows

    def columns_read(self, sql: str, parameters: Mapping[str, JsonValue]) -> frozenset[tuple[str, str]]:
        """Return the (table, column) pairs that a SELECT reads. Raises InputError."""
        try:
            return self._database.columns_read(sql, parameters)
        except sqlite3.Error as error:
            raise InputError(f"the SQL fails: {explain(error)}") from None

    def types(self) -> list[str]:
        """Return the names of the author's tables, in their order."""
        return [row[0] for row in self.run("select name from _types order by position, name")]

    def columns(self, table: str) -> tuple[str, ...]:
        """Return the columns of a table."""
        return tuple(row[1] for row in self.run(f'pragma table_info("{table}")'))

    def described(self, table: str, *, rows: int) -> list[str]:
        """Return lines of text about a table, with its first rows."""
        return self._database.described(table, self.columns(table), rows=rows)

    # What agents ask

    def page(self, page: int) -> StoredPage:
        """Return a page by its id."""
        return _stored(self.run(f"{_PAGE} id = ?", (page,))[0])

    def page_at(self, host: str, path: str, query: str) -> StoredPage | None:
        """Return the page at an address; None if there is none."""
        # Agents vary the spelling of a URL (such as a trailing slash); pages are stored under one of these.
        for url in spellings(host, path, query):
            row = self.first(f"{_PAGE} url = ?", (url,))
            if row is not None:
                return _stored(row)
        return None

    def _names(self) -> list[str]:
        """Return all names: of entities, their aliases, site titles, and nouns for types and attributes."""
        named = [
            f'select name from "{kind}"'
            for (kind,) in self.run("select name from _types where kind = 'entity'")
            if "name" in self.columns(kind)
        ]
        others = (
            "select alias from _aliases",
            "select title from _sites",
            "select word from _words",
            "select label from _attributes",
        )
        return [str(name) for sql in (*named, *others) for (name,) in self.run(sql)]

    def statements(self, page: int) -> list[Statement]:
        """Return the spans of the facts in the body of a page, in order."""
        return self.run("select start, length from _statements where page = ? order by start", (page,))

    # Copies

    def copied(self) -> sqlite3.Connection:
        """Return an unguarded copy, in memory or, if large, in a temporary file that vanishes with its connection."""
        size = self.run("select page_count * page_size from pragma_page_count, pragma_page_size")[0][0]
        copy = sqlite3.connect(
            ":memory:" if size <= LARGEST_IN_MEMORY else "", isolation_level=None, check_same_thread=False
        )
        # No journal on disk: if copying is interrupted, the copy is thrown away.
        copy.execute("pragma journal_mode=memory")
        self._database.back_up(copy, pages=PAGES_AT_ONCE)
        return copy

    def close(self) -> None:
        """Close the connection."""
        with suppress(sqlite3.Error):
            self._database.close()


def _stored(row: tuple[object, ...]) -> StoredPage:
    return StoredPage(*cast("tuple[int, int, str, str, str | None, str]", row))


def web_of(path: Path) -> Web:
    """Return the web of a file, opened once per process. Raises InputError."""
    # Cached by inode and time as well: a world that was built anew under the same name is opened anew.
    found = path.resolve()
    stat = found.stat() if found.is_file() else None
    return _web_of(found, (stat.st_ino, stat.st_mtime_ns) if stat else None)


@lru_cache(maxsize=16)
def _web_of(path: Path, _: object) -> Web:
    with blaming(path):
        return Web(open_file(path))
