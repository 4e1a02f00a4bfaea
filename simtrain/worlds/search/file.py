"""The file of a search world: its tables, how it is opened, and what makes it whole."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Final

from simtrain.errors import InputError
from simtrain.version import VERSION

FORMAT: Final = "simtrain-search-world/1"

TABLES: Final = """
create table _meta (key text primary key, value text not null) without rowid;
create table _types (name text primary key, kind text not null check (kind in ('entity', 'relation')),
                     plural text not null, position integer not null) without rowid;
create table _attributes (id integer primary key, type text not null, name text not null, kind text not null,
                          unit text, target text, label text not null, unique (type, name));
create table _aliases (type text not null, entity integer not null, alias text not null, kind text not null);
create table _sites (id integer primary key, name text not null unique, domain text not null unique, title text not null,
                     kind text not null, reliability real not null, lag_days integer not null);
create table _pages (id integer primary key, site integer not null, url text not null, title text not null,
                     kind text not null, date text, type text, entity integer, body text not null, words integer not null,
                     number integer, last integer, members integer);
create table _claims (id integer primary key, attribute integer not null, entity integer not null, value,
                      reason text not null, site integer not null, since text, until text);
create table _statements (page integer not null, attribute integer not null, entity integer not null,
                          start integer not null, length integer not null, claim integer,
                          primary key (page, start, attribute, entity)) without rowid;
create table _links (page integer not null, target integer not null, primary key (page, target)) without rowid;
create virtual table _index using fts5 (title, body, content='_pages', content_rowid='id', tokenize='unicode61 remove_diacritics 2');
"""
"""Tables beside those of the author. `_statements`: the characters `start` to `start + length` of the page's body state that
attribute of that row; `claim` is null for the truth, else the deliberate falsehood that it states. What a page says of itself
(pseudo-type `_page`, entity: the page) is the column of `_pages` of that name: `date`, `number` and `last` (page 2 of 5 of a list),
`members` (how many the whole list has). A body is markdown; its links are relative to the page's own url."""

INDEXES: Final = """
create unique index _pages_by_url on _pages (url);
create index _pages_by_entity on _pages (type, entity);
create index _statements_by_fact on _statements (attribute, entity);
create index _links_by_target on _links (target);
"""
"""Made after everything is written, which is faster."""


def open_file(path: Path) -> sqlite3.Connection:
    """A read-only connection to a whole world file. Raises InputError for a file that is none, is torn, or is of another version."""
    if not path.is_file():
        raise InputError("there is no such world file", remedy="`simtrain world build` makes one", file=path)
    connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True, check_same_thread=False)
    try:
        keys = "'format', 'version', 'complete'"
        found = dict(connection.execute(f"select key, value from _meta where key in ({keys})").fetchall())
        problem = _wrong(found)
    except sqlite3.DatabaseError:
        connection.close()
        raise InputError("not a world file", remedy="`simtrain world build` makes one", file=path) from None
    if problem is not None:
        connection.close()
        raise InputError(problem, remedy="build it again with `simtrain world build`", file=path)
    return connection


def _wrong(found: dict[str, str]) -> str | None:
    """Why a file with these entries in `_meta` cannot be used; None when it can."""
    if found.get("format") != FORMAT:
        return "a world file of another version"
    if found.get("version", VERSION) != VERSION:
        return f"a world file of another version of simtrain, {found['version']}"
    return None if found.get("complete") == "yes" else "the build of this world was cut off"
