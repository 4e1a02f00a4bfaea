"""Building the database of a service world: schema, rows, the statements of `after:`, and the triggers that note changes."""

import re
import sqlite3
from collections.abc import Mapping

from simtrain.contracts.handler import ToolError
from simtrain.contracts.registry import resolve
from simtrain.files.yaml_files import Document, Place
from simtrain.values.clock import instant, stamp
from simtrain.values.errors import InputError, nearest
from simtrain.values.seeding import Stream, derive
from simtrain.values.types import JsonValue
from simtrain.worlds.service.change_log import forget, watch
from simtrain.worlds.service.database import RESERVED, SEQUENCE, Cell, Database, Mode, explain
from simtrain.worlds.service.generators import Generator, RowDraft, compile_generator
from simtrain.worlds.service.spec import MAX_ROWS, HandlerStep, RowBlock, TablesSpec
from simtrain.worlds.service.tool import HandlerCall

# What Python raises for knobs of a generator that have the wrong type or leave no value.
_MISUSE = (TypeError, ValueError, ArithmeticError, LookupError)
_SEE = "see docs/worlds.md"
_SEQ_FORMAT = re.compile(r"\{seq(?::0\d{1,2})?\}")


def fill(
    spec: TablesSpec, document: Document, *, seed: int, counts: Mapping[str, int], onto: bytes | None = None
) -> Database:
    """Return the database that a file describes. `counts` replaces the count of a table's only counted block. Raises InputError.

    `onto` is another world's finished database (from `serialize`), to which the file's tables and rows are added.
    """
    database = Database(onto, moment=stamp(instant(spec.clock.start)))
    present = set(tables_of(database))
    fill_tables(database, spec, document, seed=seed, counts=counts)
    # Last, so that the log starts empty: the rows of the file are no changes.
    if present:
        forget(database)
    watch(database, [table for table in tables_of(database) if table not in present])
    return database


def fill_tables(
    database: Database, spec: TablesSpec, document: Document, *, seed: int, counts: Mapping[str, int]
) -> None:
    """Define the tables that a file describes, and insert their rows. Raises InputError."""
    _define(database, spec, document)
    for table in counts:
        if table not in spec.rows:
            raise document.error(("rows",), f"no rows are generated for the table {table!r}", nearest(table, spec.rows))
    database.run(
        f"create table if not exists {SEQUENCE} (format text primary key, value integer not null) without rowid",
        mode=Mode.OWN,
    )
    database.run("begin", mode=Mode.OWN)
    for table, blocks in spec.rows.items():
        _Filler(database, spec, document, table, seed).fill(blocks, counts.get(table))
    for index, step in enumerate(spec.after):
        try:
            _carry_out(database, step)
        except sqlite3.Error as error:
            raise document.error(("after", index), f"the statement fails: {explain(error)}") from None
        except InputError as error:
            raise document.relocate(error, ("after", index)) from None
        except ToolError as error:
            raise document.error(("after", index), f"the handler refuses: {error}") from None
    database.run("commit", mode=Mode.OWN)


def _carry_out(database: Database, step: str | HandlerStep) -> None:
    if isinstance(step, str):
        database.run(step, mode=Mode.WRITE)
        return
    handler = resolve("handlers", step.handler)
    handler(HandlerCall(database, step.arguments, writes=True))


def tables_of(database: Database) -> list[str]:
    """Return the names of a world's tables, sorted."""
    sql = f"select name from sqlite_master where type = 'table' and name not like 'sqlite_%' and name not like '{RESERVED}%' order by name"
    return [row["name"] for row in database.rows(sql, mode=Mode.OWN)]


def columns_of(database: Database, table: str) -> list[str]:
    """Return the columns of a table that can be written, in order; generated ones are left out."""
    rows = database.rows(f'pragma table_xinfo("{table}")', mode=Mode.OWN)
    return [row["name"] for row in rows if row["hidden"] == 0]


def _define(database: Database, spec: TablesSpec, document: Document) -> None:
    first = document.line(("schema",))
    # Fed line by line until SQLite says that a statement is complete: an error can then name its line.
    statement, begun = "", 0
    for number, line in enumerate(spec.tables.splitlines(), start=1):
        begun = begun if statement.strip() else number
        statement += line + "\n"
        if not sqlite3.complete_statement(statement):
            continue
        _define_one(database, statement, document, (first or 0) + begun)
        statement = ""
    if re.sub(r"--.*", "", statement).strip():
        raise InputError(
            "the last statement does not end", remedy="add a semicolon", file=document.path, line=first, place="schema"
        )
    # The change log, a fork's differences and the order of rows all rely on rowids.
    for table in tables_of(database):
        try:
            database.run(f'select rowid from "{table}" limit 0', mode=Mode.OWN)
        except sqlite3.Error:
            raise document.error(("schema",), f"the table {table!r} has no rowid", "remove WITHOUT ROWID") from None


def _define_one(database: Database, statement: str, document: Document, line: int) -> None:
    try:
        for part in _split(statement):
            database.run(part, mode=Mode.SCHEMA)
    except sqlite3.Error as error:
        text = "this is not allowed in a world" if "not authorized" in str(error) else explain(error)
        raise InputError(f"the statement fails: {text}", file=document.path, line=line, place="schema") from None


def _split(statement: str) -> list[str]:
    """Return the statements on some lines. A semicolon inside a trigger or a string does not end a statement."""
    parts, current = [""], 0
    for piece in re.split(r"(;)", statement):
        parts[current] += piece
        if piece == ";" and sqlite3.complete_statement(parts[current]):
            parts.append("")
            current += 1
    return [part for part in parts if part.strip()]


