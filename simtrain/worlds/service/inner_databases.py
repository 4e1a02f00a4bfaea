"""The SQL function `query_database`: the rows of a SELECT over a database that lies in a cell of a world, such as a file of a machine."""

import json
import sqlite3
from base64 import b64decode
from binascii import Error
from functools import lru_cache

MOST_STEPS = 2_000_000
"""Instructions of SQLite's virtual machine that one SELECT may take."""
MOST_ROWS = 20_000
_EACH = 10_000
_MARK = b"SQLite format 3\0"
_ALLOWED = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE, sqlite3.SQLITE_FUNCTION})
_PRAGMAS = frozenset({"table_info", "table_xinfo", "index_list", "index_info", "foreign_key_list", "integrity_check"})


@lru_cache(maxsize=32)
def query_database(content: str | None, sql: str) -> str | None:
    """Return the rows as a JSON array of objects, without spaces; bytes as hexadecimal digits.

    `content` is the database in base64. None if it is no database, or if the SELECT fails or takes too much: an agent may have left
    anything there, and what is not found is not there.
    """
    if not content:
        return None
    try:
        data = b64decode(content, validate=True)
    except (Error, ValueError):
        return None
    if not data.startswith(_MARK):
        return None
    database = sqlite3.connect(":memory:", isolation_level=None)
    steps = [0]

    def count() -> int:
        steps[0] += _EACH
        return int(steps[0] > MOST_STEPS)

    try:
        database.deserialize(data)
        database.execute("pragma trusted_schema=off")
        database.set_authorizer(_authorize)
        database.set_progress_handler(count, _EACH)
        cursor = database.execute(sql)
        names = [column[0] for column in cursor.description or ()]
        rows = cursor.fetchmany(MOST_ROWS)
    except sqlite3.Error:
        return None
    finally:
        database.close()
    shown = [{name: _shown(cell) for name, cell in zip(names, row, strict=True)} for row in rows]
    return json.dumps(shown, ensure_ascii=False, separators=(",", ":"))


def _authorize(action: int, first: str | None, second: str | None, *_: str | None) -> int:
    if action == sqlite3.SQLITE_PRAGMA:
        return sqlite3.SQLITE_OK if first in _PRAGMAS else sqlite3.SQLITE_DENY
    if action == sqlite3.SQLITE_UPDATE:
        # So SQLite declares the table `pragma_table_info` and its kin. Without a pragma nobody writes there.
        return sqlite3.SQLITE_OK if first == "sqlite_master" else sqlite3.SQLITE_DENY
    return sqlite3.SQLITE_OK if action in _ALLOWED and second != "load_extension" else sqlite3.SQLITE_DENY


def _shown(cell: int | float | str | bytes | None) -> int | float | str | None:
    return cell.hex() if isinstance(cell, bytes) else cell
