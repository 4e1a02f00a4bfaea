"""The index of a run folder: where each trajectory stands, and what lists of episodes show, sort and filter by."""

import sqlite3
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import Self, cast

import orjson

from simtrain.contracts.trajectory import Trajectory, from_line
from simtrain.runs.run_folder import read_facts
from simtrain.runs.trajectory_files import damaged, part_files, trajectory_row
from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject, JsonValue

INDEX_FILE = "index.sqlite"
"""The file's name. It holds nothing that the trajectories do not say: without it, or with a damaged one, the index is made anew."""

FORMAT = 5
"""Of the tables below, as SQLite's `user_version`."""

TABLES = """
create table parts (
    name text primary key, inode integer not null, indexed integer not null, lines integer not null, last text not null
) strict;
create table records (
    id integer primary key, part text not null, offset integer not null, length integer not null,
    scenario text not null, episode text not null, seed integer not null, attempt integer not null,
    agent text not null, arm text not null, world text not null, world_seed integer, reward real,
    stop text not null, blame text, turns integer not null, steps integer not null, errors integer not null,
    perturbed integer not null, noticeable integer, solvability text not null, impossible integer not null,
    tokens integer not null, cost real not null, seconds real
) strict;
create table facts (
    id integer primary key, started text, detail text, version text not null, paradigm text not null,
    case_json text not null, fired_json text not null, more_json text not null
) strict;
create index records_by_case on records (scenario, episode, arm, attempt);
create index records_by_part on records (part);
create index records_by_reward on records (reward);
create index records_by_turns on records (turns);
create index records_by_steps on records (steps);
create index records_by_errors on records (errors);
create index records_by_perturbed on records (perturbed);
create index records_by_tokens on records (tokens);
create index records_by_seconds on records (seconds);
create view episodes as select records.*, started, detail, version, paradigm, case_json, fired_json, more_json
    from records left join facts on facts.id = records.id;
"""
"""Records are short, so that lists are sorted and counted fast; `source` tells which queries need the facts as well.

`indexed` counts bytes, and `last` is a digest of the last line in them. `perturbed` counts steps in which a perturbation changed
more than the time. `seconds` and `started` are those of the wall clock. `fired_json` lists the labels of the perturbations that took
effect; `more_json` holds the agent's facts (`agent`), the value of each grader (`grader`), the tools that were called (`called`), the
labels that were armed (`armed`), and the tables of the world that changed (`changed`).
"""

FACTS = ("started", "detail", "version", "paradigm", "case_json", "fired_json", "more_json")

_RECORD = f"insert into records values ({', '.join('?' * 25)})"
_FACTS = f"insert into facts values ({', '.join('?' * 8)})"

SECONDS = 5.0
"""How often the index is brought up to date during a run."""

GROUP = 2_000
"""Trajectories that are added in one transaction: others see them from then on."""


def source(*parts: str) -> str:
    """Return from what a query selects that consists of these parts: records alone where none of them names a fact."""
    return "episodes" if any(fact in part for part in parts for fact in FACTS) else "records"


