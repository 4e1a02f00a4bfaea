"""The file of a search world: its tables, how it is opened, and how damage is noticed."""

import re
import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from simtrain.values.errors import InputError
from simtrain.values.version import VERSION

FORMAT: Final = "simtrain-search-world/2"

TABLES: Final = Path(__file__).with_name("tables.sql").read_text("utf-8")
"""The tables beside those of the author's types.

`_statements`: the characters `start` to `start + length` of the page's body state that attribute of that row; `claim` is null for the
truth, else the deliberate falsehood that it states; `type` is the position of the attribute's type in `_types` (-1 for a pseudo-type),
which finds the statements of a row sooner. They would be half of a file, one row each, hence they are kept together: all that a page
states of a row is one text in `_mentions` (see mentions.py), and `_places` counts the statements in it. `_targets` likewise holds the
links of a page as one JSON array.

What a page says of itself (pseudo-type `_page`, entity: the page) is the column of `_pages` of that name: `date`, `number` and `last`
(page 2 of 5 of a list), `members` (how many the whole list has). A body is markdown; its links are relative to the page's own url.
`_words`: what types, attributes (`label`), units and categories are called in questions."""

WORDS: Final = """
1 + length(replace(body, char(10, 10), ' ')) - length(replace(replace(replace(body, char(10, 10), ' '), char(10), ' '), ' ', ''))
"""
"""SQL for the words of a page: what spaces and line ends separate."""

INDEXES: Final = Path(__file__).with_name("indexes.sql").read_text("utf-8")
"""Created after everything is written, which is faster than keeping them up with every insert."""


AGAIN: Final = "build it again with `simtrain world build --force`"

_NAMES: Final = frozenset(re.findall(r"create (?:virtual )?(?:table|view) (\w+)", TABLES))
_DAMAGE: Final = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_IOERR})


class _Connection(sqlite3.Connection):
    # Webs are cached, and nobody closes those that fall out of the cache; Python 3.13 warns of that.
    def __del__(self) -> None:
        self.close()


def open_file(path: Path) -> sqlite3.Connection:
    """Return a read-only connection to a world file. Raises InputError for another file, a damaged one, and one of another version."""
    if not path.is_file():
        raise InputError("there is no such world file", remedy="`simtrain world build` makes one", file=path)
    # A built file never changes. `immutable` spares its locks and change checks, and reads from a folder that cannot be written.
    address = f"{path.resolve().as_uri()}?mode=ro&immutable=1"
    connection = sqlite3.connect(address, uri=True, check_same_thread=False, factory=_Connection)
    try:
        keys = "'format', 'version', 'complete'"
        found = dict(connection.execute(f"select key, value from _meta where key in ({keys})").fetchall())
        problem = _wrong(found, {name for (name,) in connection.execute("select name from sqlite_master")}) or _cut(
            path
        )
    except sqlite3.DatabaseError:
        connection.close()
        raise InputError("not a world file", remedy="`simtrain world build --force` makes one", file=path) from None
    if problem is not None:
        connection.close()
        raise InputError(problem, remedy=AGAIN, file=path)
    return connection


@contextmanager
def blaming(path: Path) -> Generator[None]:
    """Turn errors inside the block into an InputError that names the world file, where the file proves damaged."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        # Text that is not UTF-8 has no code: Python finds it, not SQLite.
        code = getattr(error, "sqlite_errorcode", None)
        # The primary code is the low byte of an extended one (https://www.sqlite.org/rescode.html).
        if code is not None and code & 0xFF not in _DAMAGE:
            raise
        raise InputError("the world file is damaged", remedy=AGAIN, file=path) from None


def _wrong(found: dict[str, str], tables: set[str]) -> str | None:
    """Return why a file with these entries in `_meta` and these tables cannot be used; None if it can."""
    if "format" not in found:
        return "not a world file"
    if found["format"] != FORMAT:
        return "a world file of another version"
    if found.get("version", VERSION) != VERSION:
        return f"a world file of another version of simtrain, {found['version']}"
    if found.get("complete") != "yes":
        return "the build of this world was cut off"
    missing = min(_NAMES - tables, default=None)
    return None if missing is None else f"the world file is damaged: it has no table {missing}"


def _cut(path: Path) -> str | None:
    """Return the error for a file that is shorter than its header says (https://www.sqlite.org/fileformat2.html#the_database_header)."""
    with path.open("rb") as file:
        head = file.read(32)
    # SQLite would notice a missing page only when a query reads it, in the middle of an episode. A page size of 1 means 65,536.
    size, count = int.from_bytes(head[16:18], "big"), int.from_bytes(head[28:32], "big")
    return None if path.stat().st_size == (65536 if size == 1 else size) * count else "the world file is damaged"
