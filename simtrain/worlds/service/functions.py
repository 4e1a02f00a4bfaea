"""SQL functions that replace SQLite's own: dates in virtual time, and functions of quadratic cost with a limit; and one of our own."""

import sqlite3
from collections.abc import Callable
from functools import lru_cache, partial
from threading import Lock
from typing import Final, TypeAlias

from simtrain.worlds.service.inner_databases import query_database

Cell: TypeAlias = int | float | str | bytes | None

_TIME_FUNCTIONS: Final = {"date": 0, "time": 0, "datetime": 0, "julianday": 0, "unixepoch": 0, "strftime": 1}
_SQUARE: Final = {"trim": 1e8, "ltrim": 1e8, "rtrim": 1e8, "json_patch": 3e10}
"""Functions of two texts, with the largest product of their lengths: about a quarter of a second of work."""

# A connection without the overrides below, to call SQLite's own functions of the same names.
_pristine = sqlite3.connect(":memory:", check_same_thread=False)
_asking = Lock()


def install(connection: sqlite3.Connection, now: Callable[[], str], *, local: bool = False) -> None:
    """Register the functions with a connection; `now()` returns the time (`2031-03-03T09:00:20Z`).

    With `local`, local time exists and is UTC.
    """
    install_time(connection, now, local=local)
    connection.create_function("query_database", 2, query_database, deterministic=True)
    for name, most in _SQUARE.items():
        connection.create_function(name, 2, partial(_bounded, name, most), deterministic=True)


def install_time(connection: sqlite3.Connection, now: Callable[[], str], *, local: bool) -> None:
    """Register those that tell the time."""
    # Declared deterministic so that they may be used in indexes and generated columns, as in plain SQLite.
    for name, place in _TIME_FUNCTIONS.items():
        connection.create_function(name, -1, partial(_tell_time, name, place, now, local), deterministic=True)


def _ask(name: str, arguments: tuple[Cell, ...]) -> Cell:
    marks = ",".join("?" * len(arguments))
    with _asking:
        return _pristine.execute(f"select {name}({marks})", arguments).fetchone()[0]


def _bounded(name: str, most: float, first: Cell, second: Cell) -> Cell:
    if isinstance(first, str | bytes) and isinstance(second, str | bytes) and len(first) * len(second) > most:
        raise ValueError(f"the texts of {name} are too long")
    return _ask(name, (first, second))


_evaluate_time = lru_cache(maxsize=8192)(_ask)


def _tell_time(name: str, place: int, now: Callable[[], str], local: bool, *arguments: Cell) -> Cell:
    given = list(arguments if len(arguments) > place else (*arguments, "now"))
    # Backwards, since arguments are deleted on the way.
    for index, argument in reversed(list(enumerate(given))):
        lowered = argument.strip().lower() if isinstance(argument, str) else None
        if lowered == "now":
            given[index] = now()
        elif lowered in ("localtime", "utc"):
            if not local:
                raise ValueError("there is no local time in a world")
            del given[index]
    return _evaluate_time(name, tuple(given))
