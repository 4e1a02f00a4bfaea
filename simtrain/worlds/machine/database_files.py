"""Files of a machine that are SQLite databases: made when a world is built, and the bytes that a database is kept as."""

import sqlite3
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager

from simtrain.files.yaml_files import Document, Place, name_place, read_place
from simtrain.values.clock import instant, stamp
from simtrain.values.errors import InputError
from simtrain.values.seeding import derive
from simtrain.values.types import JsonObject, JsonValue
from simtrain.worlds.machine.host_texts import HostTexts, moment_of
from simtrain.worlds.machine.nodes import TreeNode
from simtrain.worlds.machine.spec import DatabaseSource, MachineSpec
from simtrain.worlds.service.database import SEQUENCE, Database, Mode, explain
from simtrain.worlds.service.filling import columns_of, fill_tables, tables_of
from simtrain.worlds.service.spec import TablesSpec

_VERSION = b"\x00\x2e\x5f\xda"
_AT = 96


def stored(content: bytes) -> bytes:
    """Return a database as it is kept in a file: its header names the version of the library, which differs from host to host."""
    return content[:_AT] + _VERSION + content[_AT + len(_VERSION) :] if content else content


def database_files(
    texts: HostTexts, spec: MachineSpec, source: DatabaseSource, place: Place
) -> Iterator[tuple[str, TreeNode]]:
    """Yield the files of one entry of `databases`, with their paths. Raises InputError with the place in the file."""
    for number, values in enumerate(texts.rows_of(source.each, {}, place)):
        path = texts.text(source.path, values, (*place, "path"))
        owner, group = texts.ownership(source, values, place)
        mode = int(texts.text(source.mode, values, (*place, "mode")), 8)
        with texts.document.at((*texts.place, *place, "modified")):
            moment = moment_of(texts.text(source.modified or "start", values, place), instant(spec.clock.start))
        content = _content(texts, spec, source, values, place, derive(spec.seed, "databases", *map(str, place), number))
        yield path, TreeNode("file", mode, owner, group, moment, content)


def _content(
    texts: HostTexts, spec: MachineSpec, source: DatabaseSource, values: JsonObject, place: Place, seed: int
) -> bytes:
    # Its parts were validated with the entry.
    tables = TablesSpec.model_construct(seed=seed, clock=spec.clock, tables=source.tables, rows=source.rows, after=[])
    whole = (*texts.place, *place)
    database = Database(moment=stamp(instant(spec.clock.start)))
    try:
        with _inside(whole):
            fill_tables(database, tables, _part(texts.document, whole), seed=seed, counts={})
        database.run(f"drop table {SEQUENCE}", mode=Mode.OWN)
        for table, sql in source.copied.items():
            _copy(texts, database, table, texts.rows(sql, values, (*place, "copy", table)), (*place, "copy", table))
        for number, statement in enumerate(source.after):
            try:
                database.run(statement, values, mode=Mode.WRITE)
            except sqlite3.Error as error:
                raise texts.error((*place, "after", number), f"the statement fails: {explain(error)}") from None
        return stored(_packed(database.serialize()))
    finally:
        database.close()


def _packed(content: bytes) -> bytes:
    """Return a database without the pages of what was only needed for building it."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as database:
        database.deserialize(content)
        database.execute("vacuum")
        return database.serialize()


def _copy(texts: HostTexts, database: Database, table: str, rows: list[JsonObject], place: Place) -> None:
    if table not in tables_of(database):
        raise texts.error(
            place, f"there is no table {table!r} in the database", f"it has {', '.join(tables_of(database))}"
        )
    known = columns_of(database, table)
    for row in rows:
        for name in row:
            if name not in known:
                raise texts.error(place, f"the table {table!r} has no column {name!r}", f"it has {', '.join(known)}")
        names = ", ".join(f'"{name}"' for name in row)
        try:
            sql = f'insert into "{table}" ({names}) values ({", ".join("?" * len(row))})'
            database.run(sql, tuple(row.values()), mode=Mode.WRITE)
        except sqlite3.Error as error:
            raise texts.error(place, f"a row of {table!r} is refused by the schema: {error}") from None


def _part(document: Document, place: Place) -> Document:
    """Return a part of a document as one of its own."""
    data: JsonValue = document.data
    for part in place:
        data = data[part]
    lines = {at[len(place) :]: line for at, line in document.lines.items() if at[: len(place)] == place}
    return Document(document.path, data, lines)


@contextmanager
def _inside(place: Place) -> Generator[None]:
    """Tell mistakes in a part of a document with their whole place."""
    try:
        yield
    except InputError as error:
        whole = name_place((*place, *read_place(error.place)))
        raise InputError(error.problem, remedy=error.remedy, file=error.file, line=error.line, place=whole) from None
