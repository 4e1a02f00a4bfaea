"""sqlite3: the shell of SQLite over database files of the machine."""

import csv
import re
import sqlite3
from contextlib import suppress
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import partial
from posixpath import dirname
from shlex import split
from typing import cast

from simtrain.worlds.machine.commands.sqlite_chance import install
from simtrain.worlds.machine.commands.sqlite_forms import MODES, Cell, Look, literal, written
from simtrain.worlds.machine.commands.sqlite_scripts import code_of, plan_text, problem_of, statements_of
from simtrain.worlds.machine.database_files import stored
from simtrain.worlds.machine.invocation import Invocation, Result
from simtrain.worlds.machine.problems import attempt

MOST_STEPS = 20_000_000
"""The instructions of SQLite's virtual machine that one call may take."""
_REFUSED = {sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH}
_REFUSED_NAMES = {
    "load_extension", "temp_store_directory", "data_store_directory", "temp_store", "mmap_size", "max_page_count", "soft_heap_limit",
    "hard_heap_limit", "threads",
}  # fmt: skip
"""A function, and pragmas that reach the host's folders, or the memory of the whole process."""
MOST_PAGES = 16_384
_MALFORMED = (sqlite3.DatabaseError, UnicodeDecodeError)
"""Raised for a database with damage; the second, where a name in the message is no text."""
LARGEST = 32_000_000
"""Most bytes of a value."""
_FLAGS = {"-csv": "csv", "-column": "column", "-json": "json", "-line": "line", "-list": "list", "-markdown": "markdown",
          "-table": "table", "-box": "box", "-quote": "quote", "-html": "html", "-ascii": "ascii", "-tabs": "tabs"}  # fmt: skip

_PLAN = re.compile(r"\s*explain\s+query\s+plan\b", re.IGNORECASE)
_WITH_VALUE = ("-separator", "-nullvalue", "-cmd", "-init", "-newline")
_OTHER_FLAGS = ("-batch", "-echo", "-interactive", "-safe")


class _Ended(Exception):
    """Raised by .quit, and by an error under -bail."""


def sqlite(call: Invocation) -> Result:
    """Run SQL and dot commands on a database, from the arguments or from standard input."""
    look, operands, first = Look(), list[str](), list[str]()
    readonly, bail = False, False
    words = list(call.arguments)
    while words:
        word = words.pop(0)
        option = f"-{word.lstrip('-')}" if word.startswith("-") else word
        if not word.startswith("-") or word == "-":
            operands.append(word)
        elif option in _FLAGS:
            look.mode = _FLAGS[option]
            if look.mode == "csv":
                look.separator = ","
        elif option in ("-header", "-headers", "-noheader"):
            look.headers, look.headers_set = option != "-noheader", True
        elif option in _WITH_VALUE and words:
            value = words.pop(0)
            if option == "-separator":
                look.separator = value
            elif option == "-nullvalue":
                look.null = value
            elif option == "-cmd":
                first.append(value)
        elif option in ("-readonly", "-bail"):
            readonly, bail = readonly or option == "-readonly", bail or option == "-bail"
        elif option == "-help":
            flags = "".join(f"   {flag}\n" for flag in (*_FLAGS, *_OTHER_FLAGS))
            return Result(
                f"Usage: sqlite3 [OPTIONS] FILENAME [SQL]\nFILENAME is an SQLite database.\nOPTIONS include:\n{flags}"
            )
        elif option == "-version":
            return Result(
                "3.40.1 2022-12-28 14:03:47 df5c253c0b3dd24916e4ec7cf77d3db5294cc9fd45ae7b9c5e82ad8197f38a24\n"
            )
        elif option not in _OTHER_FLAGS:
            return Result(
                stderr=f"sqlite3: Error: unknown option: {word}\nUse -help for a list of options.\n", exit_code=1
            )
    name, *statements = operands or [":memory:"]
    content = b""
    if name not in (":memory:", ""):
        there = call.files.exists(call.path(name))
        found = attempt(lambda: call.files.read(call.path(name))) if there else b""
        if isinstance(found, OSError) or not (there or call.files.is_directory(dirname(call.path(name)))):
            return Result(
                stderr=f'Error: unable to open database "{name}": unable to open database file\n', exit_code=1
            )
        content = found
    database = sqlite3.connect(":memory:", isolation_level=None)
    try:
        run = _Shell(call, database, look, name, bail=bail)
        if content:
            database.deserialize(content)
        run.guard()
        before = database.total_changes, _schema_version(database)
        run.play(first, statements)
        after = database.total_changes, _schema_version(database)
        if name != ":memory:" and (after != before) and after[1] is not None:
            if readonly:
                run.errors.append("Error: attempt to write a readonly database\n")
                run.code = 1
            else:
                call.files.write(call.path(name), stored(database.serialize()))
        return Result("".join(run.output), "".join(run.errors), run.code)
    finally:
        database.close()


