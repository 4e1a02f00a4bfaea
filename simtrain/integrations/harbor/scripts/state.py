"""The files of a machine as a table, about which the statements of a scenario's graders ask. The standard library alone."""

import os
import sqlite3
import stat
from base64 import b64encode
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

COLUMNS = ("path", "kind", "mode", "content", "base64", "target")
Row = tuple[str | None, ...]


def rows_below(top: Path) -> list[Row]:
    """Return a row for each file, directory and link below a folder, as a machine world has them."""
    found: list[Row] = []
    for folder, folders, files in os.walk(top):
        for path in (Path(folder, name) for name in (*folders, *files)):
            about = path.lstat()
            mode = f"{stat.S_IMODE(about.st_mode):04o}"
            if stat.S_ISLNK(about.st_mode):
                found.append((_named(path), "link", mode, None, None, _named(path.readlink())))
            elif stat.S_ISDIR(about.st_mode):
                found.append((_named(path), "directory", mode, None, None, None))
            elif stat.S_ISREG(about.st_mode):
                found.append((_named(path), "file", mode, *_content(path.read_bytes()), None))
    return sorted(found, key=lambda row: str(row[0]))


def opened(rows: Iterable[Row], facts: Mapping[str, Any]) -> sqlite3.Connection:
    """Return a database with the table `files`, and those of the world's author as far as the statements name them."""
    database = sqlite3.connect(":memory:")
    database.execute(f"create table files ({', '.join(COLUMNS)})")
    database.executescript(facts["schema"])
    for table, filled in facts["rows"].items():
        for row in filled:
            database.execute(f'insert into "{table}" values ({", ".join("?" * len(row))})', row)
    database.executemany(f"insert into files values ({', '.join('?' * len(COLUMNS))})", rows)
    return database


def problem(database: sqlite3.Connection, facts: Mapping[str, Any]) -> str:
    """Return the first statement that does not come out as it should, in words; empty if all do.

    A row of what `expect` asks counts as true unless it is null, 0 or empty; one of what is forbidden as well, and if it has several
    columns.
    """
    for sql in facts["expect"]:
        rows = database.execute(sql, facts["case"]).fetchall()
        if not rows or any(row[0] in (None, 0, "") for row in rows):
            return f"does not hold: {sql}"
    for sql in facts["forbidden"]:
        rows = database.execute(sql, facts["case"]).fetchall()
        if any(len(row) > 1 or row[0] not in (None, 0, "") for row in rows):
            return f"is forbidden: {sql}"
    return ""


def _named(path: Path) -> str:
    """Return a path as text; an agent can give files names that are none."""
    return os.fsencode(path).decode(errors="replace")


def _content(content: bytes) -> tuple[str | None, str | None]:
    """Return the text of a file, or else its bytes in Base64."""
    try:
        return content.decode(), None
    except UnicodeDecodeError:
        return None, b64encode(content).decode()
