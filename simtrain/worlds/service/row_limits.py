"""The rows of one statement, as many as memory allows."""

import sqlite3
from typing import Any, TypeAlias

import orjson

Row: TypeAlias = tuple[Any, ...]

MOST_ROWS = 1_000_000
MOST_BYTES = 256_000_000
"""Most memory for the rows of one statement, in bytes."""

# Rows per fetch; fewer than that need no measuring.
_FEW = 100
# Bytes that CPython takes for a tuple and for a small object in it, about.
_ROW_COST, _CELL_COST = 120, 60


def all_rows(cursor: sqlite3.Cursor) -> list[Row]:
    """Return all rows. Raises sqlite3.OperationalError for more than are allowed."""
    found = cursor.fetchmany(_FEW)
    if len(found) < _FEW:
        # The usual case costs nothing: the size of so few rows is bounded by the length of a value.
        return found
    size, more = 0, found
    while more:
        size += _size(more)
        if len(found) > MOST_ROWS:
            raise sqlite3.OperationalError(f"more than {MOST_ROWS:,} rows")
        if size > MOST_BYTES:
            raise sqlite3.OperationalError(f"rows of more than {MOST_BYTES // 1_000_000} MB")
        more = cursor.fetchmany(_FEW)
        found.extend(more)
    return found


def _size(rows: list[Row]) -> int:
    """Return the estimated memory of some rows as Python objects, in bytes."""
    # Encoding as JSON is the fastest way to add up the lengths of all texts. Bytes count with their repr.
    return len(orjson.dumps(rows, default=repr)) + len(rows) * (_ROW_COST + _CELL_COST * len(rows[0]))
