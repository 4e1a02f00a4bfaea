"""Scripts of sqlite3 in statements and dot commands, and what is wrong with one, as the real shell words it."""

import re
import sqlite3
from collections.abc import Iterator


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
    if line is None:
        where = _pointed(text, statement.strip()) if prepare else ""
        return f"Error: {'in prepare, ' if prepare else 'stepping, '}{text}\n{where}"
    kind = "Parse error" if prepare else "Runtime error"
    number = getattr(error, "sqlite_errorcode", None)
    code = "" if prepare or number is None else f" ({number & 0xFF})"
    return f"{kind} near line {line}: {text}{code}\n" + (_pointed(text, statement.strip()) if prepare else "")


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