class RunIndex:
    """The index of one run folder, in a file in it, or in memory where the folder cannot be written.

    Several processes may use one: a run that adds what it played, and viewers that read it meanwhile.
    """

    def __init__(self, path: Path, *, patience: float = 30.0) -> None:
        """Open the index as it is; `refresh` brings it up to date. Raises InputError if the folder holds no run.

        `patience` is how many seconds to wait for another process that writes it; then `sqlite3.OperationalError` is raised.
        """
        read_facts(path)
        self.path = path
        self.connection = _opened(path / INDEX_FILE, patience)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.connection.close()

    def refresh(self, on_indexed: Callable[[int], None] = lambda _: None) -> int:
        """Add the trajectories that were written since; return their number. Torn last lines are left for later.

        `on_indexed` gets the bytes of each trajectory. A file that was replaced, as by grading again, or cut, is read anew.
        Raises InputError for a line that is not a trajectory.
        """
        return sum(self._refresh(part, on_indexed) for part in part_files(self.path))

    def behind(self) -> int:
        """Return how many bytes of trajectories are not indexed yet."""
        return sum(part.stat().st_size - self._known(part)[0] for part in part_files(self.path))

    def first(self, condition: str = "", values: Mapping[str, object] | None = None) -> int | None:
        """Return the `id` of the first episode in the files that meets a condition in SQL; None if none does."""
        where = f"where {condition}" if condition else ""
        found = self.connection.execute(
            f"select id from {source(condition)} {where} order by part, offset limit 1", values or {}
        )
        return next((number for (number,) in found), None)

    def select(self, query: str, values: Mapping[str, object] | None = None) -> list[sqlite3.Row]:
        """Return the rows of a query over `episodes`."""
        found = self.connection.execute(query, values or {})
        found.row_factory = sqlite3.Row
        return found.fetchall()

    def read(self, number: int) -> Trajectory:
        """Return the trajectory of an episode, by its `id` here. Raises InputError if there is none, or it cannot be read."""
        part, line = self._line(number)
        try:
            return from_line(line)
        except InputError as error:
            raise error.at(file=part) from None

    def row(self, number: int) -> JsonObject:
        """Return the line of an episode as JSON, several times faster than `read`. Raises InputError as `read` does."""
        part, line = self._line(number)
        return trajectory_row(line, part, number)

    def stamp(self) -> tuple[object, ...]:
        """Return what changes whenever episodes were added or replaced."""
        return tuple(self.connection.execute("select name, inode, indexed, last from parts order by name").fetchall())

    def _line(self, number: int) -> tuple[Path, bytes]:
        found = self.connection.execute("select part, offset, length from records where id = ?", (number,)).fetchone()
        if found is None:
            raise InputError(f"the index has no episode {number}", file=self.path)
        part, offset, length = found
        return self.path / part, _bytes(self.path / part, offset, length)

    def _refresh(self, part: Path, on_indexed: Callable[[int], None]) -> int:
        added = 0
        while True:
            with self._transaction():
                found = self._add(part)
                for length in found:
                    on_indexed(length)
            added += len(found)
            if len(found) < GROUP:
                return added

    def _add(self, part: Path) -> list[int]:
        """Add the next group of a file's trajectories, and return their lengths."""
        indexed, lines = self._known(part)
        if not indexed:
            self.connection.execute(
                "delete from facts where id in (select id from records where part = ?)", (part.name,)
            )
            self.connection.execute("delete from records where part = ?", (part.name,))
            self.connection.execute("delete from parts where name = ?", (part.name,))
        (number,) = self.connection.execute("select coalesce(max(id), 0) from records").fetchone()
        rows, line = list[tuple[JsonValue, ...]](), b""
        for line in _lines(part, indexed, most=GROUP):
            lines += 1
            number += 1
            rows.append((number, part.name, indexed, len(line), *_values(line, part, lines)))
            indexed += len(line)
        if rows:
            self.connection.executemany(_RECORD, (row[:25] for row in rows))
            self.connection.executemany(_FACTS, ((row[0], *row[25:]) for row in rows))
            place = (part.name, part.stat().st_ino, indexed, lines, _digest(line))
            self.connection.execute("insert or replace into parts values (?, ?, ?, ?, ?)", place)
        return [int(row[3]) for row in rows]

    def _known(self, part: Path) -> tuple[int, int]:
        """Return how far a file is indexed, in bytes and lines; nothing if it was replaced or cut since, or edited in place."""
        known = "select inode, indexed, lines, last from parts where name = ?"
        found = self.connection.execute(known, (part.name,)).fetchone()
        if found is None or found[0] != part.stat().st_ino:
            return 0, 0
        _, indexed, lines, last = found
        line = "select offset, length from records where part = ? order by id desc limit 1"
        offset, length = self.connection.execute(line, (part.name,)).fetchone()
        return (indexed, lines) if _digest(_bytes(part, offset, length)) == last else (0, 0)

    @contextmanager
    def _transaction(self) -> Generator[None]:
        # Immediate: two processes that read the same place first would both add what follows it.
        self.connection.execute("begin immediate")
        try:
            yield
        except BaseException:
            self.connection.execute("rollback")
            raise
        self.connection.execute("commit")


