"""The watchdog of running SQL: it interrupts statements that take too long or make the process grow too much.

SQLite counts operations, but a single one may take a tenth of a second, so that a count alone does not bound time. A second thread
therefore watches all running statements. It exists only while there are some.
"""

import os
import sqlite3
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic, process_time
from typing import Final

from simtrain.values.watchdog import Watchdog

LONGEST: Final = 1.5
"""Seconds of CPU time that a statement may take. As the watchdog looks at intervals, it is interrupted within two."""
PATIENCE: Final = 3
"""How many times LONGEST of wall-clock time a statement may take, since other processes may use the CPU."""
MOST_GROWTH: Final = 256_000_000
"""Bytes that the process may grow by during a statement: sorting, temporary tables, and result rows."""

_STATUS = Path("/proc/self/status")


class RunningStatement:
    """A connection that runs one statement at a time. `number` is odd while one is running.

    Callers that run thousands of statements increase `number` themselves, and call `watch` if it is not `watched`.
    """

    __slots__ = ("connection", "longest", "number", "watched")

    def __init__(self, connection: sqlite3.Connection, *, longest: float = LONGEST) -> None:
        self.connection = connection
        self.longest = longest
        self.number = 0
        self.watched = False

    @contextmanager
    def under_way(self) -> Generator[None]:
        """Return the block in which the statement runs."""
        self.number += 1
        self.watch()
        try:
            yield
        finally:
            self.number += 1

    def watch(self) -> None:
        """Register with the watchdog, until it sees that no statement is running."""
        self.watched = True
        _watched.add(self)
        if not _watchdog.runs:
            _watchdog.start()


def _look() -> bool:
    """Interrupt work over its limit, and note the number of what is under way with its time and memory at first sight."""
    global _seen
    seen, found = _seen, _Seen()
    now, computed, size = monotonic(), process_time(), -1
    for one in list(_watched):
        number = one.number
        if number % 2 == 0:
            _let_go(one)
            continue
        size = _resident() if size < 0 else size
        known = seen.get(one)
        since, worked, before = known[1:] if known is not None and known[0] == number else (now, computed, size)
        found[one] = (number, since, worked, before)
        # The time of the process holds that of its other threads too, so what has passed counts as well.
        taken = max(min(now - since, computed - worked), (now - since) / PATIENCE)
        if taken > one.longest or size - before > MOST_GROWTH:
            # It may have ended, and its connection may be closed by now.
            with suppress(sqlite3.Error):
                one.connection.interrupt()
    _seen = found
    return bool(_watched)


def _let_go(one: RunningStatement) -> None:
    one.watched = False
    _watched.discard(one)
    if one.number % 2:
        one.watch()


def _resident() -> int:
    """Return the memory of this process in bytes, without mapped files; 0 if the system does not tell."""
    if sys.platform != "linux":
        return 0
    with suppress(OSError, ValueError):
        for line in _STATUS.read_text().splitlines():
            if line.startswith("RssAnon:"):
                return int(line.split()[1]) * 1024
    return 0


_Seen = dict[RunningStatement, tuple[int, float, float, int]]
_seen = _Seen()
_watched: set[RunningStatement] = set()
_watchdog = Watchdog(_look, name="watch over SQL", every=0.1, patience=20)
os.register_at_fork(after_in_child=_watched.clear)
