"""Reading files that anybody may have named: never more of one than a limit, whatever kind of file it is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from simtrain.errors import InputError

MOST_BYTES = 256_000_000
"""Bytes of a file that is read whole, and of one line of a file of lines."""


def file_bytes(path: Path, *, most: int = MOST_BYTES) -> bytes:
    """The content of a file. Raises InputError for one that is larger (a device may have no end), OSError for one that cannot be read."""
    # Asked of the file itself as it is read: a device tells a size of 0.
    if "\0" in str(path):
        raise InputError("the name of a file holds no null character", file=path)
    with path.open("rb") as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise _too_large("the file", path, most)
    return content


def file_lines(file: BinaryIO, path: Path, *, most: int = MOST_BYTES) -> Iterator[tuple[int, bytes]]:
    """The lines of an open file, with their numbers from 1. Raises InputError for one that is too long."""
    number = 0
    while line := file.readline(most + 1):
        number += 1
        if len(line) > most:
            raise _too_large(f"line {number}", path, most)
        yield number, line


def _too_large(what: str, path: Path, most: int) -> InputError:
    return InputError(f"{what} is larger than {most // 1_000_000} MB", remedy="split it", file=path)


def unreadable_json(error: ValueError | RecursionError) -> str:
    """Why Python cannot read a JSON text, where it is no mistake of syntax."""
    if isinstance(error, RecursionError):
        return "the JSON is nested too deeply"
    return "this is no JSON: it is no UTF-8" if isinstance(error, UnicodeError) else "a number in the JSON is too long"