def _schema_version(database: sqlite3.Connection) -> int | None:
    try:
        return database.execute("pragma schema_version").fetchone()[0]
    except _MALFORMED:
        return None


@dataclass(slots=True)
class _Shell:
    call: Invocation
    database: sqlite3.Connection
    look: Look
    name: str
    bail: bool
    output: list[str] = field(default_factory=list[str])
    errors: list[str] = field(default_factory=list[str])
    code: int = 0
    target: str | None = None
    once: bool = False
    plans: bool = False

    def guard(self) -> None:
        """Refuse what would reach files, and stop what does not end."""

        def allowed(action: int, first: str | None, *_: str | None) -> int:
            refused = action in _REFUSED or (first or "").lower() in _REFUSED_NAMES
            return sqlite3.SQLITE_DENY if refused else sqlite3.SQLITE_OK

        install(self.call, self.database)
        self.database.text_factory = partial(str, encoding="utf-8", errors="replace")
        # What is sorted would go to a file of the host else.
        self.database.execute("pragma temp_store = memory")
        with suppress(*_MALFORMED):
            # A file that is no database is told when something is asked of it.
            self.database.execute(f"pragma max_page_count = {MOST_PAGES}")
        self.database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LARGEST)
        steps = [0]

        def count() -> int:
            steps[0] += 100_000
            return int(steps[0] > MOST_STEPS)

        self.database.set_authorizer(allowed)
        self.database.set_progress_handler(count, 100_000)

    def play(self, first: list[str], statements: list[str]) -> None:
        try:
            for text in [*first, *statements]:
                if text.startswith("."):
                    self._dot(text)
                else:
                    self._script(text, line=None)
                if self.code:
                    return
            if not statements:
                # A line ends for SQLite's shell where a NUL stands in it.
                self._script(re.sub("\0[^\n]*", "", self.call.stdin or ""), line=1)
        except _Ended:
            return

    def _say(self, text: str) -> None:
        if self.target is None:
            self.output.append(text)
            return
        self.call.files.append(self.call.path(self.target), text.encode())
        if self.once:
            self.target, self.once = None, False

    def _script(self, text: str, *, line: int | None) -> None:
        for number, statement in statements_of(text):
            if statement.startswith("."):
                self._dot(statement.strip())
            else:
                self._sql(statement, None if line is None else line + number)
            if self.code and (self.bail or line is None):
                raise _Ended

    def _sql(self, statement: str, line: int | None) -> None:
        try:
            cursor = self.database.execute(statement)
            rows: list[tuple[Cell, ...]] = cursor.fetchall()
        except UnicodeDecodeError:
            self.code = 1
            self.errors.append("Error: database disk image is malformed\n")
            return
        except sqlite3.Error as error:
            self.code = code_of(error) if line is None else 1
            self.errors.append(problem_of(error, statement, line))
            return
        if self.plans and cursor.description is not None:
            self._say(plan_text(self._plan(statement)))
        if _PLAN.match(statement):
            self._say(plan_text(cast(list[tuple[int, int, int, str]], rows)))
        elif cursor.description is not None:
            text = written([column[0] for column in cursor.description], rows, self.look)
            if text:
                self._say(text)

    def _plan(self, statement: str) -> list[tuple[int, int, int, str]]:
        return self.database.execute(f"explain query plan {statement}").fetchall()

    def _dot(self, text: str) -> None:
        try:
            words = split(text)
        except ValueError:
            words = text.split()
        command, rest = words[0][1:], words[1:]
        # As in the real shell, the beginning of a command is enough.
        known = [name for name in _DOTS if name.startswith(command)] if command else []
        if command in _DOTS:
            known = [command]
        if not known:
            self.errors.append(f'Error: unknown command or invalid arguments:  "{command}". Enter ".help" for help\n')
            self.code = 1
            return
        try:
            _DOTS[known[0]](self, rest)
        except (sqlite3.Error, UnicodeDecodeError) as error:
            text = str(error) if isinstance(error, sqlite3.Error) else "database disk image is malformed"
            self.errors.append(f"Error: {text}\n")
            self.code = 1

    def _rows(self, sql: str, *values: Cell) -> list[tuple[str, ...]]:
        return self.database.execute(sql, values).fetchall()

    def tables(self, rest: list[str]) -> None:
        sql = "select name from sqlite_schema where type in ('table', 'view') and name not like 'sqlite_%' order by 1"
        names = [name for (name,) in self._rows(sql) if not rest or fnmatchcase(name, rest[0].replace("%", "*"))]
        if not names:
            return
        wide = max(len(name) for name in names)
        columns = max(1, 80 // (wide + 2))
        height = -(-len(names) // columns)
        for row in range(height):
            cells = names[row::height]
            self._say("  ".join(cell.ljust(wide) for cell in cells) + "\n")

    def indexes(self, rest: list[str]) -> None:
        sql = "select name from sqlite_schema where type = 'index' and name not like 'sqlite_%' order by 1"
        for (name,) in self._rows(sql):
            self._say(f"{name}\n")

    def schema(self, rest: list[str]) -> None:
        sql = (
            "select sql, tbl_name, name from sqlite_schema where sql not null and name not like 'sqlite_%' order "
            "by tbl_name, type desc, rowid"
        )
        for text, table, name in self._rows(sql):
            if not rest or any(fnmatchcase(one, rest[0].replace("%", "*")) for one in (table, name)):
                self._say(f"{_titled(text)};\n")

    def dump(self, rest: list[str]) -> None:
        self._say("PRAGMA foreign_keys=OFF;\nBEGIN TRANSACTION;\n")
        sql = "select name, sql from sqlite_schema where type = 'table' and sql not null and name not like 'sqlite_%' order by rowid"
        for name, text in self._rows(sql):
            if rest and not fnmatchcase(name, rest[0].replace("%", "*")):
                continue
            self._say(f"{_titled(text)};\n")
            quoted = name if re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", name) else f'"{name}"'
            for row in self.database.execute(f'select * from "{name}"'):
                self._say(f"INSERT INTO {quoted} VALUES({','.join(literal(cell) for cell in row)});\n")
        if self._rows("select 1 from sqlite_schema where name = 'sqlite_sequence'"):
            self._say("DELETE FROM sqlite_sequence;\n")
            for row in self.database.execute("select * from sqlite_sequence"):
                self._say(f"INSERT INTO sqlite_sequence VALUES({','.join(literal(cell) for cell in row)});\n")
        for (text,) in self._rows(
            "select sql from sqlite_schema where sql not null and type in ('index', 'trigger', 'view') order by rowid"
        ):
            self._say(f"{text};\n")
        self._say("COMMIT;\n")

    def mode(self, rest: list[str]) -> None:
        if not rest or rest[0] not in MODES:
            self.errors.append(
                "Error: mode should be one of: ascii box column csv html insert json line list markdown quote table tabs tcl\n"
            )
            self.code = 1
            return
        self.look.mode = rest[0]
        self.look.row_end = "\r\n" if rest[0] == "csv" else "\n"
        if rest[0] in ("csv", "list"):
            self.look.separator = "," if rest[0] == "csv" else "|"
        if rest[0] == "insert" and len(rest) > 1:
            self.look.table = rest[1]

    def headers(self, rest: list[str]) -> None:
        self.look.headers, self.look.headers_set = bool(rest) and rest[0].lower() in ("on", "1", "yes", "true"), True

    def separator(self, rest: list[str]) -> None:
        try:
            self.look.separator = rest[0].encode().decode("unicode_escape") if rest else "|"
        except UnicodeDecodeError:
            self.look.separator = rest[0]

    def nullvalue(self, rest: list[str]) -> None:
        self.look.null = rest[0] if rest else ""

    def print(self, rest: list[str]) -> None:
        self._say(" ".join(rest) + "\n")

    def quit(self, rest: list[str]) -> None:
        raise _Ended

    def databases(self, rest: list[str]) -> None:
        shown = '""' if self.name == ":memory:" else self.call.plain_path(self.name)
        self._say(f"main: {shown} r/w\n")

    def read(self, rest: list[str]) -> None:
        found = attempt(lambda: self.call.files.read(self.call.path(rest[0] if rest else "")))
        if isinstance(found, OSError):
            self.errors.append(f'Error: cannot open "{rest[0] if rest else ""}"\n')
            self.code = 1
            return
        self._script(found.decode(errors="replace"), line=1)

    def output_to(self, rest: list[str]) -> None:
        self.target, self.once = (rest[0] if rest and rest[0] != "stdout" else None), False
        if self.target is not None:
            self.call.files.write(self.call.path(self.target), b"")

    def once_to(self, rest: list[str]) -> None:
        self.output_to(rest)
        self.once = True

    def import_file(self, rest: list[str]) -> None:
        flags = [word for word in rest if word.startswith("-")]
        names = [word for word in rest if not word.startswith("-") and word != (_after(rest, "--skip") or "")]
        if len(names) != 2:
            self.errors.append("Usage: .import FILE TABLE\n")
            self.code = 1
            return
        found = attempt(lambda: self.call.files.read(self.call.path(names[0])))
        if isinstance(found, OSError):
            self.errors.append(f'Error: cannot open "{names[0]}"\n')
            self.code = 1
            return
        if self.look.row_end == "\r\n":
            self.look.row_end = "\n"
        comma = self.look.mode == "csv" or "--csv" in flags or "-csv" in flags
        lines = list(
            csv.reader(found.decode(errors="replace").splitlines(), delimiter="," if comma else self.look.separator)
        )
        lines = lines[int(_after(rest, "--skip") or 0) :]
        table = names[1].replace('"', '""')
        if not self._rows("select 1 from sqlite_schema where name = ?", names[1]):
            columns = ", ".join(f'"{name}" TEXT' for name in lines[0])
            self._sql(f'CREATE TABLE "{table}"(\n{columns})', None)
            lines = lines[1:]
        wide = len(self._rows(f'pragma table_info("{table}")'))
        for line in lines:
            cells: list[Cell] = [line[place] if place < len(line) else None for place in range(wide)]
            try:
                self.database.execute(f'insert into "{table}" values ({",".join("?" * wide)})', cells)
            except sqlite3.Error as error:
                self.errors.append(f"{names[0]}: INSERT failed: {error}\n")
                self.code = 1

    def eqp(self, rest: list[str]) -> None:
        self.plans = rest[:1] in (["on"], ["full"], ["trigger"])

    def ignored(self, rest: list[str]) -> None:
        """Take a setting that changes nothing here."""


_DOTS = {
    "tables": _Shell.tables, "schema": _Shell.schema, "dump": _Shell.dump, "mode": _Shell.mode, "headers": _Shell.headers,
    "header": _Shell.headers, "separator": _Shell.separator, "nullvalue": _Shell.nullvalue, "print": _Shell.print,
    "quit": _Shell.quit, "exit": _Shell.quit, "databases": _Shell.databases, "read": _Shell.read,
    "output": _Shell.output_to, "once": _Shell.once_to, "import": _Shell.import_file, "indexes": _Shell.indexes,
    "indices": _Shell.indexes, "bail": _Shell.ignored, "timer": _Shell.ignored, "width": _Shell.ignored,
    "changes": _Shell.ignored, "echo": _Shell.ignored, "timeout": _Shell.ignored, "eqp": _Shell.eqp,
}  # fmt: skip


def _after(words: list[str], option: str) -> str | None:
    return words[words.index(option) + 1] if option in words and words.index(option) + 1 < len(words) else None


def _titled(sql: str) -> str:
    """Return DDL as SQLite's shell shows it: the words before the name in capitals."""
    text = re.sub(r"^create\s+table", "CREATE TABLE", sql, flags=re.IGNORECASE)
    return re.sub(r"^CREATE TABLE (?=[\"'])", "CREATE TABLE IF NOT EXISTS ", text)
