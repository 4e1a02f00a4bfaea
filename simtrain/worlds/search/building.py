"""Build a world file: facts, pages, statements, links and index, in steps from which a killed build is resumed."""

import fcntl
import gc
import os
import sqlite3
from collections.abc import Generator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol, cast

from simtrain.files.jsonl import sync
from simtrain.values.errors import InputError
from simtrain.values.version import VERSION
from simtrain.worlds.search.facts import tables
from simtrain.worlds.search.facts.draw import Facts
from simtrain.worlds.search.file import FORMAT, INDEXES, TABLES
from simtrain.worlds.search.pages.design import Design
from simtrain.worlds.search.pages.layout import Layout
from simtrain.worlds.search.pages.press import PageSheet, Press, compile_all
from simtrain.worlds.search.pages.rewording import reword_file

COMMIT_EVERY: Final = 10_000
"""Pages between two commits; a killed build loses at most these."""
GENERATION: Final = 14
"""Raise it whenever a change makes the same file give another world: cached worlds of before are then built anew."""
_SETTINGS: Final = {"automerge": 0, "crisismerge": 1000, "hashsize": 32_000_000}
"""Options of the FTS5 index: nothing is merged while pages are written, since each merge writes it again; all is merged at the end."""
_MERGE_STEP: Final = 500
_SMALL: Final = 40_000_000
_DISK: Final = ("database or disk is full", "disk I/O error", "unable to open", "attempt to write")
"""The beginnings of SQLite's messages about a disk that is full or cannot be written."""
_INDEX = "insert into _index (rowid, title, body) select id, title, body from _pages where id between ? and ?"


class Watching(Protocol):
    """Receives the progress of a build."""

    def phase(self, doing: str, total: int | None = None) -> None:
        """Begin a new phase of the work, with `total` steps if their number is known."""

    def advance(self, count: int) -> None:
        """Count this many steps as done."""


class Unwatched(Watching):
    """Shows nothing."""


@dataclass(frozen=True, slots=True)
class BuildOrder:
    """What to build: a design, its seed, the number of rows of each type, words to avoid, and the identity of all that."""

    design: Design
    seed: int
    counts: dict[str, int]
    avoid: tuple[str, ...]
    identity: str
    reworded: Path | None = None
    kinds: tuple[int, ...] | None = None
    """The kinds of pages to write, by number; None: all."""


def build(order: BuildOrder, path: Path, watching: Watching | None = None) -> None:
    """Write the world file `path`; it appears whole or not at all. A build that was killed is resumed.

    Raises InputError for facts that cannot be drawn, and for a folder that cannot be written.
    """
    partial = path.with_name(f"{path.name}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _locked(path):
            # Another process may have built it while this one waited for the lock.
            if path.exists():
                return
            _run(order, partial, watching or Unwatched())
            sync(partial)
            partial.replace(path)
            # The rename itself is durable only once its folder is on disk.
            sync(path.parent)
    except OSError as error:
        raise InputError(f"the world cannot be written: {error.strerror}", file=path) from None


def _run(order: BuildOrder, partial: Path, watching: Watching) -> None:
    """Build, resuming what an earlier build left; if that turns out to be damaged, build from the beginning."""
    builder = _Builder(order, partial, watching)
    try:
        try:
            builder.run()
        except sqlite3.OperationalError:
            # A subclass of DatabaseError, but about the machine (a full disk, a lock): building anew would meet it again.
            raise
        except sqlite3.DatabaseError:
            # Damage in a file that this build began itself is an error in the code, not the rest of a power cut.
            if not builder.resumed:
                raise
            partial.unlink(missing_ok=True)
            builder.run()
    except sqlite3.OperationalError as error:
        if not str(error).startswith(_DISK):
            raise
        raise InputError(f"the world cannot be written: {error}", file=partial) from None


@contextmanager
def _locked(path: Path) -> Generator[None]:
    """Hold a lock, so that no other process builds the same file. The kernel frees it if this process is killed."""
    lock = path.with_name(f"{path.name}.lock")
    descriptor = _lock(lock)
    try:
        yield
    finally:
        # Removed while still locked: whoever waits for this file then sees that it is gone, and does not build beside a newer holder.
        lock.unlink(missing_ok=True)
        os.close(descriptor)


def _lock(lock: Path) -> int:
    """Return the descriptor of the lock once it is held. Its last holder removes the file, so a lock on a removed file is not one."""
    while True:
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o644)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(descriptor), lock.stat()):
                return descriptor
        os.close(descriptor)


