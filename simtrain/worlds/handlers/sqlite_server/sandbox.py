"""Runs an agent's SQL in an in-memory SQLite with virtual time, without access to anything outside and with limited
resources.
"""

import sqlite3
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from functools import partial
from itertools import count

from simtrain.values.seeding import derive
from simtrain.values.types import JsonObject
from simtrain.worlds.service.database import MAX_STEPS, STEP_OPS, Cell
from simtrain.worlds.service.functions import install
from simtrain.worlds.service.watch import RunningStatement

COMMITTED = ("INSERT", "UPDATE", "DELETE", "CREATE", "DROP", "ALTER")
"""The beginnings of statements that the server commits and counts. Others may write too, but are never committed."""

# Limits of one statement: pages of the database (of 4 KiB), bytes of a value, and bytes of memory for the result.
MAX_PAGES = 8192
MAX_VALUE = 256_000
MAX_RESULT = 16_000_000
_LIMITS: Mapping[int, int] = {
    sqlite3.SQLITE_LIMIT_LENGTH: MAX_VALUE,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 200_000,
    sqlite3.SQLITE_LIMIT_COLUMN: 200,
    # ATTACH opens files of the host by name.
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    # Views of views of views take their time while they are prepared, and nothing interrupts that.
    sqlite3.SQLITE_LIMIT_VDBE_OP: 25_000,
    # A pattern with many wildcards takes exponential time in one step.
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 100,
}

_ALLOWED = frozenset(
    {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE, sqlite3.SQLITE_INSERT,
     sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE, sqlite3.SQLITE_TRANSACTION, sqlite3.SQLITE_SAVEPOINT,
     sqlite3.SQLITE_REINDEX, sqlite3.SQLITE_DETACH, sqlite3.SQLITE_CREATE_TABLE, sqlite3.SQLITE_CREATE_INDEX,
     sqlite3.SQLITE_CREATE_VIEW, sqlite3.SQLITE_CREATE_TRIGGER, sqlite3.SQLITE_CREATE_TEMP_TABLE,
     sqlite3.SQLITE_CREATE_TEMP_INDEX, sqlite3.SQLITE_CREATE_TEMP_VIEW, sqlite3.SQLITE_CREATE_TEMP_TRIGGER,
     sqlite3.SQLITE_DROP_TABLE, sqlite3.SQLITE_DROP_INDEX, sqlite3.SQLITE_DROP_VIEW, sqlite3.SQLITE_DROP_TRIGGER,
     sqlite3.SQLITE_DROP_TEMP_TABLE, sqlite3.SQLITE_DROP_TEMP_INDEX, sqlite3.SQLITE_DROP_TEMP_VIEW,
     sqlite3.SQLITE_DROP_TEMP_TRIGGER, sqlite3.SQLITE_ALTER_TABLE}
)  # fmt: skip
# Bytes that a dict takes beside its values.
_ROW_COST = 200
# These load code, reach the host's files and programs, or write to the log.
_REFUSED_FUNCTIONS = frozenset({"load_extension", "fts3_tokenizer", "readfile", "writefile", "edit", "sqlite_log"})
_LISTING_PRAGMAS = frozenset(
    {"table_info", "table_xinfo", "table_list", "index_list", "index_info", "index_xinfo", "foreign_key_list",
     "foreign_key_check", "integrity_check", "quick_check"}
)  # fmt: skip
_READ_ONLY_PRAGMAS = frozenset(
    {"foreign_keys", "encoding", "page_size", "user_version", "application_id", "collation_list"}
)
"""Pragmas that may only be read. Those above may have an argument too: it names a table or index, and sets nothing."""


