"""The digest of a built world: the ordered rows of every table, and how its search engine ranks 1,000 probe queries."""

import re
import sqlite3
from collections.abc import Iterable
from contextlib import nullcontext
from hashlib import blake2b
from random import Random
from typing import Final

import orjson

from simtrain.values.seeding import derive
from simtrain.worlds.search.engine.ranking import Ranking

PROBES: Final = 1000
_ROWS: Final = 2000
# These describe the build and not the world: equal worlds of two releases have equal digests.
_LOCAL: Final = ("version", "identity", "complete")
"""Keys of `_meta` about the build."""
_PARTS: Final = ("_index", "_mentions", "_places", "_targets")
_ORDER: Final = {
    "_statements": "page, start, attribute, entity",
    "_links": "page, target",
    "_meta": "key",
    "_types": "name",
}
_WORD = re.compile(r"\w+")


def digest(connection: sqlite3.Connection) -> str:
    """Return the digest of an open world file."""
    found = blake2b(digest_size=16)
    for table in tables(connection):
        found.update(table_digest(connection, table).encode())
    for query, pages in rankings(connection):
        found.update(orjson.dumps([query, pages]))
    return found.hexdigest()


def tables(connection: sqlite3.Connection) -> list[str]:
    """Return the tables of a world file by name, except those that only serve the full-text index and the views of
    statements and links.
    """
    rows = connection.execute(
        "select name from sqlite_master where type in ('table', 'view') and name not like 'sqlite_%' order by name"
    )
    return [name for (name,) in rows if not name.startswith(_PARTS)]


def table_digest(connection: sqlite3.Connection, table: str) -> str:
    """Return a digest of the rows of a table in their order."""
    # Row order without an order by is SQLite's choice; a digest needs a total order, by all columns if nothing shorter is unique.
    names = [row[1] for row in connection.execute(f'pragma table_info("{table}")')]
    order = _ORDER.get(table) or ("id" if "id" in names else ", ".join(f'"{name}"' for name in names))
    where = f" where key not in {_LOCAL}" if table == "_meta" else ""
    columns = ", ".join(f'"{name}"' for name in names)
    cursor = connection.execute(f'select {columns} from "{table}"{where} order by {order}')
    found = blake2b(orjson.dumps([table, names]), digest_size=16)
    while rows := cursor.fetchmany(_ROWS):
        found.update(orjson.dumps(rows))
    return found.hexdigest()


def rankings(connection: sqlite3.Connection) -> Iterable[tuple[str, list[int]]]:
    """Yield probe queries, each with the ids of its first ten pages."""
    # The file is this thread's alone, so there is nothing to lock.
    ranking = Ranking(lambda sql, values: connection.execute(sql, values), nullcontext())  # pyright: ignore[reportArgumentType]
    for query in probes(connection):
        yield query, [hit.page for hit in ranking.top(query, count=10)]


def probes(connection: sqlite3.Connection) -> Iterable[str]:
    """Return queries of 3 to 12 words, taken from titles and bodies of pages drawn evenly."""
    count = connection.execute("select max(id) from _pages").fetchone()[0]
    # A fixed seed: the same web must get the same probes, whatever seed it was made from.
    draw = Random(derive(0, "probes", count)).random
    for number in range(PROBES):
        page = 1 + int(draw() * count)
        title, body = connection.execute("select title, body from _pages where id = ?", (page,)).fetchone()
        words = _WORD.findall(body)
        size = 3 + int(draw() * 10)
        chosen = [words[int(draw() * len(words))] for _ in range(size)] if words else []
        # Half of the queries name what a page is about, as people do.
        yield " ".join([*_WORD.findall(title)[:3], *chosen[: size - 3]] if number % 2 else chosen)