class _Builder:
    def __init__(self, order: BuildOrder, path: Path, watching: Watching) -> None:
        self.order = order
        self.design = order.design
        self.path = path
        self.watching = watching
        self.codes = compile_all(order.design)
        self.resumed = False

    def run(self) -> None:
        """Run all remaining steps, starting with the one that was reached."""
        self.resumed = False
        self.connection = self._open()
        # Everything that is made here is kept; looking through it for garbage again and again would cost a fifth of the time.
        collecting = gc.isenabled()
        gc.disable()
        try:
            # A build that was killed between its last commit and its rename has all of it.
            if self._meta("complete") is None:
                press = self._facts() if self._meta("progress") is None else self._press()
                self._pages(press)
                self._finish()
        except InputError:
            self.connection.close()
            self._remove()
            raise
        finally:
            self.connection.close()
            if collecting:
                gc.enable()

    def _open(self) -> sqlite3.Connection:
        """Return the unfinished file of an earlier build of the same order, else a new one."""
        if self.path.exists():
            connection = _connect(self.path)
            with suppress(sqlite3.DatabaseError):
                found = connection.execute("select value from _meta where key = 'identity'").fetchone()
                if found == (self.order.identity,):
                    # Another identity would mix pages of two worlds in one file.
                    self.resumed = True
                    return connection
            connection.close()
            self._remove()
        return _connect(self.path)

    def _remove(self) -> None:
        # SQLite would roll an orphaned journal back into the new file of the same name.
        for suffix in ("", "-journal"):
            self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)

    def _meta(self, key: str) -> str | None:
        try:
            found = self.connection.execute("select value from _meta where key = ?", (key,)).fetchone()
        except sqlite3.OperationalError:
            return None
        return found and found[0]

    def _facts(self) -> Press:
        """Draw and write the facts, and what each site gets wrong."""
        self.watching.phase("facts")
        execute = self.connection.execute
        execute("begin")
        for statement in TABLES.split(";\n"):
            execute(statement)
        for setting, value in _SETTINGS.items():
            execute("insert into _index (_index, rank) values (?, ?)", (setting, value))
        schema, order = self.design.schema, self.order
        meta = {
            "format": FORMAT,
            "version": VERSION,
            "world": schema.spec.name,
            "seed": str(order.seed),
            "identity": order.identity,
            "progress": "1",
        }
        if order.kinds is not None:
            meta["kinds"] = " ".join(map(str, order.kinds))
        self.connection.executemany("insert into _meta values (?, ?)", meta.items())
        write_facts(self.connection, order)
        tables.check_constraints(self.connection, schema)
        for site in self.design.sites:
            spec = site.spec
            row = (site.id, site.name, spec.domain, spec.title, spec.kind, spec.reliability, site.lag)
            execute("insert into _sites values (?, ?, ?, ?, ?, ?, ?)", row)
        # Constraints are checked before any page is written: a million pages of refused facts would be lost time.
        press = self._press()
        press.write_claims()
        execute("insert into _meta values ('pages', ?)", (str(press.layout.count),))
        execute("commit")
        return press

    def _press(self) -> Press:
        return Press(self.design, self.connection, self.codes, seed=self.order.seed)

    def _pages(self, press: Press) -> None:
        # `progress` is the id of the next page to write; the update is in the transaction of the pages before it.
        done = int(self._meta("progress") or "1")
        resumed = f", the first {done - 1:,} are there" if done > 1 else ""
        self.watching.phase(f"pages{resumed}", press.layout.count)
        self.watching.advance(done - 1)
        with ThreadPoolExecutor(max_workers=1) as executor:
            writer = _Writer(self.connection, executor, done, self.watching)
            # What is done always ends with a sheet, so that sheets are the same in every build.
            for sheet in press.sheets(done):
                writer.write(sheet)
            writer.commit()

    def _finish(self) -> None:
        self.watching.phase("indexes")
        execute = self.connection.execute
        # What merging frees in the file, the indexes take.
        self._merge()
        self._index()
        if self.path.stat().st_size < _SMALL:
            # Pages of the file that are half empty weigh most in small ones; in large ones this would take too long.
            execute("vacuum")
        execute("begin")
        if self.order.reworded is not None:
            reword_file(self.connection, self.order.reworded)
        execute("delete from _meta where key = 'progress'")
        execute("insert into _meta values ('complete', 'yes')")
        execute("commit")

    def _index(self) -> None:
        self.connection.execute("begin")
        for statement in INDEXES.strip().removesuffix(";").split(";\n"):
            try:
                self.connection.execute(statement.replace(" index ", " index if not exists ", 1))
            except sqlite3.IntegrityError:
                raise self._same_address() from None
        self.connection.execute("commit")

    def _merge(self) -> None:
        """Make one segment of the full-text index, in steps, so that no journal ever holds all of it."""
        # A negative number begins a merge of all segments; below two changes there was nothing left to do
        # (https://www.sqlite.org/fts5.html#the_merge_command).
        step = -_MERGE_STEP
        before = -2
        while self.connection.total_changes - before >= 2:
            before = self.connection.total_changes
            self.connection.execute("insert into _index (_index, rank) values ('merge', ?)", (step,))
            step = _MERGE_STEP

    def _same_address(self) -> InputError:
        sql = "select url, site from _pages group by url having count(*) > 1 order by url limit 1"
        url, site = cast(tuple[str, int], self.connection.execute(sql).fetchone())
        name = self.design.sites[site - 1].name
        return self.design.schema.document.error(
            ("sites", name), f"two pages have the address {url}", "change one of the `url`s"
        )


