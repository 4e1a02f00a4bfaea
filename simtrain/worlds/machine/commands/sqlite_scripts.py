"""Scripts of sqlite3 in statements and dot commands, and what is wrong with one, as the real shell words it."""

import re
import sqlite3
from collections.abc import Iterator, Sequence

_NO_DATABASE = 26


def statements_of(text: str) -> Iterator[tuple[int, str]]:
    """Yield the statements and dot commands of a script, each with the number of lines before it."""
    held, start = "", 0
    for number, line in enumerate(text.splitlines(keepends=True)):
        if not held.strip() and line.startswith("."):
            yield number, line
            held = ""
            continue
        if not held.strip():
            held, start = "", number
        for piece in re.split(r"(?<=;)", line):
            held += piece
            if piece.endswith(";") and sqlite3.complete_statement(held):
                if held.strip(" \t\r\n;"):
                    yield start, held
                held, start = "", number
    if held.strip(" \t\r\n;"):
        yield start, held


def problem_of(error: sqlite3.Error, statement: str, line: int | None) -> str:
    """Return what the shell says of an error in a statement; `line` is None for one that the command line brought."""
    text = str(error)
    prepare = bool(
        re.match(
            r'near "|no such|incomplete input|unrecognized token|ambiguous|table .* (has no|already)|duplicate', text
        )
    )
    number = code_of(error)
    code = f" ({number})" if number > 1 else ""
    if line is None:
        where = _pointed(text, statement.strip()) if prepare else ""
        return f"Error: {'in prepare, ' if prepare or number == _NO_DATABASE else 'stepping, '}{text}{code}\n{where}"
    kind = "Parse error" if prepare else "Runtime error"
    return f"{kind} near line {line}: {text}{code}\n" + (_pointed(text, statement.strip()) if prepare else "")


def code_of(error: sqlite3.Error) -> int:
    """Return SQLite's number of an error, without what it adds to tell its kinds apart."""
    number = getattr(error, "sqlite_errorcode", None)
    return 1 if number is None else number & 0xFF


def plan_text(rows: Sequence[tuple[int, int, int, str]]) -> str:
    """Return the steps of a query, as `explain query plan` gives them, as a tree."""
    lines = ["QUERY PLAN"]

    def add(parent: int, prefix: str) -> None:
        below = [row for row in rows if row[1] == parent]
        for row in below:
            last = row is below[-1]
            lines.append(f"{prefix}{'`' if last else '|'}--{row[3]}")
            add(row[0], prefix + ("   " if last else "|  "))

    add(0, "")
    return "\n".join(lines) + "\n"


def _pointed(text: str, statement: str) -> str:
    """Return the statement with a mark below the word that is wrong, where SQLite knows it."""
    found = re.match(r'near "([^"]+)"|no such column: (?:\w+\.)?(\w+)', text)
    word = found[1] or found[2] if found else None
    place = statement.find(word) if word else -1
    if place < 0:
        return ""
    shown = statement.replace("\n", " ")
    mark = " " * place + "^--- error here" if place < 25 else " " * (place - 14) + "error here ---^"
    return f"  {shown}\n  {mark}\n"
