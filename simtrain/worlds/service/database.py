"""A guarded SQLite connection: an authorizer, virtual time, limits on steps and memory, and one thread at a time."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from enum import IntEnum
from threading import RLock
from typing import TypeAlias, TypeVar

from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject, JsonValue
from simtrain.worlds.service.functions import Cell, install
from simtrain.worlds.service.row_limits import Row, all_rows
from simtrain.worlds.service.watch import LONGEST, RunningStatement

T = TypeVar("T")
Values: TypeAlias = Mapping[str, JsonValue] | Iterable[Cell]

RESERVED = "_simtrain"
SEQUENCE = f"{RESERVED}_sequence"
# A callback every 1,000 operations costs nothing measurable; 5,000 of them are seconds of work.
STEP_OPS = 1000
MAX_STEPS = 5000
MAX_LENGTH = 4_100_000
"""Largest value and row, in bytes: a file of a machine, three megabytes that are no text, in base64, with its path and the rest."""
MAX_COLUMNS = 200
MAX_PATTERN = 500
"""Longest LIKE or GLOB pattern, in bytes: the time of matching grows with pattern times text."""
MOST_COUNTS = 64
"""Counts that a connection keeps."""
MAX_PAGES = 65_536
"""Most pages of a world's database, of 4 KiB each."""
_INTERRUPTED = "interrupted"
_TOO_MUCH = "the query takes too long, or too much memory"


class Mode(IntEnum):
    """What a statement may do."""

    # OWN is for this package's own statements: nothing is refused.
    READ = 0
    WRITE = 1
    SCHEMA = 2
    OWN = 3


# Randomness, the host, and the library's version; and connection state that differs between a fork and its original.
_REFUSED_FUNCTIONS = frozenset(
    {"random", "randomblob", "load_extension", "readfile", "writefile", "edit", "fts3_tokenizer", "sqlite_log",
     "sqlite_compileoption_get", "sqlite_compileoption_used", "sqlite_source_id", "sqlite_version", "last_insert_rowid",
     "changes", "total_changes"}
)  # fmt: skip
_READING = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE})
_WRITING = frozenset({sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE})
_DEFINING = frozenset(
    {sqlite3.SQLITE_CREATE_TABLE, sqlite3.SQLITE_CREATE_INDEX, sqlite3.SQLITE_CREATE_VIEW, sqlite3.SQLITE_CREATE_TRIGGER,
     sqlite3.SQLITE_REINDEX}
)  # fmt: skip


class _Guard(RunningStatement):
    """The guard of a connection: a lock, taken before SQLite's own, and the permissions of the running statement.

    SQLite calls back into Python in the middle of a statement. Without the lock, a second thread could wait for SQLite's mutex while
    it holds the GIL, which the callback needs: a deadlock.
    """

    __slots__ = ("counts", "left", "lock", "mode", "moment", "steps", "told")

    def __init__(self, connection: sqlite3.Connection, steps: int, longest: float) -> None:
        super().__init__(connection, longest=longest)
        self.lock = RLock()
        self.mode = Mode.READ
        self.moment = ""
        self.left = self.steps = steps
        # How often a statement asked for the time, and the counts since anything was written or undone.
        self.told = 0
        self.counts: dict[str, int] = {}

    def now(self) -> str:
        """Return the virtual time, as SQL sees it."""
        self.told += 1
        return self.moment

    def begins_with(self, length: int) -> Callable[[], str]:
        """Return a function that returns the first `length` characters of the present time."""
        return lambda: self.now()[:length]

    def count(self) -> int:
        """Count a step. Return True, which interrupts the statement, once all steps are used up."""
        self.left -= 1
        return self.left < 0

    def authorize(self, action: int, first: str | None, second: str | None, _: str | None, trigger: str | None) -> int:
        """Return SQLITE_OK or SQLITE_DENY for an action; see sqlite3_set_authorizer."""
        # The change log's triggers run inside the world's own statements, and write to reserved tables.
        if self.mode is Mode.OWN or (trigger is not None and trigger.startswith(RESERVED)):
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_FUNCTION:
            return sqlite3.SQLITE_DENY if (second or "").lower() in _REFUSED_FUNCTIONS else sqlite3.SQLITE_OK
        if (first or "").startswith(RESERVED):
            return sqlite3.SQLITE_DENY
        if action in _READING:
            return sqlite3.SQLITE_OK
        if action in _WRITING:
            # CREATE TABLE writes to sqlite_master, and AUTOINCREMENT to sqlite_sequence; a world's statements may not.
            inner = (first or "").startswith("sqlite_")
            allowed = self.mode is Mode.SCHEMA or (self.mode is Mode.WRITE and not inner)
            return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY
        return sqlite3.SQLITE_OK if action in _DEFINING and self.mode is Mode.SCHEMA else sqlite3.SQLITE_DENY