class _Writer:
    """Writes sheets of pages. A thread fills the full-text index meanwhile: half of the time, in SQLite, without the GIL."""

    def __init__(
        self, connection: sqlite3.Connection, executor: ThreadPoolExecutor, first: int, watching: Watching
    ) -> None:
        self._connection = connection
        self._executor = executor
        self._watching = watching
        self._next = first
        self._kept = first
        self._indexing: Future[None] | None = None
        connection.execute("begin")

    def write(self, sheet: PageSheet) -> None:
        """Write some pages, after the ones before are indexed."""
        self._wait()
        sheet.write(self._connection)
        first, self._next = self._next, self._next + len(sheet.pages)
        self._indexing = self._executor.submit(self._index, first, self._next - 1)
        self._watching.advance(len(sheet.pages))
        if self._next - self._kept >= COMMIT_EVERY:
            self.commit()
            self._connection.execute("begin")

    def commit(self) -> None:
        """Commit what was written, with the id of the next page."""
        self._wait()
        self._connection.execute("update _meta set value = ? where key = 'progress'", (str(self._next),))
        self._connection.execute("commit")
        self._kept = self._next

    def _index(self, first: int, last: int) -> None:
        self._connection.execute(_INDEX, (first, last))

    def _wait(self) -> None:
        if self._indexing is not None:
            self._indexing.result()
            self._indexing = None


def write_facts(connection: sqlite3.Connection, order: BuildOrder) -> None:
    """Make and fill the tables of all types, derived attributes included."""
    schema = order.design.schema
    tables.create(connection, schema)
    facts = Facts(schema, seed=order.seed, counts=order.counts, avoid=order.avoid)
    tables.insert(connection, facts)
    tables.derive_all(connection, schema)


def _connect(path: Path) -> sqlite3.Connection:
    # The thread that indexes shares the connection; SQLite's default serialized mode lets one in at a time.
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    # A killed process leaves a journal, from which the last commit is restored. Only a power cut needs more, and then the partial
    # file is nobody's world.
    for pragma in (
        "page_size=8192",
        "synchronous=off",
        "secure_delete=off",
        "cache_size=-65536",
        "locking_mode=exclusive",
    ):
        connection.execute(f"pragma {pragma}")
    return connection


def page_counts(order: BuildOrder) -> dict[int, int]:
    """Return the number of pages of each kind (by its number) that an order would have, without writing them."""
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    try:
        for statement in TABLES.split(";\n"):
            connection.execute(statement)
        write_facts(connection, order)
        return {plan.design.index: plan.count for plan in Layout(order.design, connection, seed=order.seed).plans}
    finally:
        connection.close()
