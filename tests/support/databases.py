"""SQLite databases that tests look into."""

from __future__ import annotations

import sqlite3
from pathlib import Path


class _Opened(sqlite3.Connection):
    """A connection that is closed when nothing refers to it any more; Python 3.13 warns of others."""

    def __del__(self) -> None:
        self.close()


def open_database(path: Path | str = ":memory:", *, autocommit: bool = False) -> sqlite3.Connection:
    """Return a connection to a file, or to a database in memory."""
    # The garbage collector may close it from any thread.
    return sqlite3.connect(path, isolation_level=None if autocommit else "", factory=_Opened, check_same_thread=False)