class Database:
    """One database, in memory unless a connection is given. `moment` is its virtual time (`2031-03-03T09:00:20Z`).

    Any thread may use it. The rows of a statement are read to the end before another thread gets its turn.
    """

    __slots__ = ("__weakref__", "_connection", "_guard", "moment")

    def __init__(
        self,
        content: bytes | None = None,
        *,
        moment: str = "",
        backwards: bool = False,
        connection: sqlite3.Connection | None = None,
        steps: int = MAX_STEPS,
        longest: float = LONGEST,
    ) -> None:
        """Open an empty database, open a copy of `content` (from `serialize`), or guard an open `connection`.

        `backwards` reverses the order of rows wherever SQL leaves it open. A statement may take `steps` times STEP_OPS operations,
        and `longest` seconds.
        """
        own = connection is None
        connection = connection or sqlite3.connect(
            ":memory:", isolation_level=None, cached_statements=48, check_same_thread=False
        )
        if content is not None:
            connection.deserialize(content)
        # 64 KiB: thousands of forks are open at once, and the content is in memory anyway.
        connection.execute("pragma cache_size=-64")
        connection.execute("pragma foreign_keys=on")
        # Without it INSERT OR REPLACE would remove rows without firing the triggers of the change log.
        connection.execute("pragma recursive_triggers=on")
        if own:
            # Otherwise large sorts would write files on the host.
            connection.execute("pragma temp_store=memory")
            connection.execute(f"pragma max_page_count={MAX_PAGES}")
        if backwards:
            connection.execute("pragma reverse_unordered_selects=on")
        for limit, value in (
            (sqlite3.SQLITE_LIMIT_LENGTH, MAX_LENGTH),
            (sqlite3.SQLITE_LIMIT_COLUMN, MAX_COLUMNS),
            (sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, MAX_PATTERN),
            (sqlite3.SQLITE_LIMIT_ATTACHED, 0),
        ):
            connection.setlimit(limit, value)
        self.moment = moment
        self._connection = connection
        guard = self._guard = _Guard(connection, steps, longest)
        install(connection, guard.now)
        for name, length in (("current_timestamp", 20), ("current_date", 10)):
            connection.create_function(name, 0, guard.begins_with(length))
        connection.set_authorizer(guard.authorize)
        connection.set_progress_handler(guard.count, STEP_OPS)

    def view(self) -> Database:
        """Return the same database with its own time, for a state that only reads."""
        other = Database.__new__(Database)
        other.moment, other._connection, other._guard = self.moment, self._connection, self._guard
        return other

    @property
    def lock(self) -> RLock:
        """The lock that keeps other threads from the database."""
        return self._guard.lock

    def run(self, sql: str, parameters: Values = (), *, mode: Mode = Mode.READ) -> int:
        """Run one statement and return the number of rows written.

        This and the following methods raise sqlite3.Error; `is_interruption` tells a statement that takes too much.
        """
        return self._carried_out(sql, parameters, mode, lambda cursor: cursor.rowcount)

    def first(self, sql: str, parameters: Values = (), *, mode: Mode = Mode.READ) -> Row | None:
        """Return the first row of one statement, which is then abandoned; None without rows."""
        return self._carried_out(sql, parameters, mode, sqlite3.Cursor.fetchone)

    def fetch(self, sql: str, parameters: Values = (), *, mode: Mode = Mode.READ) -> list[Row]:
        """Return the rows of one statement."""
        return self._carried_out(sql, parameters, mode, all_rows)

    def count(self, sql: str, parameters: Mapping[str, JsonValue]) -> int:
        """Return how many rows a SELECT gives, for a database that has no other writers.

        A count is kept until something is written or undone: whoever turns the pages of a list asks for the same one each time.
        """
        guard = self._guard
        with guard.lock:
            key = f"{sql}\n{sorted(parameters.items())!r}"
            known = guard.counts.get(key)
            if known is None:
                told = guard.told
                row = self.first(f"select count(*) from ({sql})", parameters)
                known = 0 if row is None else int(row[0])
                if guard.told == told:
                    guard.counts[key] = known
                if len(guard.counts) > MOST_COUNTS:
                    del guard.counts[next(iter(guard.counts))]
            return known

    def columns(self, sql: str, parameters: Values = ()) -> list[str]:
        """Return the column names of a SELECT without running it."""
        return self._carried_out(f"select * from ({sql}) limit 0", parameters, Mode.READ, _names)

    def rows(self, sql: str, parameters: Values = (), *, mode: Mode = Mode.READ) -> list[JsonObject]:
        """Return the rows of one statement as objects."""
        names, found = self._carried_out(sql, parameters, mode, _described)
        return [dict(zip(names, row, strict=True)) for row in found]

    def objects(self, sql: str, parameters: Mapping[str, JsonValue] | None) -> list[JsonObject]:
        """Return the rows of a SELECT as JSON objects. Raises InputError, also for bytes, which JSON lacks."""
        try:
            found = self.rows(sql, parameters or {})
        except (sqlite3.Error, OverflowError) as error:
            raise InputError(f"the SQL fails: {explain(error)}") from None
        for name in (name for row in found for name, value in row.items() if isinstance(value, bytes)):
            raise InputError(f"the SQL fails: the column {name!r} gives bytes (a blob); ask for hex({name})")
        return found

    def described(self, table: str, columns: Iterable[str], *, rows: int) -> list[str]:
        """Return lines of text about a table: how many rows it has, some of its columns, and its first rows."""
        count = self.rows(f'select count(*) as n from "{table}"')[0]["n"]
        shown = self.rows(f'select * from "{table}" order by rowid limit {rows}')
        lines = (", ".join(f"{name}={value}" for name, value in row.items()) for row in shown)
        return [f"Table {table}: {count} rows ({', '.join(columns)})", *(f"  {line}" for line in lines)]

    def _carried_out(self, sql: str, parameters: Values, mode: Mode, take: Callable[[sqlite3.Cursor], T]) -> T:
        guard = self._guard
        with guard.lock:
            guard.moment, guard.mode, guard.left = self.moment, mode, guard.steps
            guard.number += 1
            if not guard.watched:
                guard.watch()
            cursor = None
            try:
                cursor = self._connection.execute(sql, parameters)  # pyright: ignore[reportArgumentType]
                found = take(cursor)
                # Closed here, under the lock: the garbage collector may free a cursor in any thread.
                cursor.close()
                return found
            except Exception as error:
                if cursor is not None:
                    cursor.close()
                if "vtable constructor failed" not in str(error):
                    raise self._named(error) from None
            finally:
                # Even again: the watchdog reads an odd number as a running statement.
                guard.number += 1
                if mode is not Mode.READ:
                    guard.counts.clear()
            self._declare_json_tables()
            return self._carried_out(sql, parameters, mode, take)

    def _named(self, error: Exception) -> Exception:
        """Return the sqlite3.Error that says best what happened."""
        if isinstance(error, MemoryError) or (str(error) == _INTERRUPTED and self._guard.left >= 0):
            return sqlite3.OperationalError(_TOO_MUCH)
        if isinstance(error, UnicodeError):
            return sqlite3.DataError("a text holds half a character (a surrogate)")
        # Python 3.11 raises sqlite3.Warning, which is no sqlite3.Error, for several statements in one.
        return sqlite3.ProgrammingError(str(error)) if isinstance(error, sqlite3.Warning) else error

    def _declare_json_tables(self) -> None:
        # SQLite declares json_each and json_tree on first use, with SQL of its own that the authorizer refuses.
        self._connection.set_authorizer(None)
        try:
            self._connection.execute("select 1 from json_each('[]'), json_tree('[]')").close()
        finally:
            self._connection.set_authorizer(self._guard.authorize)

    def columns_read(self, sql: str, parameters: Mapping[str, JsonValue]) -> frozenset[tuple[str, str]]:
        """Return the (table, column) pairs that a SELECT reads, as SQLite's authorizer reports them."""
        found: set[tuple[str, str]] = set()
        guard = self._guard

        def note(action: int, first: str | None, second: str | None, database: str | None, trigger: str | None) -> int:
            if action == sqlite3.SQLITE_READ and first and second and not first.startswith(("sqlite_", RESERVED)):
                found.add((first, second))
            return guard.authorize(action, first, second, database, trigger)

        with guard.lock:
            self._connection.set_authorizer(note)
            try:
                # The trailing comment changes the text, so that the statement is prepared again: the authorizer is not asked for a
                # cached one.
                self.run(f"explain {sql}\n-- columns", parameters)
            finally:
                self._connection.set_authorizer(guard.authorize)
        return frozenset(found)

    def savepoint(self, name: str, *, keep: bool) -> AbstractContextManager[None]:
        """Return a block that is rolled back on an exception, and at its end unless `keep`. It holds the lock throughout."""
        return _Savepoint(self._connection, self._guard, name, keep)

    def serialize(self) -> bytes:
        """Return the whole database as bytes."""
        with self._guard.lock:
            # SQLite refuses to serialize under an authorizer.
            self._connection.set_authorizer(None)
            try:
                return self._connection.serialize()
            finally:
                self._connection.set_authorizer(self._guard.authorize)

    def back_up(self, target: sqlite3.Connection, *, pages: int) -> None:
        """Copy the whole database into another connection, `pages` pages at a time."""
        with self._guard.lock:
            self._connection.backup(target, pages=pages)

    def close(self) -> None:
        """Close the connection and free its memory."""
        with self._guard.lock:
            self._connection.close()


