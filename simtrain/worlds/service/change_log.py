"""The log of touched rows, written by triggers, so that changes are found without scanning whole tables."""

from collections.abc import Iterable
from copy import copy
from typing import Self

from simtrain.values.types import Change, Changes
from simtrain.worlds.service.database import RESERVED, Database, Mode

_TABLE = f"{RESERVED}_changes"


def watch(database: Database, tables: Iterable[str]) -> None:
    """Create the log table, and the triggers that note every touched row of the tables."""
    database.run(
        f"create table if not exists {_TABLE} (id integer primary key, name text not null, row integer not null)",
        mode=Mode.OWN,
    )
    for table in tables:
        new, old = f"('{table}', new.rowid)", f"('{table}', old.rowid)"
        # An update may change the rowid itself (an integer primary key): then both the old and the new row are touched.
        for action, touched in (("insert", new), ("update", f"{old}, {new}"), ("delete", old)):
            database.run(
                f'create trigger "{RESERVED}_{table}_{action}" after {action} on "{table}" begin'
                f" insert into {_TABLE} (name, row) values {touched}; end",
                mode=Mode.OWN,
            )


def forget(database: Database) -> None:
    """Empty the log."""
    database.run(f"delete from {_TABLE}", mode=Mode.OWN)


class ChangeLog:
    """The part of an episode's log read so far. Each new entry is looked at only once."""

    __slots__ = ("_differing", "_found", "_read", "_version")

    def __init__(self) -> None:
        self._read = 0
        self._version = -1
        self._differing: dict[tuple[str, int], Change] = {}
        self._found: Changes = {}

    def copy(self) -> Self:
        """Return an independent copy, for a fork or for a state that is rolled back later."""
        other = copy(self)
        other._differing = dict(self._differing)
        return other

    def changes(self, own: Database, base: Database, version: int) -> Changes:
        """Return the rows that differ from the base, ordered by table and row id. `version` is the state's count of writes."""
        if version != self._version:
            touched = own.rows(
                f"select name, row, max(id) as id from {_TABLE} where id > ? group by name, row",
                (self._read,),
                mode=Mode.OWN,
            )
            for found in touched:
                self._look(own, base, found["name"], found["row"])
                self._read = max(self._read, found["id"])
            if touched:
                self._found = _by_table(self._differing)
            self._version = version
        return self._found

    def _look(self, own: Database, base: Database, table: str, rowid: int) -> None:
        sql = f'select * from "{table}" where rowid = :row'
        before = next(iter(base.rows(sql, {"row": rowid})), None)
        after = next(iter(own.rows(sql, {"row": rowid})), None)
        # Touched is not changed: a row may have been written back, or inserted and deleted again.
        if before == after:
            self._differing.pop((table, rowid), None)
        else:
            self._differing[table, rowid] = Change(rowid, before, after)


def _by_table(differing: dict[tuple[str, int], Change]) -> Changes:
    found: dict[str, list[Change]] = {}
    for key in sorted(differing):
        found.setdefault(key[0], []).append(differing[key])
    return {table: tuple(changes) for table, changes in found.items()}
