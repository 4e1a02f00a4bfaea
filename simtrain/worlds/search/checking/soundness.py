"""Checks that a file can be checked at all: it has the tables that it names, and its pages are texts numbered from 1."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

from simtrain.values.errors import InputError
from simtrain.worlds.search.file import AGAIN

_NO_TEXT = "select id from _pages where " + " or ".join(
    f"typeof({column}) <> 'text'" for column in ("url", "title", "kind", "body")
)
_NO_JSON = (
    "select page, '_targets' from _targets where not json_valid(targets) union all "
    "select page, '_mentions' from _mentions where not json_valid(coalesce(claims, '{}'))"
)
_PSEUDO = {"_page": "_pages", "_site": "_sites"}


def refuse_unsound(connection: sqlite3.Connection, path: Path) -> None:
    """Raise an InputError for a file that contradicts its own tables."""
    problem = next(_problems(connection), None)
    if problem is not None:
        raise InputError(f"the world file is damaged: {problem}", remedy=AGAIN, file=path)


def _problems(connection: sqlite3.Connection) -> Iterator[str]:
    columns: dict[str, set[str]] = {}
    for table, column in connection.execute(
        "select m.name, c.name from sqlite_master m join pragma_table_info(m.name) c where m.type in ('table', 'view')"
    ):
        columns.setdefault(table, set()).add(column)
    for (kind,) in connection.execute("select name from _types where kind in ('entity', 'relation') order by name"):
        if kind not in columns:
            yield f"it has no table {kind}"
    for kind, name in connection.execute("select type, name from _attributes order by id"):
        table = _PSEUDO.get(str(kind), str(kind))
        if name not in columns.get(table, ()):
            yield f"its table {table} has no column {name}"
    for page, table in connection.execute(_NO_JSON):
        yield f"the entry of page {page} in {table} is not JSON"
    pages, first, last = connection.execute("select count(*), min(id), max(id) from _pages").fetchone()
    if pages == 0:
        yield "it has no pages"
    # The checks use page ids as indices of arrays, which gaps would make needlessly large.
    elif (first, last) != (1, pages):
        yield f"its {pages} pages are numbered from {first} to {last}"
    for (page,) in connection.execute(_NO_TEXT):
        yield f"page {page} is not text"