class _Savepoint:
    """See `Database.savepoint`. A class, since every writing call uses one and a generator would cost more than the savepoint."""

    __slots__ = ("_connection", "_guard", "_keep", "_name")

    def __init__(self, connection: sqlite3.Connection, guard: _Guard, name: str, keep: bool) -> None:
        self._connection = connection
        self._guard = guard
        self._name = name
        self._keep = keep

    def __enter__(self) -> None:
        self._guard.lock.acquire()
        try:
            self._mark(f"savepoint {self._name}")
        except BaseException:
            self._guard.lock.release()
            raise

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        try:
            if kind is not None or not self._keep:
                self._undo()
                return
            try:
                self._mark(f"release {self._name}")
            except BaseException:
                self._undo()
                raise
        finally:
            self._guard.lock.release()

    def _undo(self) -> None:
        # SQLite rolls the whole transaction back by itself when a write is interrupted.
        if self._connection.in_transaction:
            self._mark(f"rollback to {self._name}")
            self._mark(f"release {self._name}")
        self._guard.counts.clear()

    def _mark(self, sql: str) -> None:
        # Not through `_carried_out`: it takes no time that would need watching, and the lock is already held.
        self._guard.mode = Mode.OWN
        self._guard.left = self._guard.steps
        self._connection.execute(sql).close()


def _names(cursor: sqlite3.Cursor) -> list[str]:
    return [column[0] for column in cursor.description or ()]


def _described(cursor: sqlite3.Cursor) -> tuple[list[str], list[Row]]:
    return _names(cursor), all_rows(cursor)


def is_interruption(error: sqlite3.Error) -> bool:
    """Return True if a query was cut off because it took too much time or memory."""
    return str(error) in (_INTERRUPTED, _TOO_MUCH)


def explain(error: Exception) -> str:
    """Return a SQLite error as one line for the author."""
    return "the query takes too many steps" if str(error) == _INTERRUPTED else str(error)
