"""The file of a search world: its tables, how it is opened, and what makes it whole."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from simtrain.values.errors import InputError
from simtrain.values.version import VERSION

FORMAT: Final = "simtrain-search-world/2"

TABLES: Final = """
create table _meta (key text primary key, value text not null) without rowid;
create table _types (name text primary key, kind text not null check (kind in ('entity', 'relation')),
                     plural text not null, position integer not null) without rowid;
create table _attributes (id integer primary key, type text not null, name text not null, kind text not null,
                          unit text, target text, label text not null, unique (type, name));
create table _words (language text not null, kind text not null, subject text not null, word text not null,
                     primary key (language, kind, subject)) without rowid;
create table _aliases (type text not null, entity integer not null, alias text not null, kind text not null);
create table _sites (id integer primary key, name text not null unique, domain text not null unique, title text not null,
                     kind text not null, reliability real not null, lag_days integer not null);
create table _pages (id integer primary key, site integer not null, url text not null, title text not null,
                     kind text not null, date text, type text, entity integer, body text not null,
                     number integer, last integer, members integer);
create table _claims (id integer primary key, attribute integer not null, entity integer not null, value,
                      reason text not null, site integer not null, since text, until text);
create table _mentions (page integer not null, type integer not null, entity integer not null, stated text not null,
                        claims text, primary key (page, type, entity)) without rowid;
create table _places (place integer primary key);
create view _statements as
  select m.page, m.type, m.entity, unicode(substr(m.stated, 4 * p.place + 1, 1)) as attribute,
         64 * unicode(substr(m.stated, 4 * p.place + 2, 1)) + unicode(substr(m.stated, 4 * p.place + 3, 1)) - 128 as start,
         unicode(substr(m.stated, 4 * p.place + 4, 1)) - 1 as length,
         case when m.claims is not null
         then json_extract(m.claims, '$."' || unicode(substr(m.stated, 4 * p.place + 1, 1)) || '"') end as claim
  from _mentions m cross join _places p on p.place < length(m.stated) / 4;
create table _targets (page integer primary key, targets text not null);
create view _links as select l.page, t.value as target from _targets l cross join json_each(l.targets) t;
create virtual table _index using fts5 (title, body, content='_pages', content_rowid='id', tokenize='unicode61 remove_diacritics 2');
"""
"""Tables beside those of the author.

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
"""In SQL, the words of a page: what spaces and line ends part."""

INDEXES: Final = """
create unique index _pages_by_url on _pages (url);
create index _pages_by_entity on _pages (type, entity);
create index _mentions_by_entity on _mentions (entity, type);
insert or ignore into _places with recursive counted (place) as (
  select 0 union all select place + 1 from counted where 4 * place < (select max(length(stated)) from _mentions)
) select place from counted;
"""
"""Made after everything is written, which is faster."""


AGAIN: Final = "build it again with `simtrain world build --force`"

_NAMES: Final = frozenset(re.findall(r"create (?:virtual )?(?:table|view) (\w+)", TABLES))
_DAMAGE: Final = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_IOERR})


def open_file(path: Path) -> sqlite3.Connection:
    """Return a read-only connection to a whole world file. Raises InputError for a file that is none, is torn, or is of another version."""
    if not path.is_file():
        raise InputError("there is no such world file", remedy="`simtrain world build` makes one", file=path)
    connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True, check_same_thread=False)
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
    """A block that reads a world file. Raises InputError where it turns out that the file is damaged."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        # Text that is no text has no code: Python finds it, not SQLite.
        code = getattr(error, "sqlite_errorcode", None)
        if code is not None and code & 0xFF not in _DAMAGE:
            raise
        raise InputError("the world file is damaged", remedy=AGAIN, file=path) from None


def _wrong(found: dict[str, str], tables: set[str]) -> str | None:
    """Return why a file with these entries in `_meta` and these tables cannot be used; None when it can."""
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
    """That a file is not as long as its head says (https://www.sqlite.org/fileformat2.html#the_database_header)."""
    with path.open("rb") as file:
        head = file.read(32)
    size, count = int.from_bytes(head[16:18], "big"), int.from_bytes(head[28:32], "big")
    return None if path.stat().st_size == (65536 if size == 1 else size) * count else "the world file is damaged"
