"""A guarded SQLite connection: only what a world needs, only virtual time, only so many steps."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from enum import IntEnum
from functools import lru_cache, partial
from itertools import islice
from typing import TypeAlias, cast

from simtrain.types import JsonObject, JsonValue

Cell: TypeAlias = int | float | str | bytes | None

RESERVED = "_simtrain"
SEQUENCE = f"{RESERVED}_sequence"
STEP_OPS = 1000
MAX_STEPS = 5000
MOST_ROWS = 2_000_000
MAX_LENGTH = 4_000_000


class Mode(IntEnum):
    """What the SQL being prepared may do."""

    READ = 0
    WRITE = 1
    SCHEMA = 2
    OWN = 3


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
_TIME_FUNCTIONS = {"date": 0, "time": 0, "datetime": 0, "julianday": 0, "unixepoch": 0, "strftime": 1}

# The only place that reads SQLite's own date functions; everything else gets the overrides below.
_pristine = sqlite3.connect(":memory:", check_same_thread=False)


@lru_cache(maxsize=8192)
def _evaluate_time(name: str, arguments: tuple[Cell, ...]) -> Cell:
    marks = ",".join("?" * len(arguments))
    return cast(Cell, _pristine.execute(f"select {name}({marks})", arguments).fetchone()[0])


def time_functions(now: Callable[[], str], *, local: bool = False) -> dict[str, Callable[..., Cell]]:
    """SQLite's date functions, by name, told the time by `now()`. With `local` there is a local time, and it is UTC."""
    return {name: partial(_tell_time, name, place, now, local) for name, place in _TIME_FUNCTIONS.items()}


def _tell_time(name: str, place: int, now: Callable[[], str], local: bool, *arguments: Cell) -> Cell:
    given = list(arguments if len(arguments) > place else (*arguments, "now"))
    for index, argument in reversed(list(enumerate(given))):
        lowered = argument.strip().lower() if isinstance(argument, str) else None
        if lowered == "now":
            given[index] = now()
        elif lowered in ("localtime", "utc"):
            if not local:
                raise ValueError("there is no local time in a world")
            del given[index]
    return _evaluate_time(name, tuple(given))