class IndexKeeper:
    """Brings the index of a run up to date now and then while the run is played, and at its end."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._kept = monotonic()

    def __call__(self) -> None:
        """Bring it up to date if that was not done for some seconds."""
        if monotonic() - self._kept >= SECONDS:
            self.keep()

    def keep(self) -> None:
        """Bring it up to date. An index that cannot be written, or is being written, is left alone: viewers do the rest."""
        with suppress(sqlite3.Error, InputError), RunIndex(self._path, patience=0.0) as index:
            index.refresh()
        self._kept = monotonic()


def _opened(file: Path, patience: float) -> sqlite3.Connection:
    try:
        return _prepared(file, patience)
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_BUSY:
            raise
        # The folder cannot be written.
        return _prepared(":memory:", patience)
    except sqlite3.DatabaseError:
        # Damaged, or of another version.
        with suppress(OSError):
            file.unlink()
        return _prepared(file, patience)


def _prepared(file: Path | str, patience: float) -> sqlite3.Connection:
    """Return a connection to an index that can be written, with its tables. Raises sqlite3.DatabaseError."""
    connection = sqlite3.connect(file, timeout=patience, isolation_level=None, check_same_thread=False)
    try:
        # A crash of the machine may damage it; then it is made anew. A kill of the process does not.
        connection.execute("pragma synchronous = off")
        connection.execute("begin immediate")
        (version,) = connection.execute("pragma user_version").fetchone()
        if version == 0:
            for statement in TABLES.split(";\n"):
                connection.execute(statement)
            connection.execute(f"pragma user_version = {FORMAT}")
        elif version != FORMAT:
            raise sqlite3.DatabaseError(f"an index of version {version}")
        connection.execute("commit")
    except BaseException:
        connection.close()
        raise
    return connection


def _bytes(part: Path, offset: int, length: int) -> bytes:
    with part.open("rb") as file:
        file.seek(offset)
        return file.read(length)


def _digest(line: bytes) -> str:
    return blake2b(line, digest_size=16).hexdigest()


def _lines(part: Path, start: int, *, most: int) -> Iterator[bytes]:
    """Yield whole lines from a place in a file on."""
    with part.open("rb") as file:
        file.seek(start)
        for _ in range(most):
            line = file.readline()
            if not line.endswith(b"\n"):
                return
            yield line


def _values(line: bytes, part: Path, number: int) -> tuple[JsonValue, ...]:
    """Return the columns of a trajectory, from `scenario` on. Raises InputError for another line."""
    row = trajectory_row(line, part, number)
    try:
        return tuple(_columns(row))
    except (KeyError, TypeError, AttributeError):
        raise damaged(part, number) from None


def _columns(row: JsonObject) -> Iterator[JsonValue]:
    yield from (row["scenario"], row["episode"], row["seed"], row["attempt"])
    world = cast(JsonObject, row.get("world") or {})
    yield from (str(row["agent"].get("name", "")), row.get("arm", ""), world.get("name", ""), world.get("seed"))
    steps: list[JsonObject] = [step for turn in row["turns"] for step in turn["steps"]]
    yield from (row["reward"], row["stop"]["reason"], row["stop"].get("blame"), len(row["turns"]), len(steps))
    yield sum(step["observation"]["is_error"] for step in steps)
    yield sum(any(set(event.get("changed", ())) - {"clock"} for event in step.get("events", ())) for step in steps)
    yield from (row.get("noticeable"), row.get("solvability", "unproved"), int(row.get("impossible", False)))
    usage, timing = cast(JsonObject, row.get("usage") or {}), cast(JsonObject, row.get("timing") or {})
    yield usage.get("prompt_tokens", 0) + usage.get("completion_tokens", 0)
    yield float(usage.get("cost", 0.0))
    yield from (timing.get("seconds"), timing.get("started"), row["stop"].get("detail"))
    yield from (row.get("version", ""), row.get("paradigm", ""))
    yield orjson.dumps(row["case"]).decode()
    fired: set[str] = {event["label"] for step in steps for event in step.get("events", ())}
    yield orjson.dumps(sorted(fired.union(row.get("bent", ())))).decode()
    more: JsonObject = {
        "agent": row["agent"],
        "grader": {reward["grader"]: reward["value"] for reward in row.get("rewards", ())},
        "called": sorted({step["action"]["tool"] for step in steps}),
        "armed": row.get("perturbations", ()),
        "changed": list(row.get("changes", ())),
    }
    yield orjson.dumps(more).decode()
