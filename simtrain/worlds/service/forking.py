"""Forking a world: all states read one shared base; a state gets its own database on its first write."""

import sqlite3
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from copy import copy
from threading import RLock
from typing import Self
from weakref import ref

from simtrain.contracts.world import HeldRows, WorldState
from simtrain.values.clock import Clock
from simtrain.values.errors import InputError, nearest
from simtrain.values.types import Changes, JsonObject, JsonValue
from simtrain.worlds.service.change_log import ChangeLog
from simtrain.worlds.service.database import Database, Mode, explain
from simtrain.worlds.service.filling import columns_of, tables_of


class ForkedState(WorldState):
    """The database of one episode. Any thread may use it; statements run one after the other.

    Many episodes only read, or write late, so the copy is made on the first write. It is made from `content`, the bytes of the
    base, so that other episodes need not wait for the base meanwhile.
    """

    __slots__ = ("_backwards", "_base", "_content", "_held", "_lock", "_log", "_own", "_trials", "clock", "version")

    def __init__(self, base: Database, content: bytes, *, clock: Clock, backwards: bool, own: Database | None) -> None:
        """`own` is a database that was already written to. `backwards` reverses the order of rows wherever SQL leaves it open."""
        self.clock = clock
        self.version = 0
        self._lock = RLock()
        # The base is shared by all states in all threads; the view carries this episode's time.
        self._base = base.view()
        self._content = content
        self._backwards = backwards
        self._own = own
        self._log = ChangeLog()
        self._trials = 0
        # Weak: rows are kept only as long as somebody may still ask for them.
        self._held: ref[HeldRows] | None = None

    def query(self, sql: str, parameters: Mapping[str, JsonValue] | None = None) -> list[JsonObject]:
        with self._lock:
            return self._present().objects(sql, parameters)

    def execute(self, sql: str, parameters: Mapping[str, JsonValue] | None = None) -> int:
        with self._lock:
            try:
                return self._forked().run(sql, parameters or {}, mode=Mode.WRITE)
            except sqlite3.Error as error:
                raise InputError(f"the SQL fails: {explain(error)}") from None

    @contextmanager
    def savepoint(self) -> Generator[None]:
        with self.on_trial(), self._undone():
            yield

    @contextmanager
    def on_trial(self) -> Generator[None]:
        """Hold the lock for a block whose writes are undone. No call `takes_time` in it: another thread would wait forever."""
        with self._lock:
            self._trials += 1
            try:
                yield
            finally:
                self._trials -= 1

    @contextmanager
    def _undone(self) -> Generator[None]:
        # A state without its own database is undone by discarding the one that the block made.
        if self._own is None:
            try:
                yield
            finally:
                self._discard()
            return
        before = self._log.copy()
        try:
            with self._own.savepoint("preview", keep=False):
                try:
                    yield
                finally:
                    self._moves_on()
        finally:
            self._log = before

    def changes(self) -> Changes:
        with self._lock:
            return {} if self._own is None else self._log.changes(self._own, self._base, self.version)

    def held(self) -> HeldRows:
        with self._lock:
            found = None if self._held is None else self._held()
            if found is None or found.version != self.version:
                found = HeldRows(self.version)
                self._held = ref(found)
            return found

    def _moves_on(self) -> None:
        """Prepare for a write or a rollback: read the held rows now, while they can still be read, if anybody holds them."""
        found = None if self._held is None else self._held()
        if found is not None and found.version == self.version:
            found.rows = self.changes()
        self.version += 1

    def fork(self) -> Self:
        with self._lock:
            other = copy(self)
            # A fork may run in another thread, and nobody holds its rows yet.
            other._lock, other._held, other._trials = RLock(), None, 0
            # The base is never written to, so the fork shares it. Only the episode's own database is copied.
            other._base, other._log, other.clock = self._base.view(), self._log.copy(), copy(self.clock)
            if self._own is not None:
                other._own = Database(self._own.serialize(), moment=self._own.moment)
            return other

    def close(self) -> None:
        with self._lock:
            self._discard()

    def _present(self) -> Database:
        """Return the database to read, set to the present time."""
        database = self._own or self._base
        database.moment = self.clock.now
        return database

    def _forked(self) -> Database:
        """Return the database to write to, made if need be, set to the present time."""
        self._moves_on()
        if self._own is None:
            self._own = Database(self._content, backwards=self._backwards)
        self._own.moment = self.clock.now
        return self._own

    def _discard(self) -> None:
        if self._own is not None:
            self._moves_on()
            self._own.close()
            self._own, self._log = None, ChangeLog()


def restored(name: str, content: bytes, changes: Changes) -> Database:
    """Return the base of the world `name` with recorded changes applied. Raises InputError for an unknown table.

    Triggers and constraints are switched off: the rows are final, and in between they may violate constraints.
    """
    database = Database(content)
    for trigger in database.rows("select name from sqlite_master where type = 'trigger'", mode=Mode.OWN):
        database.run(f'drop trigger "{trigger["name"]}"', mode=Mode.OWN)
    database.run("pragma foreign_keys=off", mode=Mode.OWN)
    database.run("pragma ignore_check_constraints=on", mode=Mode.OWN)
    known = tables_of(database)
    for table, rows in changes.items():
        if table not in known:
            raise InputError(f"the world {name!r} has no table {table!r}", remedy=nearest(table, known))
        columns = columns_of(database, table)
        touched = ",".join(str(int(change.rowid)) for change in rows)
        # All are deleted before any is inserted, since two changed rows may have swapped a unique value.
        database.run(f'delete from "{table}" where rowid in ({touched})', mode=Mode.OWN)
        names = ", ".join(f'"{column}"' for column in columns)
        marks = ", ".join("?" * (len(columns) + 1))
        for change in rows:
            if change.after is not None:
                cells = (change.rowid, *(change.after.get(column) for column in columns))
                database.run(f'insert into "{table}" (rowid, {names}) values ({marks})', cells, mode=Mode.OWN)
    return database