class Database:
    """One in-memory database. `moment` is the virtual time (`2031-03-03T09:00:20Z`) that its SQL sees."""

    __slots__ = ("__weakref__", "_connection", "_left", "_mode", "_steps", "moment")

    def __init__(
        self,
        content: bytes | None = None,
        *,
        moment: str = "",
        backwards: bool = False,
        connection: sqlite3.Connection | None = None,
        steps: int = MAX_STEPS,
    ) -> None:
        """Open an empty database, a copy of `content` (as `serialize` returns it), or guard a `connection` that is open.

        `backwards` reverses every order left open; a statement may take `steps` times STEP_OPS operations.
        """
        connection = connection or sqlite3.connect(
            ":memory:", isolation_level=None, cached_statements=48, check_same_thread=False
        )
        if content is not None:
            connection.deserialize(content)
        connection.execute("pragma cache_size=-64")
        connection.execute("pragma foreign_keys=on")
        # Without it the rows that INSERT OR REPLACE removes would not be noted as changes.
        connection.execute("pragma recursive_triggers=on")
        if backwards:
            connection.execute("pragma reverse_unordered_selects=on")
        self.moment = moment
        self._connection = connection
        self._mode = Mode.READ
        self._left = self._steps = steps
        for limit, value in ((sqlite3.SQLITE_LIMIT_LENGTH, MAX_LENGTH), (sqlite3.SQLITE_LIMIT_ATTACHED, 0)):
            connection.setlimit(limit, value)
        for name, function in time_functions(lambda: self.moment).items():
            connection.create_function(name, -1, function, deterministic=True)
        for name, length in (("current_timestamp", 20), ("current_date", 10)):
            connection.create_function(name, 0, self._current(length))
        connection.set_authorizer(self._authorize)
        connection.set_progress_handler(self._count, STEP_OPS)

    def _current(self, length: int):
        return lambda: self.moment[:length]

    def _count(self) -> int:
        self._left -= 1
        return self._left < 0

    def _authorize(self, action: int, first: str | None, second: str | None, _: str | None, trigger: str | None) -> int:
        if self._mode is Mode.OWN or (trigger is not None and trigger.startswith(RESERVED)):
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_FUNCTION:
            return sqlite3.SQLITE_DENY if (second or "").lower() in _REFUSED_FUNCTIONS else sqlite3.SQLITE_OK
        if (first or "").startswith(RESERVED):
            return sqlite3.SQLITE_DENY
        if action in _READING:
            return sqlite3.SQLITE_OK
        if action in _WRITING:
            inner = (first or "").startswith("sqlite_")
            allowed = self._mode is Mode.SCHEMA or (self._mode is Mode.WRITE and not inner)
            return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY
        return sqlite3.SQLITE_OK if action in _DEFINING and self._mode is Mode.SCHEMA else sqlite3.SQLITE_DENY

    def run(
        self, sql: str, parameters: Mapping[str, JsonValue] | Iterable[Cell] = (), *, mode: Mode = Mode.READ
    ) -> sqlite3.Cursor:
        """Carry out one statement. Raises sqlite3.Error, `interrupted` among them when it takes too many steps."""
        self._mode = mode
        self._left = self._steps
        try:
            return self._connection.execute(sql, parameters)  # pyright: ignore[reportArgumentType]
        except sqlite3.OperationalError as error:
            if "vtable constructor failed" not in str(error):
                raise
        except sqlite3.Warning as error:
            # Python 3.11 says so, of all mistakes, outside of sqlite3.Error: several statements in one.
            raise sqlite3.ProgrammingError(str(error)) from None
        self._declare_json_tables()
        return self._connection.execute(sql, parameters)  # pyright: ignore[reportArgumentType]

    def _declare_json_tables(self) -> None:
        # SQLite declares json_each and json_tree at their first use, by SQL of its own that the authorizer would refuse.
        self._connection.set_authorizer(None)
        try:
            self._connection.execute("select 1 from json_each('[]'), json_tree('[]')").close()
        finally:
            self._connection.set_authorizer(self._authorize)

    def rows(
        self, sql: str, parameters: Mapping[str, JsonValue] | Iterable[Cell] = (), *, mode: Mode = Mode.READ
    ) -> list[JsonObject]:
        """The rows of one statement as objects. Raises sqlite3.OperationalError for more than fit into memory."""
        cursor = self.run(sql, parameters, mode=mode)
        names = [column[0] for column in cursor.description or ()]
        found = [dict(zip(names, row, strict=True)) for row in islice(cursor, MOST_ROWS)]
        if len(found) == MOST_ROWS:
            raise sqlite3.OperationalError(f"{MOST_ROWS:,} rows or more")
        return found

    def columns_read(self, sql: str, parameters: Mapping[str, JsonValue]) -> frozenset[tuple[str, str]]:
        """The (table, column) pairs that preparing a SELECT touches."""
        found: set[tuple[str, str]] = set()

        def note(action: int, first: str | None, second: str | None, database: str | None, trigger: str | None) -> int:
            if action == sqlite3.SQLITE_READ and first and second and not first.startswith(("sqlite_", RESERVED)):
                found.add((first, second))
            return self._authorize(action, first, second, database, trigger)

        self._connection.set_authorizer(note)
        try:
            # The trailing comment changes the text, so that it is prepared anew and not taken from the statement cache.
            self.run(f"explain {sql}\n-- columns", parameters)
        finally:
            self._connection.set_authorizer(self._authorize)
        return frozenset(found)

    @contextmanager
    def savepoint(self, name: str, *, keep: bool) -> Generator[None]:
        """A block that is one unit: undone on an exception, and at its end unless `keep`."""
        self.run(f"savepoint {name}", mode=Mode.OWN)
        try:
            yield
            if keep:
                self.run(f"release {name}", mode=Mode.OWN)
        except BaseException:
            self._undo(name)
            raise
        if not keep:
            self._undo(name)

    def _undo(self, name: str) -> None:
        self.run(f"rollback to {name}", mode=Mode.OWN)
        self.run(f"release {name}", mode=Mode.OWN)

    def serialize(self) -> bytes:
        """The whole database as bytes."""
        # SQLite refuses to serialize under an authorizer.
        self._connection.set_authorizer(None)
        try:
            return self._connection.serialize()
        finally:
            self._connection.set_authorizer(self._authorize)

    def close(self) -> None:
        """Free the memory."""
        self._connection.close()


def is_interruption(error: sqlite3.Error) -> bool:
    """Whether a query was cut off because it took too many steps."""
    return str(error) == "interrupted"


def explain(error: sqlite3.Error) -> str:
    """A SQLite error in one line, for an author."""
    return "the query takes too many steps" if is_interruption(error) else str(error)