class _Filler:
    def __init__(self, database: Database, spec: TablesSpec, document: Document, table: str, seed: int) -> None:
        self.database = database
        self.document = document
        self.table = table
        self.seed = seed
        self.start = instant(spec.clock.start)
        self.seq = 0
        self.formats: set[str] = set()
        self.pools: dict[str, list[Cell]] = {}
        if table not in tables_of(database):
            raise document.error(("rows", table), f"there is no table {table!r}", nearest(table, tables_of(database)))
        self.columns = columns_of(database, table)

    def fill(self, blocks: list[RowBlock], count: int | None) -> None:
        """Insert the rows of all blocks."""
        counted = [block for block in blocks if block.rows is None and block.each is None]
        if count is not None and len(counted) != 1:
            raise self.document.error(
                ("rows", self.table), "the row count can only be varied where one block has a plain count"
            )
        for index, block in enumerate(blocks):
            place: Place = ("rows", self.table) if len(blocks) == 1 else ("rows", self.table, index)
            self._fill_block(block, index, place, count if block in counted else None)
        for found in sorted(self.formats):
            self.database.run(
                f"insert into {SEQUENCE} values (?, ?) on conflict do update set value = max(value, excluded.value)",
                (found, self.seq),
                mode=Mode.OWN,
            )

    def _fill_block(self, block: RowBlock, index: int, place: Place, count: int | None) -> None:
        if block.rows is not None:
            for number, literal in enumerate(block.rows):
                # `rows: {table: [...]}` may list literal rows without the key `rows`; the line in the file depends on which was written.
                inside = place if place in self.document.lines and "rows" not in self._data(place) else (*place, "rows")
                self._check_columns(literal, (*inside, number))
                self.seq += 1
                self._insert(
                    {name: self._cell(value, (*inside, number, name)) for name, value in literal.items()},
                    (*inside, number),
                )
            return
        where: Place = (*place, "with")
        self._check_columns(block.columns, where)
        generators = {name: self._compile(source, (*where, name)) for name, source in block.columns.items()}
        for source in block.columns.values():
            if isinstance(source, str) and _SEQ_FORMAT.search(source):
                self.formats.add(source)
        # A stream per column: adding a column to the file leaves the values of the others as they were.
        streams = {name: Stream(derive(self.seed, "rows", self.table, index, name)) for name in generators}
        amounts = Stream(derive(self.seed, "rows", self.table, index))
        for parent in self._parents(block, place):
            amount = count if count is not None else block.count
            for _ in range(amount if isinstance(amount, int) else amounts.integer(*amount)):
                self._generate(generators, streams, parent, where)

    def _cell(self, value: JsonValue, place: Place) -> Cell:
        if isinstance(value, list | dict):
            raise self.document.error(place, "a cell is text, a number or null", "write JSON as text")
        return int(value) if isinstance(value, bool) else value

    def _data(self, place: Place) -> JsonValue:
        found: JsonValue = self.document.data
        for part in place:
            found = found[part]
        return found

    def _check_columns(self, given: Mapping[str, JsonValue], place: Place) -> None:
        for name in given:
            if name not in self.columns:
                raise self.document.error(
                    (*place, name), f"the table {self.table!r} has no column {name!r}", nearest(name, self.columns)
                )

    def _compile(self, source: JsonValue, place: Place) -> Generator:
        try:
            return compile_generator(source)
        except InputError as error:
            raise self.document.relocate(error, place) from None
        except _MISUSE as error:
            raise self.document.error(place, f"the generator cannot be used like this: {error}", _SEE) from None

    def _parents(self, block: RowBlock, place: Place) -> list[dict[str, Cell]]:
        if block.each is None:
            return [{}]
        condition = f" where {block.where}" if block.where else ""
        try:
            return self.database.rows(f'select * from "{block.each}"{condition} order by rowid')
        except sqlite3.Error as error:
            raise self.document.error(
                (*place, "each"), f"the rows of {block.each!r} cannot be read: {explain(error)}"
            ) from None

    def _generate(
        self,
        generators: Mapping[str, Generator],
        streams: Mapping[str, Stream],
        parent: Mapping[str, Cell],
        place: Place,
    ) -> None:
        self.seq += 1
        row = RowDraft({}, parent, self.seq, Stream(0), self.database, self.start, self.pools)
        for name, generator in generators.items():
            row.stream = streams[name]
            try:
                row.values[name] = generator(row)
            except InputError as error:
                raise self.document.relocate(error, (*place, name)) from None
            except sqlite3.Error as error:
                raise self.document.error((*place, name), f"the SQL fails: {explain(error)}") from None
            except _MISUSE as error:
                raise self.document.error((*place, name), f"the generator fails: {error}", _SEE) from None
        self._insert(row.values, place)

    def _insert(self, values: dict[str, Cell], place: Place) -> None:
        if self.seq > MAX_ROWS:
            raise self.document.error(place, f"the table {self.table!r} would have more than {MAX_ROWS} rows")
        names = ", ".join(f'"{name}"' for name in values)
        marks = ", ".join("?" * len(values))
        try:
            self.database.run(
                f'insert into "{self.table}" ({names}) values ({marks})', tuple(values.values()), mode=Mode.WRITE
            )
        except (sqlite3.Error, OverflowError) as error:
            raise self.document.error(
                place, f"row {self.seq} of {self.table!r} is refused by the schema: {error}"
            ) from None
