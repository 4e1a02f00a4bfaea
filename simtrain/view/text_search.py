"""Full-text search in messages, calls and replies: an index of words beside the run, made when it is first asked for."""

import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from simtrain.runs.run_index import RunIndex
from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject, JsonValue, is_list, is_object
from simtrain.view.filters import Filter

TEXT_FILE = "text.sqlite"
"""The file's name. Like the index of the run, it holds nothing of its own."""

FORMAT = 1
"""Of the tables below, as SQLite's `user_version`."""

GROUP = 200
"""Episodes that are added in one transaction. So few, or fewer, are added while a page is made, more only when they are asked for."""

TABLES = f"""
create table if not exists places (id integer primary key, part text, offset integer, length integer, inode integer) strict;
create virtual table if not exists words using fts5(body, content='', tokenize='unicode61');
pragma user_version = {FORMAT};
"""

_UNSPACED = re.compile("([\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\U00020000-\U0003134f])")
"""Letters of scripts that leave no spaces between words: each counts as a word, so that any part of a sentence is found."""


class WordIndex:
    """The index of the words of one run. It may be used by one thread at a time."""

    def __init__(self, index: RunIndex) -> None:
        """`index` is the index of the run, which must be up to date when words are added or found."""
        self._index = index
        self._stamp: object = None
        self._missing = list[int]()

    @property
    def begun(self) -> bool:
        """True if words of the run have been indexed."""
        return (self._index.path / TEXT_FILE).is_file()

    def missing(self) -> list[int]:
        """Return the `id` of every episode whose words are not indexed yet: all of them where the run was graded again."""
        if not self.begun:
            return [row["id"] for row in self._index.select("select id from records order by id")]
        stamp = (self._index.stamp(), (self._index.path / TEXT_FILE).stat().st_ino)
        if stamp != self._stamp:
            with closing(_opened(self._index.path)) as connection:
                _forget(connection, self._index)
                known = {number for (number,) in connection.execute("select id from places")}
            every = self._index.select("select id from records order by id")
            self._missing = [number for (number,) in every if number not in known]
            self._stamp = stamp
        return self._missing

    def add(self, on_added: Callable[[], None] = lambda: None) -> int:
        """Add the episodes that are missing, and return their number.

        `on_added` is called for each; what it raises ends the work, and what was added stays. Raises InputError for a line that cannot
        be read, and for a folder that cannot be written.
        """
        missing = self.missing()
        if not missing:
            return 0
        with closing(_opened(self._index.path)) as connection:
            for begin in range(0, len(missing), GROUP):
                with connection:
                    for number in missing[begin : begin + GROUP]:
                        _add(connection, self._index, number)
                        on_added()
        self._stamp = None
        return len(missing)

    def narrowed(self, chosen: Filter) -> Filter:
        """Return a filter whose words became part of its condition. All words must be found; a phrase of several as it is written."""
        connection = self._index.connection
        attached = any(name == "text" for _, name, _ in connection.execute("pragma database_list"))
        # Anew each time: the file may have been removed and made again since.
        if attached:
            connection.execute("detach text")
        connection.execute("attach ? as text", (str(self._index.path / TEXT_FILE),))
        values = {**chosen.values, "words": " ".join(_phrase(word) for word in chosen.words)}
        found = "id in (select rowid from text.words where words match :words)"
        return replace(chosen, condition=f"{chosen.condition} and {found}", values=values, words=())


def _add(connection: sqlite3.Connection, index: RunIndex, number: int) -> None:
    (place,) = index.select("select part, offset, length from records where id = :id", {"id": number})
    known = (number, *place, _inode(index.path, place["part"]))
    # Another viewer may have been faster.
    if connection.execute("insert or ignore into places values (?, ?, ?, ?, ?)", known).rowcount:
        body = _spaced("\n".join(_texts(index.row(number))))
        connection.execute("insert into words (rowid, body) values (?, ?)", (number, body))


def _phrase(word: str) -> str:
    """Return a word or phrase in the syntax of FTS5; a star at its end finds words that begin like it."""
    stem = word.rstrip("*")
    quoted = '"' + _spaced(stem).replace('"', '""') + '"'
    return f"{quoted}*" if stem != word and stem else quoted


def _spaced(text: str) -> str:
    return _UNSPACED.sub(r" \1 ", text)


def _opened(run: Path) -> sqlite3.Connection:
    try:
        return _prepared(run / TEXT_FILE)
    except sqlite3.OperationalError as error:
        problem = f"the words of this run cannot be indexed: {error}"
        raise InputError(problem, remedy="make the folder one that can be written", file=run) from None
    except sqlite3.DatabaseError:
        # Damaged, or of another version: it holds nothing of its own.
        (run / TEXT_FILE).unlink()
        return _prepared(run / TEXT_FILE)


def _prepared(file: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(file, timeout=30)
    try:
        # In one statement, and made in one transaction: another viewer may be making the tables now.
        tables, version = connection.execute(
            "select (select count(*) from sqlite_master), user_version from pragma_user_version"
        ).fetchone()
        if tables and version != FORMAT:
            raise sqlite3.DatabaseError(f"an index of version {version}")
        connection.executescript(f"begin immediate; {TABLES} commit;")
    except BaseException:
        connection.close()
        raise
    return connection


def _forget(connection: sqlite3.Connection, index: RunIndex) -> None:
    """Begin anew if an episode is no longer where it was when its words were indexed, as after grading again."""
    now = {
        (row["id"], row["part"], row["offset"], row["length"], _inode(index.path, row["part"]))
        for row in index.select("select id, part, offset, length from records")
    }
    # An index that holds no text cannot forget a single one.
    if not now.issuperset(connection.execute("select * from places")):
        connection.executescript(f"begin immediate; drop table words; drop table places; {TABLES} commit;")


def _inode(run: Path, part: str) -> int:
    file = run / part
    return file.stat().st_ino if file.exists() else 0


def _texts(row: JsonObject) -> Iterator[str]:
    yield row.get("prompt", "")
    for turn in row["turns"]:
        yield turn["text"]
        yield turn.get("reasoning") or ""
        for step in turn["steps"]:
            action = step["action"]
            yield f"{action['tool']} {action.get('malformed') or ''}"
            yield from _words(action.get("arguments"))
            yield step["observation"]["text"]
    yield row.get("answer") or ""
    yield row["stop"].get("detail") or ""


def _words(value: JsonValue) -> Iterator[str]:
    """Yield the names and values of JSON."""
    if is_object(value):
        for name, one in value.items():
            yield str(name)
            yield from _words(one)
    elif is_list(value):
        for one in value:
            yield from _words(one)
    else:
        yield str(value)
