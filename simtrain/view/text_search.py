"""Full-text search in messages, calls and replies: an index of words beside the run, made when it is first asked for."""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

from simtrain.contracts.trajectory import Trajectory
from simtrain.runs.run_index import RunIndex

TEXT_FILE = "text.sqlite"
"""The file's name. Like the index of the run, it holds nothing of its own."""

GROUP = 200
"""Episodes that are added in one transaction."""

TABLES = """
create table if not exists places (id integer primary key, part text, offset integer, length integer, inode integer) strict;
create virtual table if not exists words using fts5(body, content='', tokenize='unicode61');
"""


def indexed(run: Path) -> bool:
    """True if words of a run have been indexed."""
    return (run / TEXT_FILE).is_file()


def index_words(index: RunIndex, on_indexed: Callable[[], None] = lambda: None) -> int:
    """Add the episodes whose words are not indexed yet, and return their number. Raises InputError for a line that cannot be read."""
    with closing(_opened(index.path)) as connection:
        _forget(connection, index)
        known = {number for (number,) in connection.execute("select id from places")}
        places = index.select("select id, part, offset, length from episodes order by id")
        missing = [row for row in places if row["id"] not in known]
        for begin in range(0, len(missing), GROUP):
            with connection:
                for row in missing[begin : begin + GROUP]:
                    body = "\n".join(_texts(index.read(row["id"])))
                    connection.execute("insert into words (rowid, body) values (?, ?)", (row["id"], body))
                    place = (row["id"], row["part"], row["offset"], row["length"], _inode(index.path, row["part"]))
                    connection.execute("insert into places values (?, ?, ?, ?, ?)", place)
                    on_indexed()
        return len(missing)


def found(run: Path, words: Sequence[str]) -> list[int]:
    """Return the `id` of every episode that has all of these words; a phrase of several words is found as it is written."""
    query = " ".join('"' + word.replace('"', '""') + '"' for word in words)
    with closing(_opened(run)) as connection:
        return [number for (number,) in connection.execute("select rowid from words where words match ?", (query,))]


def _opened(run: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(run / TEXT_FILE, timeout=30)
    connection.executescript(TABLES)
    return connection


def _forget(connection: sqlite3.Connection, index: RunIndex) -> None:
    """Begin anew if an episode is no longer where it was when its words were indexed, as after grading again."""
    now = {
        (row["id"], row["part"], row["offset"], row["length"], _inode(index.path, row["part"]))
        for row in index.select("select id, part, offset, length from episodes")
    }
    # An index that holds no text cannot forget a single one.
    if not now.issuperset(connection.execute("select * from places")):
        connection.executescript(f"drop table words; drop table places; {TABLES}")


def _inode(run: Path, part: str) -> int:
    file = run / part
    return file.stat().st_ino if file.exists() else 0


def _texts(trajectory: Trajectory) -> Iterator[str]:
    yield trajectory.prompt
    for turn in trajectory.turns:
        yield turn.text
        yield turn.reasoning or ""
        for step in turn.steps:
            yield f"{step.action.tool} {step.action.malformed or step.action.arguments}"
            yield step.observation.text
    yield trajectory.answer or ""
    yield trajectory.stop.detail or ""