class Sandbox:
    """One statement's database: a copy of `image` (from `serialize`) with the virtual time `now`,
    `2031-03-03T09:00:20Z`.
    """

    def __init__(self, image: bytes, *, now: str) -> None:
        connection = self.connection = sqlite3.connect(":memory:", check_same_thread=False)
        connection.deserialize(image)
        connection.execute(f"pragma max_page_count = {MAX_PAGES}").close()
        # Otherwise large sorts would go to files of the host.
        connection.execute("pragma temp_store = memory").close()
        connection.row_factory = sqlite3.Row
        for limit, most in _LIMITS.items():
            connection.setlimit(limit, most)
        tell_time(connection, now)
        self._now = now

    def run(self, sql: str) -> list[JsonObject]:
        """Run one statement as the server does, and return its rows, or the number affected. Raises sqlite3.Error, sqlite3.Warning."""
        self._guard(sql)
        cursor = self.connection.cursor()
        try:
            with limited(self.connection):
                cursor.execute(sql)
                if sql.strip().upper().startswith(COMMITTED):
                    self.connection.commit()
                    return [{"affected_rows": cursor.rowcount}]
                return _fetched(cursor)
        finally:
            cursor.close()
            self._release()

    def _guard(self, sql: str) -> None:
        draws = count()

        # SQLite seeds its own from the operating system; drawn from time and statement, a replay gives the same rows.
        def random() -> int:
            return derive(0, "sqlite", self._now, sql, next(draws)) - 2**63

        def random_bytes(length: int) -> bytes:
            size = min(max(length, 1), MAX_VALUE)
            return b"".join(random().to_bytes(8, "big", signed=True) for _ in range(-(-size // 8)))[:size]

        self.connection.create_function("random", 0, random)
        self.connection.create_function("randomblob", 1, random_bytes)
        self.connection.set_authorizer(_authorize)

    def _release(self) -> None:
        """Roll back what was not committed: the server opens a connection for each call, and loses it."""
        self.connection.set_authorizer(None)
        self.connection.rollback()

    def close(self) -> None:
        """Free the memory."""
        self.connection.close()


def tell_time(connection: sqlite3.Connection, now: str) -> None:
    """Make `now` the time in a connection's SQL, with UTC as local time."""
    install(connection, lambda: now, local=True)
    written = now[:19].replace("T", " ")
    for name, value in (("timestamp", written), ("date", written[:10]), ("time", written[11:])):
        connection.create_function(f"current_{name}", 0, partial(str, value))


@contextmanager
def limited(connection: sqlite3.Connection) -> Generator[None]:
    """Limit the block's SQL as all SQL of worlds: in steps, time and memory."""
    counted = count(1)
    connection.set_progress_handler(lambda: next(counted) > MAX_STEPS, STEP_OPS)
    try:
        with RunningStatement(connection).under_way():
            yield
    except MemoryError:
        raise sqlite3.OperationalError("interrupted") from None
    finally:
        connection.set_progress_handler(None, 0)


def _authorize(action: int, first: str | None, second: str | None, *_: str | None) -> int:
    if action in _ALLOWED:
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_FUNCTION:
        refused = (second or "").lower() in _REFUSED_FUNCTIONS
        return sqlite3.SQLITE_DENY if refused else sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_PRAGMA:
        name = (first or "").lower()
        known = name in _LISTING_PRAGMAS or (name in _READ_ONLY_PRAGMAS and second is None)
        return sqlite3.SQLITE_OK if known else sqlite3.SQLITE_DENY
    return sqlite3.SQLITE_DENY


def _fetched(cursor: sqlite3.Cursor) -> list[JsonObject]:
    """Return all rows. A result that grows too large is interrupted like a statement that takes too long."""
    found: list[JsonObject] = []
    size = 0
    for row in cursor:
        found.append(dict(row))
        size += _ROW_COST + sum(_size(value) for value in found[-1].values())
        if size > MAX_RESULT:
            raise sqlite3.OperationalError("interrupted")
    return found


def _size(value: Cell) -> int:
    # At most four bytes a character.
    return 4 * len(value) if isinstance(value, str | bytes) else 32
